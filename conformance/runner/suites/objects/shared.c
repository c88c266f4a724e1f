/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* XRC domains by file, and receiving QPs that several handles share. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites/objects/own.h"

#define BOTH (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static struct ibv_xrcd *open_domain(struct kit *k, uint32_t comp_mask, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask = comp_mask, .fd = fd, .oflags = oflags};

	log_call(&k->res->log,
		 "ibv_open_xrcd(ctx, &(struct ibv_xrcd_init_attr){.comp_mask = %u, .fd = %d, .oflags = 0%o})",
		 comp_mask, fd, oflags);
	errno = 0;
	return ibv_open_xrcd(k->r->dut.requester.ctx, &attr);
}

static void no_domain(struct kit *k, uint32_t comp_mask, int fd, int oflags, const char *what)
{
	struct ibv_xrcd *xrcd = open_domain(k, comp_mask, fd, oflags);

	if (xrcd)
		ibv_close_xrcd(xrcd);
	KIT_CHECK(k, !xrcd && errno > 0, "ibv_open_xrcd %s: %s", what, xrcd ? "succeeded" : "no errno");
	k->res->err = errno;
}

static struct ibv_qp *receiver(struct kit *k, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};

	return ibv_create_qp_ex(k->r->dut.requester.ctx, &attr);
}

static struct ibv_qp *open_qp(struct kit *k, uint32_t comp_mask, struct ibv_xrcd *xrcd, uint32_t number,
			      enum ibv_qp_type type, void *context)
{
	struct ibv_qp_open_attr attr = {.comp_mask = comp_mask,
					.qp_num = number,
					.xrcd = xrcd,
					.qp_context = context,
					.qp_type = type};

	errno = 0;
	return ibv_open_qp(k->r->dut.requester.ctx, &attr);
}

#define OPEN_ALL                                                                                             \
	(IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE)

static void no_qp(struct kit *k, uint32_t comp_mask, struct ibv_xrcd *xrcd, uint32_t number,
		  enum ibv_qp_type type, const char *what)
{
	struct ibv_qp *qp = open_qp(k, comp_mask, xrcd, number, type, NULL);

	if (qp)
		ibv_destroy_qp(qp);
	KIT_CHECK(k, !qp && errno > 0, "ibv_open_qp %s: %s", what, qp ? "succeeded" : "no errno");
}

/* A domain of a file is the same for everybody who opens it. */
static void domains_of_file(struct kit *k, int fd, int other_fd)
{
	struct ibv_xrcd *first, *second, *other;
	struct ibv_qp *qp, *same;

	no_domain(k, BOTH, fd, 0, "of a file without one, no O_CREAT");
	first = open_domain(k, BOTH, fd, O_CREAT | O_EXCL);
	KIT_CHECK(k, first, "ibv_open_xrcd O_CREAT | O_EXCL of a new file failed with %s", errno_name(errno));
	no_domain(k, BOTH, fd, O_CREAT | O_EXCL, "O_CREAT | O_EXCL of a file that has one");
	second = open_domain(k, BOTH, fd, 0);
	KIT_CHECK(k, second, "ibv_open_xrcd of a file that has a domain failed with %s", errno_name(errno));
	other = open_domain(k, BOTH, other_fd, O_CREAT);
	KIT_CHECK(k, other, "ibv_open_xrcd of another file failed with %s", errno_name(errno));
	qp = receiver(k, first);
	KIT_CHECK(k, qp, "creation of an XRC_RECV QP failed with %s", errno_name(errno));
	no_qp(k, OPEN_ALL, other, qp->qp_num, IBV_QPT_XRC_RECV, "in the domain of another file");
	same = open_qp(k, OPEN_ALL, second, qp->qp_num, IBV_QPT_XRC_RECV, k);
	KIT_CHECK(k, same && same->qp_num == qp->qp_num,
		  "a QP of the domain cannot be opened through the same file: %s", errno_name(errno));
	KIT_CHECK(k, ibv_close_xrcd(first) > 0, "a domain with a QP was closed");
	KIT_CHECK(k, !ibv_destroy_qp(same) && !ibv_destroy_qp(qp), "ibv_destroy_qp failed");
	KIT_CHECK(k, !ibv_close_xrcd(first), "ibv_close_xrcd failed");
	no_domain(k, BOTH, fd, O_CREAT | O_EXCL, "O_CREAT | O_EXCL of a file whose domain has one user left");
	KIT_CHECK(k, !ibv_close_xrcd(second) && !ibv_close_xrcd(other), "ibv_close_xrcd failed");
	no_domain(k, BOTH, fd, 0, "of a file whose last user has left");
}

static void xrc_domains(struct kit *k)
{
	int fd = memfd_create("xrcd", 0), other_fd = memfd_create("xrcd", 0);
	struct ibv_xrcd *none;

	KIT_CHECK(k, fd >= 0 && other_fd >= 0, "files of the case: %s", errno_name(errno));
	domains_of_file(k, fd, other_fd);
	no_domain(k, 1u << 30 | BOTH, -1, O_CREAT, "with an unknown comp_mask");
	no_domain(k, BOTH, 1 << 20, O_CREAT, "of a file descriptor that is none");
	none = open_domain(k, BOTH, -1, O_CREAT);
	if (!none || ibv_close_xrcd(none))
		KIT_FAULT(k, "ibv_open_xrcd without a file failed with %s", errno_name(errno));
	close(fd);
	close(other_fd);
}

SCENARIO(xrc_domains) = {
	{"xrc-domains", SUITE("objects"), QPS("XRC_SEND"), CLAUSE("ibv_open_xrcd/DESCRIPTION/O_EXCL"),
	 SAYS("a domain is that of its file, until its last user closes it; O_CREAT and O_EXCL")},
	{},
};

/* Both handles are of one QP, which lives as long as one of them. */
static void opened(struct kit *k, struct own *o, struct own *second)
{
	const uint32_t number = o->qp->qp_num;
	struct ibv_qp *third = open_qp(k, OPEN_ALL, o->xrcd, number, IBV_QPT_XRC_RECV, k);
	struct ibv_recv_wr recv = {.wr_id = 1}, *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	KIT_CHECK(k, third && !ibv_destroy_qp(third), "a handle could not be opened, or not be destroyed");
	second->qp = open_qp(k, OPEN_ALL, o->xrcd, number, IBV_QPT_XRC_RECV, second);
	KIT_CHECK(k, second->qp, "ibv_open_qp failed with %s", errno_name(errno));
	KIT_CHECK(k, second->qp->qp_num == number && second->qp->qp_context == second,
		  "ibv_open_qp: number or context of the QP is wrong");
	second->init.qp_type = IBV_QPT_XRC_RECV;
	second->known_mask = IBV_QP_STATE;
	if (!own_reach(k, second, IBV_QPS_RTR)) /* by one */
		return;
	KIT_CHECK(k, ibv_post_recv(second->qp, &recv, &bad) > 0 && bad == &recv,
		  "ibv_post_recv to an XRC_RECV QP succeeded, or names no bad_wr");
	KIT_CHECK(k, !ibv_query_qp(o->qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_RTR,
		  "the first handle does not see what was set through the second");
	o->known = second->known;
	o->known_mask = second->known_mask;
	if (!own_judge(k, o, OWN_EVERY_BIT, "through the other handle"))
		return;
	attr = own_values(k, o, 1);
	attr.qp_state = IBV_QPS_RTS;
	KIT_CHECK(k, !own_modify(o, &attr, IBV_QP_STATE | own_required(IBV_QPT_XRC_RECV, IBV_QPS_RTS)),
		  "the first handle cannot go on");
	KIT_CHECK(k, !ibv_destroy_qp(o->qp), "ibv_destroy_qp of the first handle failed");
	o->qp = NULL;
	second->known = o->known;
	second->known_mask = o->known_mask;
	own_judge(k, second, OWN_EVERY_BIT, "through a handle that is gone");
}

static void opened_qp(struct kit *k)
{
	struct own o = {0}, second = {0};
	struct ibv_xrcd *other = open_domain(k, BOTH, -1, O_CREAT);
	uint32_t number;

	if (!other || !own_create(k, &o, IBV_QPT_XRC_RECV))
		return;
	number = o.qp->qp_num;
	no_qp(k, OPEN_ALL, other, number, IBV_QPT_XRC_RECV, "in another domain");
	no_qp(k, OPEN_ALL, o.xrcd, number ^ 0x800000, IBV_QPT_XRC_RECV, "with a number that is none");
	no_qp(k, OPEN_ALL, o.xrcd, number, IBV_QPT_RC, "with another type");
	no_qp(k, OPEN_ALL & ~IBV_QP_OPEN_ATTR_XRCD, o.xrcd, number, IBV_QPT_XRC_RECV, "without a domain");
	no_qp(k, OPEN_ALL & ~IBV_QP_OPEN_ATTR_NUM, o.xrcd, number, IBV_QPT_XRC_RECV, "without a number");
	no_qp(k, OPEN_ALL | 1u << 30, o.xrcd, number, IBV_QPT_XRC_RECV, "with an unknown comp_mask");
	if (KIT_GOOD(k))
		opened(k, &o, &second);
	own_destroy(&second);
	if (KIT_GOOD(k) && !o.qp)
		no_qp(k, OPEN_ALL, o.xrcd, number, IBV_QPT_XRC_RECV, "after its last handle was destroyed");
}

SCENARIO(opened_qp) = {
	{"open_qp", SUITE("objects"), QPS("XRC_SEND"), CLAUSE("ibv_open_qp/NOTES/not-exist"),
	 SAYS("two handles of an XRC_RECV QP: attributes that are set by one are reported by the "
	      "other; the QP lives until both are destroyed; a wrong number, type or domain is refused")},
	{},
};
