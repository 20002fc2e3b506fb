# Settings for all targets: C++20, warnings as errors, sanitizers, one library per folder.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE)
  # uses the compiler's list of included files, not a preprocessor run: saves 7 % of a build from scratch
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${TROUPE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

find_program(TROUPE_LLD ld.lld)
if(TROUPE_LLD)
  add_link_options(-fuse-ld=lld)  # links several times faster
endif()

add_library(troupe_house INTERFACE)
target_compile_options(troupe_house INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wshadow;-Wnon-virtual-dtor>
  # gcc 12 at -O3 reports false overlaps in std::string.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
target_include_directories(troupe_house INTERFACE ${CMAKE_SOURCE_DIR})
if(TROUPE_SANITIZE)
  target_compile_options(troupe_house INTERFACE
    # Plug-ins have type infos of their own, which the check of virtual calls reports as wrong.
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TROUPE_SANITIZE};-fno-sanitize=vptr;-fno-omit-frame-pointer>
    # Boost.Asio has fences, which ThreadSanitizer does not support.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-tsan>)
  target_link_options(troupe_house INTERFACE -fsanitize=${TROUPE_SANITIZE})
endif()

# Compiles two dozen sources at a time: most of the compiler's time goes into headers and templates that all of them use.
# A unit of them takes up to 2 GB of memory.
# TROUPE_UNITY=OFF compiles each alone, which shows missing includes (.ci/nightly) and suits work on one file.
option(TROUPE_UNITY "Compile the sources of a target two dozen at a time" ON)
function(troupe_unity name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TROUPE_UNITY} UNITY_BUILD_BATCH_SIZE 24)
  if(TROUPE_UNITY)  # gcc treats every anonymous namespace of an included source like one of a header
    target_compile_options(${name} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
  endif()
endfunction()

# troupe_library(NAME SOURCES a.cpp ... LINK targets...): the static library of one folder.
function(troupe_library name)
  cmake_parse_arguments(LIB "" "" "SOURCES;LINK" ${ARGN})
  if(LIB_SOURCES)
    add_library(${name} STATIC ${LIB_SOURCES})
    troupe_unity(${name})
    target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:troupe_house> ${LIB_LINK})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE troupe_house ${LIB_LINK})
  endif()
endfunction()

# troupe_public(NAME): a library for linking into plug-ins, installed as Troupe::<name>.
function(troupe_public name)
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_features(${name} PUBLIC cxx_std_20)
  string(REPLACE troupe_ "" exported ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${exported})
  install(TARGETS ${name} EXPORT TroupeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe)
endfunction()

if(TROUPE_SANITIZE STREQUAL "thread")
  set(TROUPE_TEST_TIMEOUT 900)  # seconds: ThreadSanitizer is about ten times as slow
else()
  set(TROUPE_TEST_TIMEOUT 300)
endif()

# troupe_test(NAME SOURCES a_test.cpp ... LINK targets...): one doctest binary, one ctest entry a case.
function(troupe_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  troupe_unity(${name})
  target_link_libraries(${name} PRIVATE troupe_test_main ${TEST_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # OpenMP's threads spin while they wait: on a machine without free cores, two are far slower than one
  doctest_discover_tests(${name} TEST_PREFIX "${name}: " DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${TROUPE_TEST_TIMEOUT} ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()
