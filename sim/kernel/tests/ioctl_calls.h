/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A good call of each ioctl method; the objects that it names have been created. */
#ifndef HCASIM_KERNEL_TESTS_IOCTL_CALLS_H
#define HCASIM_KERNEL_TESTS_IOCTL_CALLS_H

#include "harness.h"
#include "kernel/uverbs/ioctl.h"

struct ioc *build_invoke(void);
struct ioc *build_info_handles(void);
struct ioc *build_query_port(void);
struct ioc *build_get_context(void);
struct ioc *build_query_context(void);
struct ioc *build_gid_table(void);
struct ioc *build_gid_entry(void);
struct ioc *build_async(void);
struct ioc *build_pd_destroy(void);
struct ioc *build_ah_destroy(void);
struct ioc *build_mr_destroy(void);
struct ioc *build_mw_destroy(void);
struct ioc *build_query_mr(void);
struct ioc *build_pd_query(void);
struct ioc *build_advise_mr(void);
struct ioc *build_cq_create(void);
struct ioc *build_cq_destroy(void);
struct ioc *build_xrcd_destroy(void);
struct ioc *build_srq_create(void);
struct ioc *build_srq_destroy(void);
struct ioc *build_qp_create(void);
struct ioc *build_qp_destroy(void);
struct ioc *build_flow_destroy(void);
struct ioc *build_wq_create(void);
struct ioc *build_wq_destroy(void);
struct ioc *build_table_destroy(void);
struct ioc *build_dm_alloc(void);
struct ioc *build_dm_free(void);
struct ioc *build_dm_query(void);
struct ioc *build_reg_dm_mr(void);
struct ioc *build_dmah_alloc(void);
struct ioc *build_dmah_free(void);
struct ioc *build_reg_mr(void);
struct ioc *build_reg_dmabuf_mr(void);
struct ioc *build_port_speed(void);
struct ioc *build_comp_cntr_caps(void);
struct ioc *build_comp_cntr_create(void);
struct ioc *build_comp_cntr_destroy(void);
struct ioc *build_comp_cntr_modify(void);
struct ioc *build_comp_cntr_read(void);
struct ioc *build_qp_attach_comp_cntr(void);

#endif
