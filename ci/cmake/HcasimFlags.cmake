# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Language standards, warnings and sanitizers of all our code.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# With ccache, a build takes what another build on this machine has compiled already, in whichever folder: the presets of
# ci/test have many objects in common, the Verilated ones above all.
find_program(CCACHE ccache)
if(CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
    endif()
  endforeach()
endif()

set(HCASIM_SANITIZE "" CACHE STRING "empty, address+undefined, or thread")
set_property(CACHE HCASIM_SANITIZE PROPERTY STRINGS "" "address+undefined" "thread")

add_library(hcasim_flags INTERFACE)
# -Wformat-truncation depends on how much was inlined, so its results differ between release and sanitizer builds.
target_compile_options(hcasim_flags INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-format-truncation -fno-strict-aliasing
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Wvla>)
target_compile_definitions(hcasim_flags INTERFACE _GNU_SOURCE)
if(HCASIM_SANITIZE STREQUAL "address+undefined")
  set(HCASIM_SANITIZER_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(HCASIM_SANITIZE STREQUAL "thread")
  # This sanitizer does not model fences. Ours order accesses of different processes, which it does not see anyway.
  set(HCASIM_SANITIZER_FLAGS -fsanitize=thread -fno-omit-frame-pointer $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
elseif(NOT HCASIM_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HCASIM_SANITIZE is '${HCASIM_SANITIZE}': use address+undefined, thread or nothing")
endif()
# A target with the property HCASIM_NO_SANITIZE is built without a sanitizer, for code that must not be instrumented.
if(HCASIM_SANITIZER_FLAGS)
  set(HCASIM_SANITIZER_FLAGS "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:HCASIM_NO_SANITIZE>>>:${HCASIM_SANITIZER_FLAGS}>")
  # The instrumentation confuses gcc's flow analysis; release and debug are built with it.
  target_compile_options(hcasim_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
  target_compile_options(hcasim_flags INTERFACE "${HCASIM_SANITIZER_FLAGS}")
  target_link_options(hcasim_flags INTERFACE "${HCASIM_SANITIZER_FLAGS}")
endif()

find_package(PkgConfig REQUIRED)
# Debian's own interpreter: the one that its python3-* packages belong to.
set(HCASIM_PYTHON /usr/bin/python3 CACHE FILEPATH "Python 3 with yaml, jsonschema, jinja2, pytest")

set(HCASIM_BIN ${CMAKE_BINARY_DIR}/bin) # programs people start
set(HCASIM_LIB ${CMAKE_BINARY_DIR}/lib) # provider plugin and preload library
