# cmake -D build= -D source= -D compiler= -P: installs the build into a folder of its own, moves that folder, and uses
# nothing but it: examples/cmake-project through find_package, its program through pkg-config and by hand.
cmake_minimum_required(VERSION 3.25)
set(work ${build}/test-install)
set(prefix ${work}/moved)
set(project ${work}/project)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(status)
    message(FATAL_ERROR "${ARGN}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix)
file(RENAME ${work}/prefix ${prefix})
file(GLOB_RECURSE libraries ${prefix}/libfacula.so ${prefix}/*/libfacula.so)
get_filename_component(libdir "${libraries}" DIRECTORY)

# CMake: a program and an operator library.
file(COPY ${source}/examples/cmake-project/ DESTINATION ${project})
run(${CMAKE_COMMAND} -S ${project} -B ${project}/build -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${compiler})
run(${CMAKE_COMMAND} --build ${project}/build)
run(${project}/build/hello)
message("${out}")

# A compiler and nothing else.
set(program -std=c++20 -Wall -Wextra -Werror ${project}/hello.cpp)
run(${compiler} ${program} -o ${work}/plain -I${prefix}/include -L${libdir} -Wl,-rpath,${libdir} -lfacula)
run(${work}/plain)

# pkg-config.
find_program(pkgconfig NAMES pkg-config pkgconf)
if(pkgconfig)
  set(ENV{PKG_CONFIG_PATH} ${libdir}/pkgconfig)
  run(${pkgconfig} --cflags --libs facula)
  separate_arguments(flags UNIX_COMMAND "${out}")
  run(${compiler} ${program} -o ${work}/packaged ${flags})
  run(${work}/packaged)
else()
  message("pkg-config is not installed: not tried")
endif()
