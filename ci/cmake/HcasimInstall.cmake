# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmake --install: below PREFIX/lib/hcasim a mirror of the build folder, below PREFIX/share/hcasim one of the source tree. Paths
# between them are relative, so that PREFIX can be moved. Components: hcasim, hcasim-rtl, hcasim-dev, hcasim-doc. Targets:
# `installable` builds all of them but hcasim-rtl, `installable-rtl` builds that one.
include(GNUInstallDirs)
set(private ${CMAKE_INSTALL_LIBDIR}/hcasim) # programs and libraries, as in the build folder
set(shared ${CMAKE_INSTALL_DATADIR}/hcasim) # Python and data, as in the source tree
set(staged ${CMAKE_BINARY_DIR}/install)     # files that differ from those of the build folder

# ---- rdma-core: that of the system, if it is new enough, or ours ----

find_library(HCASIM_SYSTEM_VERBS libibverbs.so.1)
mark_as_advanced(HCASIM_SYSTEM_VERBS)
set(bundle ON)
if(HCASIM_SYSTEM_VERBS)
  file(REAL_PATH ${HCASIM_SYSTEM_VERBS} file) # libibverbs.so.1.14.44.0 is rdma-core 44.0
  if(file MATCHES "\\.so\\.1\\.[0-9]+\\.([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 56)
    set(bundle OFF)
  endif()
endif()
option(HCASIM_BUNDLE_RDMA_CORE "install our rdma-core, too; else programs use the system's, which must be 56 or newer" ${bundle})

if(HCASIM_BUNDLE_RDMA_CORE)
  set(libraries ibverbs mlx5 rdmacm)
  set(programs ibv_asyncwatch ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong ibv_uc_pingpong ibv_ud_pingpong
    ibv_xsrq_pingpong cmtime mckey rcopy rdma_client rdma_server rdma_xclient rdma_xserver riostream rping rstream ucmatose
    udaddy udpong)
  list(TRANSFORM programs PREPEND ${RDMA_CORE_BUILD}/bin/)
  install(PROGRAMS ${programs} DESTINATION ${private}/rdma-core/bin COMPONENT hcasim)
  foreach(library ${libraries})
    install(DIRECTORY ${RDMA_CORE_LIB}/ DESTINATION ${private}/rdma-core/lib COMPONENT hcasim USE_SOURCE_PERMISSIONS
      FILES_MATCHING PATTERN lib${library}.so.1* PATTERN ibacm EXCLUDE PATTERN pkgconfig EXCLUDE)
    install(FILES ${RDMA_CORE_LIB}/lib${library}.so DESTINATION ${private}/rdma-core/lib COMPONENT hcasim-dev)
  endforeach()
  file(GLOB providers CONFIGURE_DEPENDS ${RDMA_CORE_LIB}/lib*-rdmav${rdma_abi}.so) # of all device families
  install(PROGRAMS ${providers} ${RDMA_CORE_LIB}/librspreload.so DESTINATION ${private}/rdma-core/lib COMPONENT hcasim)
  # Links into its source tree.
  foreach(header infiniband/verbs.h infiniband/verbs_api.h infiniband/ib_user_ioctl_verbs.h infiniband/tm_types.h infiniband/sa.h
      infiniband/mlx5dv.h infiniband/mlx5_api.h infiniband/mlx5_user_ioctl_verbs.h rdma/rdma_cma.h rdma/rdma_verbs.h rdma/rsocket.h
      rdma/ib_user_verbs.h)
    file(REAL_PATH ${RDMA_CORE_INCLUDE}/${header} file)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${file} DESTINATION ${private}/rdma-core/include/${folder} COMPONENT hcasim-dev)
  endforeach()
  set(rdma_core_rpath $ORIGIN/../rdma-core/lib)
endif()

# ---- hcasim: programs, libraries, providers ----

set(programs hcasim-calibrate hcasim-conform-runner hcasim-device hcasim-dma hcasim-experiment hcasim-profile hcasim-replay)
set(libraries hcasim_preload hcasim_preload_virtual hcasim_calls)
set_target_properties(hcasim-conform-runner hcasim-experiment PROPERTIES INSTALL_RPATH "${rdma_core_rpath}")
install(TARGETS ${programs} RUNTIME DESTINATION ${private}/bin COMPONENT hcasim)
install(TARGETS ${libraries} LIBRARY DESTINATION ${private}/lib COMPONENT hcasim)
add_custom_target(installable)
add_dependencies(installable ${programs} ${libraries} hcasim-reproduce hcasim_man)
install(PROGRAMS ${HCASIM_BIN}/hcasim DESTINATION ${private}/bin COMPONENT hcasim)
install(PROGRAMS sim/cli/wrappers/rdma DESTINATION ${private}/libexec/hcasim COMPONENT hcasim)
install(FILES ${CMAKE_BINARY_DIR}/spec/profile.schema.json DESTINATION ${private}/spec COMPONENT hcasim)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT hcasim) # manual pages, completion

# Links: from the bin folder of the prefix, and to the providers, which are where libibverbs looks for them.
function(hcasim_install_link folder name target)
  set(link ${staged}/${folder}/${name})
  file(MAKE_DIRECTORY ${staged}/${folder})
  file(CREATE_LINK ${target} ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION ${folder} COMPONENT hcasim)
endfunction()

file(RELATIVE_PATH to_private ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/hcasim)
foreach(program hcasim hcasim-conform-runner)
  hcasim_install_link(${CMAKE_INSTALL_BINDIR} ${program} ${to_private}/bin/${program})
endforeach()
foreach(abi ${rdma_abi} ${rdma_newer_abi})
  if(TARGET hcasim-rdmav${abi})
    add_dependencies(installable hcasim-rdmav${abi})
    install(TARGETS hcasim-rdmav${abi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libibverbs COMPONENT hcasim)
    hcasim_install_link(${private}/lib libhcasim-rdmav${abi}.so ../../libibverbs/libhcasim-rdmav${abi}.so)
  endif()
endforeach()
file(WRITE ${staged}/hcasim.driver "driver hcasim\n")
install(FILES ${staged}/hcasim.driver DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/libibverbs.d COMPONENT hcasim)

# What is compiled by rdma-core's build has debugging information, which names its folders.
install(CODE "
  set(top \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX})
  file(GLOB files \${top}/${private}/rdma-core/bin/* \${top}/${private}/rdma-core/lib/*
    \${top}/${CMAKE_INSTALL_LIBDIR}/libibverbs/libhcasim-rdmav*.so)
  foreach(file IN LISTS files)
    if(NOT IS_SYMLINK \${file})
      execute_process(COMMAND ${CMAKE_STRIP} -g \${file} COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endforeach()" COMPONENT hcasim)

# ---- hcasim: Python and data ----

function(hcasim_install_folder path)
  get_filename_component(folder ${path} DIRECTORY)
  install(DIRECTORY ${path} DESTINATION ${shared}/${folder} COMPONENT hcasim ${ARGN} PATTERN __pycache__ EXCLUDE)
endfunction()

hcasim_install_folder(conformance/hcasim_conform PATTERN mutants EXCLUDE) # they need the source tree
hcasim_install_folder(conformance/duts REGEX "-65\\.yaml$" EXCLUDE)       # so do these
# hcasim conform --headers compiles them.
install(FILES conformance/runner/suites/connection/inline.c conformance/runner/suites/connection/inline.h
  DESTINATION ${shared}/conformance/runner/suites/connection COMPONENT hcasim)
install(FILES conformance/schema/dut.schema.json conformance/schema/results.schema.json DESTINATION ${shared}/conformance/schema
  COMPONENT hcasim)
install(FILES conformance/softroce/image.py conformance/softroce/machine.py DESTINATION ${shared}/conformance/softroce
  COMPONENT hcasim)
install(PROGRAMS conformance/softroce/init conformance/softroce/softroce DESTINATION ${shared}/conformance/softroce
  COMPONENT hcasim)
file(GLOB specs CONFIGURE_DEPENDS spec/*.yaml)
install(FILES ${specs} DESTINATION ${shared}/spec COMPONENT hcasim)
hcasim_install_folder(spec/families)
hcasim_install_folder(sim/cli/hcasim_cli)
hcasim_install_folder(sim/timing/profiles)
hcasim_install_folder(sim/calibrate/hcasim_calibrate)
hcasim_install_folder(sim/calibrate/experiments)
hcasim_install_folder(sim/calibrate/fits)
install(FILES sim/calibrate/experiments.schema.json sim/calibrate/fits.schema.json sim/calibrate/mixes.yaml
  DESTINATION ${shared}/sim/calibrate COMPONENT hcasim)

# build.json, with the commit at the time of installation.
file(RELATIVE_PATH HCASIM_TOP ${CMAKE_INSTALL_FULL_LIBDIR}/hcasim ${CMAKE_INSTALL_FULL_DATADIR}/hcasim)
set(HCASIM_COMMIT "@commit@")
set(HCASIM_DEVICE bin/hcasim-device)
set(HCASIM_RDMA_CORE "")
if(HCASIM_BUNDLE_RDMA_CORE)
  set(HCASIM_RDMA_CORE rdma-core)
endif()
get_property(HCASIM_FAMILIES GLOBAL PROPERTY HCASIM_FAMILIES)
configure_file(sim/cli/build.in.json ${staged}/build.json.in @ONLY)
install(CODE "
  if(EXISTS ${CMAKE_SOURCE_DIR}/.git)
    execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} describe --always --dirty --tags
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  configure_file(${staged}/build.json.in ${staged}/build.json @ONLY)" COMPONENT hcasim)
install(FILES ${staged}/build.json DESTINATION ${private} COMPONENT hcasim)

# ---- hcasim-rtl: what has been built of it ----

if(TARGET hcasim-engine)
  add_custom_target(installable-rtl)
  add_dependencies(installable-rtl engine-rtl engine-rtl-checked hcasim-engine)
  install(TARGETS engine-rtl engine-rtl-checked LIBRARY DESTINATION ${private}/lib/engines COMPONENT hcasim-rtl OPTIONAL)
  set_target_properties(hcasim-engine PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(hcasim-engine INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/hcasim>)
  install(TARGETS hcasim-engine EXPORT hcasim-engine LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT hcasim-rtl OPTIONAL)
  install(FILES rtl_model/library/hcasim_engine.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hcasim COMPONENT hcasim-rtl)
  # The package of a SystemVerilog bench.
  install(FILES ${CMAKE_BINARY_DIR}/spec/sv/hcasim_pkg.sv DESTINATION ${shared}/sv COMPONENT hcasim-rtl)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hcasim-engine)
  install(EXPORT hcasim-engine FILE hcasim-engine-config.cmake NAMESPACE hcasim:: DESTINATION ${package} COMPONENT hcasim-rtl)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${staged}/hcasim-engine-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${staged}/hcasim-engine-config-version.cmake DESTINATION ${package} COMPONENT hcasim-rtl)
  file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(rtl_model/library/hcasim-engine.pc.in ${staged}/hcasim-engine.pc @ONLY)
  install(FILES ${staged}/hcasim-engine.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT hcasim-rtl)
endif()

# ---- hcasim-dev: C programs of cells (docs/conformance.md), scenarios (docs/add-a-scenario.md), send engines (docs/engine.md) ----

install(TARGETS hcasim-reproduce ARCHIVE DESTINATION ${private}/lib COMPONENT hcasim-dev)
install(FILES conformance/reproduce.h DESTINATION ${shared}/conformance COMPONENT hcasim-dev)
install(DIRECTORY conformance/runner DESTINATION ${shared}/conformance COMPONENT hcasim-dev FILES_MATCHING PATTERN "*.h")
foreach(header engine.h flow.h hca.h key.h personality.h sched.h wire/headers.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES sim/core/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hcasim/core/${folder} COMPONENT hcasim-dev)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/spec/include/hcasim_core.h ${CMAKE_BINARY_DIR}/spec/include/hcasim_verbs.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hcasim COMPONENT hcasim-dev)

# ---- hcasim-doc ----

install(FILES CHANGELOG.md README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT hcasim-doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT hcasim-doc)
install(DIRECTORY rtl_model/doc DESTINATION ${CMAKE_INSTALL_DOCDIR}/rtl_model COMPONENT hcasim-doc)
install(DIRECTORY rtl_model/library/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/rtl_model/library COMPONENT hcasim-doc)
install(DIRECTORY ${CMAKE_BINARY_DIR}/spec/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/spec COMPONENT hcasim-doc)
