# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The rdma-core source tree and its build: real libibverbs, librdmacm, utilities, providers, pyverbs.
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
# Returns at once where that tree is built already.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/ci/rdma-core-build ${RDMA_CORE_SOURCE} ${RDMA_CORE_BUILD}
  RESULT_VARIABLE hcasim_rdma_core_failed)
if(hcasim_rdma_core_failed)
  message(FATAL_ERROR "rdma-core of RDMA_CORE_SOURCE=${RDMA_CORE_SOURCE} could not be built")
endif()
set(RDMA_CORE_LIB ${RDMA_CORE_BUILD}/lib)
set(RDMA_CORE_INCLUDE ${RDMA_CORE_BUILD}/include)

foreach(lib ibverbs rdmacm mlx5)
  add_library(rdma::${lib} SHARED IMPORTED)
  set_target_properties(rdma::${lib} PROPERTIES
    IMPORTED_LOCATION ${RDMA_CORE_LIB}/lib${lib}.so
    INTERFACE_INCLUDE_DIRECTORIES ${RDMA_CORE_INCLUDE})
endforeach()
# rdma-core's private helpers that providers link (util/, ccan/), and its headers.
add_library(rdma::util STATIC IMPORTED)
set_target_properties(rdma::util PROPERTIES
  IMPORTED_LOCATION ${RDMA_CORE_BUILD}/util/librdma_util_pic.a
  INTERFACE_INCLUDE_DIRECTORIES ${RDMA_CORE_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${RDMA_CORE_BUILD}/ccan/libccan_pic.a)
add_library(rdma::headers INTERFACE IMPORTED)
set_target_properties(rdma::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${RDMA_CORE_INCLUDE})
