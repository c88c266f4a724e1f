# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What differs between releases of rdma-core, from 56 on, as its own driver.h says it: one definition, 0 or 1, for each of
# the lines at the end. compat.h makes one interface of them. The header is read, not compiled: inside rdma-core's tree half
# of what it includes is generated later, when the tree is built. A wrong answer cannot pass the compiler.

# NAME=1 where the header matches REGEX.
macro(hcasim_probe name regex)
  string(REGEX MATCH "${regex}" found "${header}")
  if(found)
    list(APPEND definitions ${name}=1)
  else()
    list(APPEND definitions ${name}=0)
  endif()
endmacro()

# The definitions for the headers in the folder INCLUDE.
function(hcasim_probe_headers out include)
  file(READ ${include}/infiniband/driver.h header)
  string(REPLACE ";" "|" header "${header}") # ends of declarations must not be separators of a CMake list
  set(definitions "")
  hcasim_probe(HCASIM_GET_CONTEXT_HAS_FDS "ibv_cmd_get_context[(][^|]*struct ibv_fd_arr") # 57
  hcasim_probe(HCASIM_CREATE_CQ_HAS_MEMORY "ibv_cmd_create_cq_ex[(][^|]*struct verbs_create_cq_prov_attr") # 59
  hcasim_probe(HCASIM_CREATE_QP_EX2_HAS_DRIVER "ibv_cmd_create_qp_ex2[(][^|]*struct ibv_command_buffer")
  hcasim_probe(HCASIM_HAS_DMAH "int ibv_cmd_free_dmah[(]")
  hcasim_probe(HCASIM_HAS_COMP_CNTR "int ibv_cmd_destroy_comp_cntr[(]")
  hcasim_probe(HCASIM_HAS_PORT_SPEED "int ibv_cmd_query_port_speed[(]")
  set(${out} "${definitions}" PARENT_SCOPE)
endfunction()

# The same, and cmake runs again when the headers have changed.
function(hcasim_probe_rdma_core out include)
  hcasim_probe_headers(definitions ${include})
  set(${out} "${definitions}" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${include}/infiniband/driver.h)
endfunction()
