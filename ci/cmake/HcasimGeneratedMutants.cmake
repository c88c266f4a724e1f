# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# -DHCASIM_GENERATED_MUTANTS=ON: a build whose provider and adapter have every mutant of the standard operators, one at a
# time, for `hcasim conform mutants --generated` (docs/mutants.md). It has no other use.
option(HCASIM_GENERATED_MUTANTS "build with the mutants of a generator" OFF)

# The numbers of a file's mutants begin at (its place in these lists + 1) * the generator's STRIDE.
set(HCASIM_MUTANT_STRIDE 4096)

# The files that process work requests, without code that only initializes the adapter or that no request uses.
function(hcasim_mutant_files out)
  file(GLOB files RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS provider/*.c sim/devices/common/*.c sim/devices/native/*/*.c
    sim/core/requester/*.c sim/core/send/*.c sim/core/responder/*.c sim/core/egress/*.c)
  list(REMOVE_ITEM files sim/core/egress/sched.c) # the native adapter has no scheduling elements
  list(APPEND files
    sim/core/complete.c sim/core/doorbell.c sim/core/qp.c sim/core/qp_state.c
    sim/core/memory/dma.c sim/core/memory/keys.c sim/core/memory/window.c
    sim/core/queues/cq.c sim/core/queues/rq.c sim/core/queues/srq.c
    sim/core/ingress/deliver.c sim/core/ingress/rx.c
    sim/core/wire/icrc.c sim/core/wire/net.c sim/core/wire/packet.c)
  list(SORT files)
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(hcasim_mutant_target file out)
  if(file MATCHES "^provider/")
    set(target hcasim_provider_objects)
  elseif(file MATCHES "^sim/core/")
    set(target hcasim_core)
  else()
    set(target hcasim_devices)
  endif()
  set(${out} ${target} PARENT_SCOPE)
endfunction()

function(hcasim_generate_mutants)
  set(copies ${CMAKE_BINARY_DIR}/generated-mutants)
  set(folder ${CMAKE_SOURCE_DIR}/conformance/hcasim_conform/mutants/generator)
  set(switch ${CMAKE_SOURCE_DIR}/conformance/mutants/generated)
  file(GLOB generator CONFIGURE_DEPENDS ${folder}/*.py)
  hcasim_mutant_files(files)
  set(base 0)
  foreach(file ${files})
    math(EXPR base "${base} + ${HCASIM_MUTANT_STRIDE}")
    hcasim_mutant_target(${file} target)
    set(copy ${copies}/${file})
    get_filename_component(quoted ${CMAKE_SOURCE_DIR}/${file} DIRECTORY)
    add_custom_command(OUTPUT ${copy} ${copy}.json
      COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${CMAKE_SOURCE_DIR}/conformance
        ${HCASIM_PYTHON} -m hcasim_conform.mutants.generator.generate ${CMAKE_SOURCE_DIR}/${file} --name ${file} --base ${base} --out ${copy} --depfile ${copy}.d --
        ${CMAKE_C_COMPILER} -std=gnu11 -I${switch} -iquote${quoted}
        "-D$<JOIN:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>,;-D>"
        "-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,;-I>"
      DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${generator} ${switch}/switch.h hcasim_spec_generate
      DEPFILE ${copy}.d
      COMMENT "Planting mutants into ${file}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND outputs ${copy})
    hcasim_replace_source(${file} ${copy} "-I${switch};-w")
  endforeach()
  add_custom_target(hcasim_mutant_copies DEPENDS ${outputs})
  foreach(target hcasim_provider_objects hcasim_core hcasim_devices)
    add_dependencies(${target} hcasim_mutant_copies)
  endforeach()
  target_sources(hcasim_core PRIVATE ${switch}/switch.c)
  target_sources(hcasim_provider_objects PRIVATE ${switch}/switch.c)
  target_sources(hcasim-device PRIVATE ${switch}/restart.c)
  target_include_directories(hcasim-device PRIVATE ${switch})
  target_link_options(hcasim-device PRIVATE -Wl,--wrap=server_run)
endfunction()
