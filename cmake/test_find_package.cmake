# cmake -D build= -D source= -D compiler= -P: installs the build into a folder of its own, then
# configures, builds and runs examples/cmake-project against nothing but that folder.
cmake_minimum_required(VERSION 3.25)
set(prefix ${build}/test-install/prefix)
set(project ${build}/test-install/project)
file(REMOVE_RECURSE ${build}/test-install)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(status)
    message(FATAL_ERROR "${ARGN}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
file(COPY ${source}/examples/cmake-project/ DESTINATION ${project})
run(${CMAKE_COMMAND} -S ${project} -B ${project}/build -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${compiler})
run(${CMAKE_COMMAND} --build ${project}/build)
run(${project}/build/hello)
message("${out}")
