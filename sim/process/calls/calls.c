// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libhcasim_calls.so: in the programs of a traced machine only. Providers refuse much without a call to the kernel: a full
 * send queue, too many SGEs, sizes above the adapter's. These functions stand before those of libibverbs, call them, and
 * report what failed to the trace (docs/traces.md).
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#define API         __attribute__((visibility("default")))
#define VERSION     "IBVERBS_1.1"
#define MAX_REPORTS 200 /* of a process: programs may repeat a call until it succeeds */
#define MAX_OPEN    64  /* contexts whose posts are reported */

#undef ibv_reg_mr

/* libibverbs' function; it may have been loaded with RTLD_LOCAL, as modules of Python are. */
static void *next_function(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, VERSION), *verbs;

	if (found)
		return found;
	verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return verbs ? dlvsym(verbs, name, VERSION) : NULL;
}

#define REAL(fn)                                                                                             \
	({                                                                                                   \
		static void *_Atomic real_;                                                                  \
		if (!atomic_load(&real_))                                                                    \
			atomic_store(&real_, next_function(#fn));                                            \
		(__typeof__(&fn))atomic_load(&real_);                                                        \
	})

static _Atomic unsigned int reports;

/* Members of the record, without braces. */
static __attribute__((format(printf, 3, 4))) void report(const char *call, int err, const char *format, ...)
{
	static void (*send)(const char *text, size_t len);
	const int saved = errno;
	char text[512];
	va_list args;
	size_t n;

	if (atomic_fetch_add(&reports, 1) >= MAX_REPORTS)
		return;
	if (!send)
		send = (void (*)(const char *, size_t))dlsym(RTLD_DEFAULT, "hcasim_report");
	n = (size_t)snprintf(text, sizeof(text), "\"call\":\"%s\",\"errno\":\"%s\"", call,
			     strerrorname_np(err) ? strerrorname_np(err) : "unknown");
	va_start(args, format);
	n += (size_t)vsnprintf(text + n, sizeof(text) - n, format, args);
	va_end(args);
	if (send && n < sizeof(text))
		send(text, n);
	errno = saved;
}

/* Verbs return an errno, or -1 and set errno. */
static int errno_of(int ret)
{
	return ret > 0 ? ret : ret == -1 ? errno : -ret;
}

static const char *device(const struct ibv_context *context)
{
	return context->device->name;
}

/* ---- Creation and destruction -------------------------------------------------------------------- */

API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	const struct ibv_qp_init_attr asked = *init;
	struct ibv_qp *qp = REAL(ibv_create_qp)(pd, init);

	if (!qp)
		report("create_qp", errno,
		       ",\"hca\":\"%s\",\"qp_type\":%d,\"max_send_wr\":%u,\"max_recv_wr\":%u,\"max_send_"
		       "sge\":%u,"
		       "\"max_recv_sge\":%u,\"max_inline_data\":%u",
		       device(pd->context), asked.qp_type, asked.cap.max_send_wr, asked.cap.max_recv_wr,
		       asked.cap.max_send_sge, asked.cap.max_recv_sge, asked.cap.max_inline_data);
	return qp;
}

API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				 struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq = REAL(ibv_create_cq)(context, cqe, cq_context, channel, comp_vector);

	if (!cq)
		report("create_cq", errno, ",\"hca\":\"%s\",\"cqe\":%d,\"comp_vector\":%d", device(context),
		       cqe, comp_vector);
	return cq;
}

API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	const struct ibv_srq_init_attr asked = *init;
	struct ibv_srq *srq = REAL(ibv_create_srq)(pd, init);

	if (!srq)
		report("create_srq", errno, ",\"hca\":\"%s\",\"max_wr\":%u,\"max_sge\":%u,\"srq_limit\":%u",
		       device(pd->context), asked.attr.max_wr, asked.attr.max_sge, asked.attr.srq_limit);
	return srq;
}

API struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = REAL(ibv_create_ah)(pd, attr);

	if (!ah)
		report("create_ah", errno,
		       ",\"hca\":\"%s\",\"is_global\":%u,\"port_num\":%u,\"sgid_index\":%u",
		       device(pd->context), attr->is_global, attr->port_num, attr->grh.sgid_index);
	return ah;
}

API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = REAL(ibv_reg_mr)(pd, addr, length, access);

	if (!mr)
		report("reg_mr", errno,
		       ",\"hca\":\"%s\",\"start\":\"%p\",\"length\":%zu,\"access_flags\":\"0x%x\"",
		       device(pd->context), addr, length, (unsigned int)access);
	return mr;
}

API int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = REAL(ibv_modify_qp)(qp, attr, mask);

	if (ret)
		report("modify_qp", errno_of(ret),
		       ",\"hca\":\"%s\",\"qpn\":%u,\"attr_mask\":\"0x%x\",\"qp_state\":%d",
		       device(qp->context), qp->qp_num, (unsigned int)mask, attr->qp_state);
	return ret;
}

API int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	int ret = REAL(ibv_resize_cq)(cq, cqe);

	if (ret)
		report("resize_cq", errno_of(ret), ",\"hca\":\"%s\",\"cq_handle\":%u,\"cqe\":%d",
		       device(cq->context), cq->handle, cqe);
	return ret;
}

#define DESTROY(verb, type)                                                                                  \
	API int ibv_##verb(struct ibv_##type *thing)                                                         \
	{                                                                                                    \
		struct ibv_context *context = thing->context;                                                \
		const uint32_t handle = thing->handle;                                                       \
		int ret = REAL(ibv_##verb)(thing);                                                           \
                                                                                                             \
		if (ret)                                                                                     \
			report(#verb, errno_of(ret), ",\"hca\":\"%s\",\"" #type "_handle\":%u",              \
			       device(context), handle);                                                     \
		return ret;                                                                                  \
	}
DESTROY(dealloc_pd, pd)
DESTROY(dereg_mr, mr)
DESTROY(destroy_cq, cq)
DESTROY(destroy_qp, qp)
DESTROY(destroy_srq, srq)

/* ---- Posting: functions of a context, which inline functions of verbs.h call ------------------------ */

static struct {
	struct ibv_context *_Atomic context;
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
} opened[MAX_OPEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned int index_of(const struct ibv_context *context)
{
	unsigned int i = 0;

	while (i < MAX_OPEN && atomic_load(&opened[i].context) != context)
		i++;
	return i;
}

static uint64_t bytes(const struct ibv_sge *sge, int num)
{
	uint64_t sum = 0;

	for (int i = 0; sge && i < num && i < 64; i++)
		sum += sge[i].length;
	return sum;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *which = NULL; /* not all providers set it */
	const int ret = opened[index_of(qp->context)].post_send(qp, wr, &which);
	const struct ibv_send_wr *b = which ? which : wr;

	if (which)
		*bad = which;
	if (ret && b)
		report("post_send", errno_of(ret),
		       ",\"hca\":\"%s\",\"qpn\":%u,\"opcode\":%d,\"num_sge\":%d,\"length\":%" PRIu64
		       ",\"send_flags\":\"0x%x\"",
		       device(qp->context), qp->qp_num, b->opcode, b->num_sge, bytes(b->sg_list, b->num_sge),
		       b->send_flags);
	return ret;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr *which = NULL;
	const int ret = opened[index_of(qp->context)].post_recv(qp, wr, &which);
	const struct ibv_recv_wr *b = which ? which : wr;

	if (which)
		*bad = which;
	if (ret && b)
		report("post_recv", errno_of(ret), ",\"hca\":\"%s\",\"qpn\":%u,\"num_sge\":%d",
		       device(qp->context), qp->qp_num, b->num_sge);
	return ret;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr *which = NULL;
	const int ret = opened[index_of(srq->context)].post_srq_recv(srq, wr, &which);
	const struct ibv_recv_wr *b = which ? which : wr;

	if (which)
		*bad = which;
	if (ret && b)
		report("post_srq_recv", errno_of(ret), ",\"hca\":\"%s\",\"srq_handle\":%u,\"num_sge\":%d",
		       device(srq->context), srq->handle, b->num_sge);
	return ret;
}

/* A context that was closed may have had the same address. */
static void watch(struct ibv_context *context)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	i = index_of(context);
	if (i == MAX_OPEN)
		i = index_of(NULL);
	if (i < MAX_OPEN) {
		opened[i].post_send = context->ops.post_send;
		opened[i].post_recv = context->ops.post_recv;
		opened[i].post_srq_recv = context->ops.post_srq_recv;
		atomic_store(&opened[i].context, context);
		context->ops.post_send = post_send;
		context->ops.post_recv = post_recv;
		context->ops.post_srq_recv = post_srq_recv;
	}
	pthread_mutex_unlock(&lock);
}

API struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct ibv_context *context = REAL(ibv_open_device)(dev);

	if (context)
		watch(context);
	return context;
}
