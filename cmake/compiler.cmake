# How everything is compiled: one interface target, `facula_flags`.

if(DEBUG)
  set(CMAKE_BUILD_TYPE Debug)
elseif(REL_WITH_DEB_INFO)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
elseif(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# The oldest that compile it; what they lack otherwise shows as hundreds of errors.
set(oldest_GNU 12)
set(oldest_Clang 14)
if(DEFINED oldest_${CMAKE_CXX_COMPILER_ID} AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: Facula needs g++ 12, "
    "clang 14 or newer. CXX=g++-12 (after rm -r ${PROJECT_BINARY_DIR}) chooses another one.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g3")

add_library(facula_flags INTERFACE)
target_compile_options(facula_flags INTERFACE
  -Wall -Wextra -fno-omit-frame-pointer -fno-semantic-interposition -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Notes about argument passing that changed in old compilers: nothing to mend here.
  target_compile_options(facula_flags INTERFACE -Wno-psabi)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # Takes a span returned by value for a reference into what returned it; left -Wall again in 14.
    target_compile_options(facula_flags INTERFACE -Wno-dangling-reference)
  endif()
endif()
if(WERROR)
  target_compile_options(facula_flags INTERFACE -Werror)
endif()
target_link_options(facula_flags INTERFACE -Wl,--as-needed)

# A sanitizer is a preset's business: FACULA_SANITIZE=address or thread.
set(FACULA_SANITIZE "" CACHE STRING "address (with undefined) or thread")
if(FACULA_SANITIZE)
  set(sanitizers ${FACULA_SANITIZE})
  if(FACULA_SANITIZE STREQUAL "address")
    set(sanitizers address,undefined)
    target_compile_options(facula_flags INTERFACE -fno-sanitize-recover=all)
  endif()
  target_compile_options(facula_flags INTERFACE -fsanitize=${sanitizers} -g1)
  if(FACULA_SANITIZE STREQUAL "address")
    # The address sanitizer sees these where memory is touched, and they take a quarter of a kernel's time to compile.
    target_compile_options(facula_flags INTERFACE -fno-sanitize=null,object-size,pointer-overflow)
    target_compile_options(facula_flags INTERFACE "$<$<BOOL:$<TARGET_PROPERTY:FACULA_DEFINED>>:-fno-sanitize=undefined>")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # One shared runtime for library, module and tests; vptr checks need it in every object.
      target_compile_options(facula_flags INTERFACE -fno-sanitize=vptr)
    endif()
  endif()
  target_link_options(facula_flags INTERFACE -fsanitize=${sanitizers})
  # Sizes lie inside of their tensor, where the sanitizer sees no end: the standard library checks every index.
  target_compile_definitions(facula_flags INTERFACE FC_SANITIZE_${FACULA_SANITIZE}=1 _GLIBCXX_ASSERTIONS)
  # Optimised a little: -O0 makes the tests slow, -O2 makes the instrumented build slow.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1")
endif()

if(USE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  mark_as_advanced(CCACHE_PROGRAM)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
endif()

set(FACULA_LINKER "default")
if(USE_MOLD)
  foreach(linker mold lld)
    find_program(FACULA_${linker} NAMES ${linker} ld.${linker})
    mark_as_advanced(FACULA_${linker})
    if(FACULA_${linker})
      set(FACULA_LINKER ${linker})
      target_link_options(facula_flags INTERFACE -fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()
