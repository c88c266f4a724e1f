# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmake -DINCLUDE=DIR -P probe.cmake: one line for each definition that compat.cmake makes of the headers in DIR.
include(${CMAKE_CURRENT_LIST_DIR}/../compat.cmake)
hcasim_probe_headers(definitions ${INCLUDE})
foreach(definition ${definitions})
  message(STATUS ${definition})
endforeach()
