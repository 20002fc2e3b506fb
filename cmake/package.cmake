# Installation, and the bundle of `cpack -G TGZ`.
#
#   cmake --install build/release --prefix /opt/troupe     for this machine: uses its libraries
#   cpack --config build/release/CPackConfig.cmake -G TGZ  for any machine with glibc: libraries in lib/troupe
#   cpack --config build/release/CPackOpenvino.cmake       the component for OpenVINO, to be unpacked into either
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Troupe)
set(data_dir ${CMAKE_INSTALL_DATADIR}/troupe)

# The program.
install(TARGETS troupe EXPORT TroupeTargets RUNTIME_DEPENDENCY_SET troupe_libraries)
install(DIRECTORY examples DESTINATION ${data_dir} PATTERN build EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# For building plug-ins: headers that need only the standard library (those of JSON also need nlohmann_json), static libraries (installed by their own rules), and the files for CMake and pkg-config.
install(DIRECTORY messages policies DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe FILES_MATCHING PATTERN "*.hpp"
  PATTERN caf_types.hpp EXCLUDE PATTERN "codec*.hpp" EXCLUDE PATTERN inspect.hpp EXCLUDE PATTERN schema.hpp EXCLUDE
  PATTERN command_schema.hpp EXCLUDE)
foreach(header actors/runtime/events.hpp actors/runtime/actor.hpp plugins/descriptor.hpp actors/extension/extension.hpp plugins/plugin.hpp
    plugins/protocol.hpp transport/fabric/pull_status.hpp)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe/${folder})
endforeach()
install(EXPORT TroupeTargets NAMESPACE Troupe:: DESTINATION ${package_dir})
configure_package_config_file(cmake/TroupeConfig.cmake.in ${CMAKE_BINARY_DIR}/TroupeConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TroupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TroupeConfig.cmake ${CMAKE_BINARY_DIR}/TroupeConfigVersion.cmake
  DESTINATION ${package_dir})
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  OUTPUT_VARIABLE prefix_from_pc)
configure_file(cmake/troupe.pc.in ${CMAKE_BINARY_DIR}/troupe.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/troupe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Only in the bundle: every library but glibc, and those opened by name, which no list of dependencies has:
# UCX's transports (UCX looks next to itself), the parts of cuDNN and its kernel compiler; licences.
function(carry_opened folder)
  foreach(library ${ARGN})
    cmake_path(GET library FILENAME name)
    file(REAL_PATH ${library} file)
    install(PROGRAMS ${file} RENAME ${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/troupe/${folder} COMPONENT carried
      EXCLUDE_FROM_ALL)
  endforeach()
endfunction()
set(library_dirs)
if(TROUPE_CUDA)
  set(library_dirs ${CUDAToolkit_LIBRARY_DIR})
  foreach(library TROUPE_CUDNN_LIBRARY TROUPE_NCCL_LIBRARY)
    if(${library})
      cmake_path(GET ${library} PARENT_PATH dir)
      list(APPEND library_dirs ${dir})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES library_dirs)
endif()
if(TROUPE_CUDA AND TROUPE_CUDNN_LIBRARY)
  cmake_path(GET TROUPE_CUDNN_LIBRARY PARENT_PATH dir)
  file(GLOB cudnn_parts ${dir}/libcudnn_*.so.9)
  set(nvrtc ${CUDAToolkit_LIBRARY_DIR}/libnvrtc)
  carry_opened("" ${cudnn_parts} ${nvrtc}.so.${CUDAToolkit_VERSION_MAJOR}
    ${nvrtc}-builtins.so.${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR})
endif()
install(RUNTIME_DEPENDENCY_SET troupe_libraries COMPONENT carried EXCLUDE_FROM_ALL
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/troupe
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so"
  DIRECTORIES ${library_dirs})
get_target_property(ucx_library ucx::ucs IMPORTED_LOCATION)
if(NOT ucx_library)
  get_target_property(ucx_library ucx::ucs IMPORTED_LOCATION_NONE)
endif()
cmake_path(GET ucx_library PARENT_PATH ucx_dir)
file(GLOB ucx_transports ${ucx_dir}/ucx/libuct_*.so.0)
carry_opened(ucx ${ucx_transports})
install(CODE "set(libraries_dir \"${CMAKE_INSTALL_LIBDIR}/troupe\")
set(licences_dir \"${CMAKE_INSTALL_DOCDIR}/licences\")
set(nvidia_licences \"${TROUPE_NVIDIA_LICENCES}\")
set(CMAKE_SYSTEM_PROCESSOR \"${CMAKE_SYSTEM_PROCESSOR}\")" COMPONENT carried EXCLUDE_FROM_ALL)
install(SCRIPT cmake/licences.cmake COMPONENT carried EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "The Troupe authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME troupe-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_INSTALL_CMAKE_PROJECTS
  ${CMAKE_BINARY_DIR} troupe ALL / ${CMAKE_BINARY_DIR} troupe carried /)
include(CPack)

# The component for OpenVINO with its libraries, a bundle of its own: it is larger than the rest.
if(TROUPE_OPENVINO)
  set_target_properties(troupe_openvino PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/openvino")
  install(TARGETS troupe_openvino LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/troupe COMPONENT openvino EXCLUDE_FROM_ALL)
  install(DIRECTORY ${TROUPE_OPENVINO_DIR}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/troupe/openvino COMPONENT openvino EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "libopenvino.so*" PATTERN "libopenvino_intel_cpu_plugin.so" PATTERN "libopenvino_onnx_frontend.so*"
    PATTERN "libtbb*.so*" PATTERN "libhwloc.so*")
  file(GLOB openvino_licences ${TROUPE_OPENVINO_DIR}/../../openvino-*.dist-info/licenses)
  if(NOT openvino_licences)
    message(FATAL_ERROR "OpenVINO's package has no licences beside ${TROUPE_OPENVINO_DIR}")
  endif()
  install(DIRECTORY ${openvino_licences}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences/openvino COMPONENT openvino
    EXCLUDE_FROM_ALL)
  file(WRITE ${CMAKE_BINARY_DIR}/CPackOpenvino.cmake "include(\"${CMAKE_BINARY_DIR}/CPackConfig.cmake\")
set(CPACK_PACKAGE_FILE_NAME troupe-openvino-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_INSTALL_CMAKE_PROJECTS \"${CMAKE_BINARY_DIR};troupe;openvino;/\")
set(CPACK_INCLUDE_TOPLEVEL_DIRECTORY OFF)
")
endif()
