/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Every call of verbs.h that creates an object is one of the macros below.
 *
 * What a scenario creates is destroyed when the scenario ends, however it ends: windows first, then the last first. A
 * scenario calls ibv_create_cq(), and returns at the first check that fails. It calls ibv_destroy_cq() only where the
 * result or the moment of the destruction matters. The same holds for memory of end_alloc() and made_zeroed();
 * made_later() is for anything else.
 *
 * The errno of a creation that fails is what this call has set, or 0: never what an earlier call has left. A creation
 * that succeeds leaves errno as it was, so that the message of several creations has the errno of the one that failed.
 */
#ifndef CONFORM_MADE_H
#define CONFORM_MADE_H

#include <errno.h>
#include <stdbool.h>

#include <infiniband/verbs.h>

#include "cell/names.h"

/* From now on what is created is recorded, until made_end() destroys what is left of it. */
void made_begin(void);
/* The first call of verbs.h that fails, and its errno in *err; NULL: none. */
const char *made_end(int *err);
/*
 * Records an object, and the function that ends it with its name. Nothing is recorded between made_end() and
 * made_begin().
 */
void made_later(int (*end)(void *object), const char *name, void *object);
/* The object ends by other means. */
void made_forget(const void *object);
int made_unimport_dm(void *dm);
int made_unimport_mr(void *mr);
int made_unimport_pd(void *pd);
/* Memory of zeros, until the scenario ends; NULL: there is none. made_free() may free it earlier. */
void *made_zeroed(size_t num, size_t size);
void made_free(void *memory);
/* Pages of memory of zeros, MAP_PRIVATE or MAP_SHARED, until the scenario ends; NULL: there are none. */
void *made_pages(size_t size, int flags);

/* The functions that end objects of verbs.h. */
#define MADE_ENDS(X)                                                                                         \
	X(ibv_close_device)                                                                                  \
	X(ibv_close_xrcd)                                                                                    \
	X(ibv_dealloc_mw)                                                                                    \
	X(ibv_dealloc_pd)                                                                                    \
	X(ibv_dealloc_td)                                                                                    \
	X(ibv_dereg_mr)                                                                                      \
	X(ibv_destroy_ah)                                                                                    \
	X(ibv_destroy_comp_channel)                                                                          \
	X(ibv_destroy_cq)                                                                                    \
	X(ibv_destroy_flow)                                                                                  \
	X(ibv_destroy_qp)                                                                                    \
	X(ibv_destroy_rwq_ind_table)                                                                         \
	X(ibv_destroy_srq)                                                                                   \
	X(ibv_destroy_wq)                                                                                    \
	X(ibv_free_dm)
#define MADE_END(destroy) int made_##destroy(void *object);
MADE_ENDS(MADE_END)
#undef MADE_END

#define MADE(call, destroy)                                                                                  \
	({                                                                                                   \
		const int errno_before_ = errno;                                                             \
                                                                                                             \
		errno = 0;                                                                                   \
		__typeof__(call) made_ = (call);                                                             \
		if (made_) {                                                                                 \
			made_later(made_##destroy, #destroy, made_);                                         \
			errno = errno_before_;                                                               \
		}                                                                                            \
		made_;                                                                                       \
	})

#define ibv_alloc_dm(...)             MADE(ibv_alloc_dm(__VA_ARGS__), ibv_free_dm)
#define ibv_alloc_mw(...)             MADE(ibv_alloc_mw(__VA_ARGS__), ibv_dealloc_mw)
#define ibv_alloc_parent_domain(...)  MADE(ibv_alloc_parent_domain(__VA_ARGS__), ibv_dealloc_pd)
#define ibv_alloc_pd(...)             MADE(ibv_alloc_pd(__VA_ARGS__), ibv_dealloc_pd)
#define ibv_alloc_td(...)             MADE(ibv_alloc_td(__VA_ARGS__), ibv_dealloc_td)
#define ibv_create_ah(...)            MADE(ibv_create_ah(__VA_ARGS__), ibv_destroy_ah)
#define ibv_create_ah_from_wc(...)    MADE(ibv_create_ah_from_wc(__VA_ARGS__), ibv_destroy_ah)
#define ibv_create_comp_channel(...)  MADE(ibv_create_comp_channel(__VA_ARGS__), ibv_destroy_comp_channel)
#define ibv_create_cq(...)            MADE(ibv_create_cq(__VA_ARGS__), ibv_destroy_cq)
#define ibv_create_cq_ex(...)         MADE(ibv_create_cq_ex(__VA_ARGS__), ibv_destroy_cq)
#define ibv_create_flow(...)          MADE(ibv_create_flow(__VA_ARGS__), ibv_destroy_flow)
#define ibv_create_qp(...)            MADE(ibv_create_qp(__VA_ARGS__), ibv_destroy_qp)
#define ibv_create_qp_ex(...)         MADE(ibv_create_qp_ex(__VA_ARGS__), ibv_destroy_qp)
#define ibv_create_rwq_ind_table(...) MADE(ibv_create_rwq_ind_table(__VA_ARGS__), ibv_destroy_rwq_ind_table)
#define ibv_create_srq(...)           MADE(ibv_create_srq(__VA_ARGS__), ibv_destroy_srq)
#define ibv_create_srq_ex(...)        MADE(ibv_create_srq_ex(__VA_ARGS__), ibv_destroy_srq)
#define ibv_create_wq(...)            MADE(ibv_create_wq(__VA_ARGS__), ibv_destroy_wq)
#define ibv_import_device(...)        MADE(ibv_import_device(__VA_ARGS__), ibv_close_device)
#define ibv_import_dm(...)            MADE(ibv_import_dm(__VA_ARGS__), unimport_dm)
#define ibv_import_mr(...)            MADE(ibv_import_mr(__VA_ARGS__), unimport_mr)
#define ibv_import_pd(...)            MADE(ibv_import_pd(__VA_ARGS__), unimport_pd)
#define ibv_open_device(...)          MADE(ibv_open_device(__VA_ARGS__), ibv_close_device)
#define ibv_open_qp(...)              MADE(ibv_open_qp(__VA_ARGS__), ibv_destroy_qp)
#define ibv_open_xrcd(...)            MADE(ibv_open_xrcd(__VA_ARGS__), ibv_close_xrcd)
#define ibv_reg_dm_mr(...)            MADE(ibv_reg_dm_mr(__VA_ARGS__), ibv_dereg_mr)
#define ibv_reg_dmabuf_mr(...)        MADE(ibv_reg_dmabuf_mr(__VA_ARGS__), ibv_dereg_mr)
/* As verbs.h has them: the function behind each depends on whether the rights are a constant. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#define MADE_CONSTANT(access) __builtin_constant_p(((int)(access)&IBV_ACCESS_OPTIONAL_RANGE) == 0)
#define ibv_reg_mr(pd, addr, length, access)                                                                 \
	MADE(__ibv_reg_mr(pd, addr, length, access, MADE_CONSTANT(access)), ibv_dereg_mr)
#define ibv_reg_mr_iova(pd, addr, length, iova, access)                                                      \
	MADE(__ibv_reg_mr_iova(pd, addr, length, iova, access, MADE_CONSTANT(access)), ibv_dereg_mr)
#define ibv_reg_mr_iova2(...) MADE(ibv_reg_mr_iova2(__VA_ARGS__), ibv_dereg_mr)

#define MADE_GONE(object, call)                                                                              \
	({                                                                                                   \
		__typeof__(object) gone_ = (object);                                                         \
		const int ret_ = (call);                                                                     \
                                                                                                             \
		if (!ret_)                                                                                   \
			made_forget(gone_);                                                                  \
		ret_;                                                                                        \
	})

#define ibv_close_device(object)          MADE_GONE(object, ibv_close_device(gone_))
#define ibv_close_xrcd(object)            MADE_GONE(object, ibv_close_xrcd(gone_))
#define ibv_dealloc_mw(object)            MADE_GONE(object, ibv_dealloc_mw(gone_))
#define ibv_dealloc_pd(object)            MADE_GONE(object, ibv_dealloc_pd(gone_))
#define ibv_dealloc_td(object)            MADE_GONE(object, ibv_dealloc_td(gone_))
#define ibv_dereg_mr(object)              MADE_GONE(object, ibv_dereg_mr(gone_))
#define ibv_destroy_ah(object)            MADE_GONE(object, ibv_destroy_ah(gone_))
#define ibv_destroy_comp_channel(object)  MADE_GONE(object, ibv_destroy_comp_channel(gone_))
#define ibv_destroy_cq(object)            MADE_GONE(object, ibv_destroy_cq(gone_))
#define ibv_destroy_flow(object)          MADE_GONE(object, ibv_destroy_flow(gone_))
#define ibv_destroy_qp(object)            MADE_GONE(object, ibv_destroy_qp(gone_))
#define ibv_destroy_rwq_ind_table(object) MADE_GONE(object, ibv_destroy_rwq_ind_table(gone_))
#define ibv_destroy_srq(object)           MADE_GONE(object, ibv_destroy_srq(gone_))
#define ibv_destroy_wq(object)            MADE_GONE(object, ibv_destroy_wq(gone_))
#define ibv_free_dm(object)               MADE_GONE(object, ibv_free_dm(gone_))
#define ibv_unimport_dm(object)           (made_forget(object), ibv_unimport_dm(object))
#define ibv_unimport_mr(object)           (made_forget(object), ibv_unimport_mr(object))
#define ibv_unimport_pd(object)           (made_forget(object), ibv_unimport_pd(object))

#endif
