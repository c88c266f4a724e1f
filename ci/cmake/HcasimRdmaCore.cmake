# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdma-core: source tree and build. RDMA_CORE_SOURCE is the one that programs are linked to and run with; RDMA_CORE_NEWER_SOURCE, if
# set, is a later release that the provider is built for as well.

# hcasim_rdma_core(PREFIX SOURCE BUILD): targets PREFIX::ibverbs, ::rdmacm, ::mlx5, ::util (the private helpers that
# providers link: util/, ccan/) and ::headers; PREFIX_abi: the number in its providers' file names. Built here if it is
# not built already.
function(hcasim_rdma_core prefix source build)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/ci/rdma-core-build ${source} ${build} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "rdma-core of ${source} could not be built")
  endif()
  foreach(lib ibverbs rdmacm mlx5)
    add_library(${prefix}::${lib} SHARED IMPORTED)
    set_target_properties(${prefix}::${lib} PROPERTIES
      IMPORTED_LOCATION ${build}/lib/lib${lib}.so
      INTERFACE_INCLUDE_DIRECTORIES ${build}/include)
  endforeach()
  add_library(${prefix}::util STATIC IMPORTED)
  set_target_properties(${prefix}::util PROPERTIES
    IMPORTED_LOCATION ${build}/util/librdma_util_pic.a
    INTERFACE_INCLUDE_DIRECTORIES ${build}/include
    INTERFACE_LINK_LIBRARIES ${build}/ccan/libccan_pic.a)
  add_library(${prefix}::headers INTERFACE IMPORTED)
  set_target_properties(${prefix}::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${build}/include)
  file(STRINGS ${source}/CMakeLists.txt abi REGEX "^set\\(IBVERBS_PABI_VERSION ")
  string(REGEX REPLACE ".*\"([0-9]+)\".*" "\\1" abi "${abi}")
  set(${prefix}_abi ${abi} PARENT_SCOPE)
endfunction()

set(hcasim_pinned_source ${CMAKE_SOURCE_DIR}/build/rdma-core-src) # where ci/setup puts it
set(RDMA_CORE_SOURCE ${hcasim_pinned_source} CACHE PATH "rdma-core source tree, 56 or newer")
if(RDMA_CORE_SOURCE STREQUAL hcasim_pinned_source)
  set(hcasim_rdma_core_build ${CMAKE_SOURCE_DIR}/build/rdma-core)
else()
  set(hcasim_rdma_core_build ${CMAKE_BINARY_DIR}/rdma-core)
endif()
set(RDMA_CORE_BUILD ${hcasim_rdma_core_build} CACHE PATH "where that tree is (or will be) built")
if(NOT EXISTS ${RDMA_CORE_SOURCE}/CMakeLists.txt)
  message(FATAL_ERROR "RDMA_CORE_SOURCE=${RDMA_CORE_SOURCE} is no rdma-core source tree: "
    "run ci/setup (Debian), or give -DRDMA_CORE_SOURCE=DIR")
endif()
hcasim_rdma_core(rdma ${RDMA_CORE_SOURCE} ${RDMA_CORE_BUILD})
set(RDMA_CORE_LIB ${RDMA_CORE_BUILD}/lib)
set(RDMA_CORE_INCLUDE ${RDMA_CORE_BUILD}/include)

set(RDMA_CORE_NEWER_SOURCE ${CMAKE_SOURCE_DIR}/build/rdma-core-65-src CACHE PATH "a later rdma-core, or nothing")
set(RDMA_CORE_NEWER_BUILD ${CMAKE_SOURCE_DIR}/build/rdma-core-65 CACHE PATH "where that tree is (or will be) built")
if(EXISTS ${RDMA_CORE_NEWER_SOURCE}/CMakeLists.txt)
  hcasim_rdma_core(rdma_newer ${RDMA_CORE_NEWER_SOURCE} ${RDMA_CORE_NEWER_BUILD})
endif()
