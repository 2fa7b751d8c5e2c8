# Operators of other packages, a library each beside libfacula: src/libraries/NAME becomes libfacula_operators_NAME.so, which
# torch.ops.NAME loads when it is first asked for. A new folder needs no edit here.
file(GLOB operator_libraries CONFIGURE_DEPENDS src/libraries/*)
foreach(folder IN LISTS operator_libraries)
  get_filename_component(name ${folder} NAME)
  file(GLOB library_sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  add_library(facula_operators_${name} MODULE ${library_sources})
  target_include_directories(facula_operators_${name} PRIVATE src include)
  target_link_libraries(facula_operators_${name} PRIVATE facula facula_flags)
  set_target_properties(facula_operators_${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  if(SKBUILD)
    install(TARGETS facula_operators_${name} LIBRARY DESTINATION facula)
  else()
    install(TARGETS facula_operators_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
