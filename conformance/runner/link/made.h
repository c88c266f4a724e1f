/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The errno of a creation that fails is what this call has set, or 0: never what an earlier call has left. A creation
 * that succeeds leaves errno as it was, so that the message of several creations has the errno of the one that failed.
 * ibv_reg_mr() is a macro of verbs.h: remote/remote_wrap.c does the same for the functions behind it.
 */
#ifndef CONFORM_MADE_H
#define CONFORM_MADE_H

#include <errno.h>

#include <infiniband/verbs.h>

#include "cell/names.h"

#define MADE(call)                                                                                           \
	({                                                                                                   \
		const int errno_before_ = errno;                                                             \
                                                                                                             \
		errno = 0;                                                                                   \
		__typeof__(call) made_ = (call);                                                             \
		if (made_)                                                                                   \
			errno = errno_before_;                                                               \
		made_;                                                                                       \
	})

#define ibv_alloc_dm(...)             MADE(ibv_alloc_dm(__VA_ARGS__))
#define ibv_alloc_mw(...)             MADE(ibv_alloc_mw(__VA_ARGS__))
#define ibv_alloc_parent_domain(...)  MADE(ibv_alloc_parent_domain(__VA_ARGS__))
#define ibv_alloc_pd(...)             MADE(ibv_alloc_pd(__VA_ARGS__))
#define ibv_alloc_td(...)             MADE(ibv_alloc_td(__VA_ARGS__))
#define ibv_create_ah(...)            MADE(ibv_create_ah(__VA_ARGS__))
#define ibv_create_ah_from_wc(...)    MADE(ibv_create_ah_from_wc(__VA_ARGS__))
#define ibv_create_comp_channel(...)  MADE(ibv_create_comp_channel(__VA_ARGS__))
#define ibv_create_cq(...)            MADE(ibv_create_cq(__VA_ARGS__))
#define ibv_create_cq_ex(...)         MADE(ibv_create_cq_ex(__VA_ARGS__))
#define ibv_create_flow(...)          MADE(ibv_create_flow(__VA_ARGS__))
#define ibv_create_qp(...)            MADE(ibv_create_qp(__VA_ARGS__))
#define ibv_create_qp_ex(...)         MADE(ibv_create_qp_ex(__VA_ARGS__))
#define ibv_create_rwq_ind_table(...) MADE(ibv_create_rwq_ind_table(__VA_ARGS__))
#define ibv_create_srq(...)           MADE(ibv_create_srq(__VA_ARGS__))
#define ibv_create_srq_ex(...)        MADE(ibv_create_srq_ex(__VA_ARGS__))
#define ibv_create_wq(...)            MADE(ibv_create_wq(__VA_ARGS__))
#define ibv_import_device(...)        MADE(ibv_import_device(__VA_ARGS__))
#define ibv_import_dm(...)            MADE(ibv_import_dm(__VA_ARGS__))
#define ibv_import_mr(...)            MADE(ibv_import_mr(__VA_ARGS__))
#define ibv_import_pd(...)            MADE(ibv_import_pd(__VA_ARGS__))
#define ibv_open_device(...)          MADE(ibv_open_device(__VA_ARGS__))
#define ibv_open_qp(...)              MADE(ibv_open_qp(__VA_ARGS__))
#define ibv_open_xrcd(...)            MADE(ibv_open_xrcd(__VA_ARGS__))
#define ibv_reg_dm_mr(...)            MADE(ibv_reg_dm_mr(__VA_ARGS__))
#define ibv_reg_dmabuf_mr(...)        MADE(ibv_reg_dmabuf_mr(__VA_ARGS__))

#endif
