# Third-party packages, all from Debian 12 (tools/install lists them). Each becomes a target; folders link
# only the targets that they may use (tools/check_includes enforces the same for headers).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CapnProto REQUIRED)
find_package(ucx REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenMP REQUIRED)
find_package(dnnl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(OpenSSL 3 REQUIRED)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# CAF 0.17.6 ships neither a CMake config nor a .pc file.
find_library(CAF_CORE caf_core REQUIRED)
find_library(CAF_IO caf_io REQUIRED)
add_library(troupe_caf INTERFACE)
target_link_libraries(troupe_caf INTERFACE ${CAF_IO} ${CAF_CORE} Threads::Threads)

# toml++ is a shared library in Debian, but its target does not declare it.
add_library(troupe_toml INTERFACE)
target_link_libraries(troupe_toml INTERFACE tomlplusplus::tomlplusplus)
target_compile_definitions(troupe_toml INTERFACE TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)

# CBC's .pc file lists libraries that only static linking needs.
find_path(CBC_INCLUDE CbcModel.hpp PATH_SUFFIXES coin REQUIRED)
add_library(troupe_cbc INTERFACE)
target_include_directories(troupe_cbc SYSTEM INTERFACE ${CBC_INCLUDE})
foreach(part Cbc Cgl OsiClp Clp Osi CoinUtils)
  find_library(CBC_${part} ${part} REQUIRED)
  target_link_libraries(troupe_cbc INTERFACE ${CBC_${part}})
endforeach()

# sentencepiece's .pc file also lists its trainer. The library exports its own protobuf: see troupe_proto below.
find_library(SENTENCEPIECE sentencepiece REQUIRED)
add_library(troupe_sentencepiece INTERFACE)
target_link_libraries(troupe_sentencepiece INTERFACE ${SENTENCEPIECE})

# Classes of .proto files use a static protobuf whose symbols are hidden: the shared libraries (libonnx, libprotobuf)
# cannot live in one process with libsentencepiece, which exports a protobuf of its own.
find_library(PROTOBUF_STATIC NAMES libprotobuf.a REQUIRED)
# troupe_proto(NAME FILE): the static library of the classes that protoc generates from FILE.
function(troupe_proto name file)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET file STEM proto)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${generated})
  add_custom_command(
    OUTPUT ${generated}/${proto}.pb.cc ${generated}/${proto}.pb.h
    COMMAND protobuf::protoc --proto_path=${folder} --proto_path=${Protobuf_INCLUDE_DIR} --cpp_out=${generated} ${file}
    DEPENDS ${file} protobuf::protoc)
  add_library(${name} STATIC ${generated}/${proto}.pb.cc)
  target_include_directories(${name} SYSTEM PUBLIC ${generated})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC ${PROTOBUF_STATIC} Threads::Threads)
  target_link_options(${name} INTERFACE -Wl,--exclude-libs,libprotobuf.a)
endfunction()
