# Runs when the bundle is made: adds the licence of every package that a carried file is from, or that the program
# holds parts of (libprotobuf, headers).
set(destination $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
set(packages libprotobuf-dev libonnx-dev libboost1.74-dev libcli11-dev nlohmann-json3-dev)
file(GLOB_RECURSE carried ${destination}/${libraries_dir}/*.so*)
foreach(file ${carried})
  cmake_path(GET file FILENAME name)
  # by name: where the file was found may be a link of /usr to /
  execute_process(COMMAND dpkg-query --search *-linux-gnu*/${name}
    OUTPUT_VARIABLE owners ERROR_QUIET)
  if(NOT owners MATCHES "^([^:,]+)")
    message(FATAL_ERROR "No Debian package owns ${name}: its licence is unknown, so it must not be in the bundle")
  endif()
  list(APPEND packages ${CMAKE_MATCH_1})
endforeach()
list(REMOVE_DUPLICATES packages)
foreach(package ${packages})
  file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${destination}/${licences_dir} RENAME ${package})
endforeach()
