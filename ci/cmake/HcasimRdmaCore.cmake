# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The rdma-core source tree and its build: real libibverbs, librdmacm, utilities, providers, pyverbs.
set(RDMA_CORE_SOURCE ${CMAKE_SOURCE_DIR}/build/rdma-core-src CACHE PATH "rdma-core source tree, 56 or newer")
set(RDMA_CORE_BUILD ${CMAKE_SOURCE_DIR}/build/rdma-core CACHE PATH "where that tree is (or will be) built")

if(NOT EXISTS ${RDMA_CORE_BUILD}/lib/libibverbs.so)
  message(FATAL_ERROR "no rdma-core in RDMA_CORE_BUILD=${RDMA_CORE_BUILD}: run ci/setup first")
endif()
set(RDMA_CORE_LIB ${RDMA_CORE_BUILD}/lib)
set(RDMA_CORE_INCLUDE ${RDMA_CORE_BUILD}/include)

foreach(lib ibverbs rdmacm mlx5)
  add_library(rdma::${lib} SHARED IMPORTED)
  set_target_properties(rdma::${lib} PROPERTIES
    IMPORTED_LOCATION ${RDMA_CORE_LIB}/lib${lib}.so
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${RDMA_CORE_INCLUDE})
endforeach()
# rdma-core's private helpers that providers link (util/, ccan/), and its headers.
add_library(rdma::util STATIC IMPORTED)
set_target_properties(rdma::util PROPERTIES
  IMPORTED_LOCATION ${RDMA_CORE_BUILD}/util/librdma_util_pic.a
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${RDMA_CORE_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${RDMA_CORE_BUILD}/ccan/libccan_pic.a)
add_library(rdma::headers INTERFACE IMPORTED)
set_target_properties(rdma::headers PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${RDMA_CORE_INCLUDE})
