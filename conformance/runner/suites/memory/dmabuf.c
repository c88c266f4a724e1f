/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A region of a dma-buf: its bytes are those of the buffer from the offset on, at the addresses from the iova on. */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites/objects/own.h"

#define PAGE   4096u
#define SIZE   (4 * (size_t)PAGE)
#define OFFSET (PAGE + 512u) /* of the region in the buffer */
#define LENGTH (2 * PAGE + 512u)
#define IOVA   512u /* with the offset's place in its page; as lengths, offset and iova are legal as well */
#define PART   64u
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct buffer {
	int memfd, fd;  /* fd: the dma-buf */
	bool exported;  /* by /dev/udmabuf; else fd is the memfd, which an adapter may refuse */
	uint8_t *bytes; /* the program's mapping */
};

static bool make_buffer(struct buffer *b)
{
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE};
	const int exporter = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	b->bytes = MAP_FAILED;
	b->memfd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	create.memfd = (uint32_t)b->memfd;
	if (b->memfd >= 0 && !ftruncate(b->memfd, SIZE) && !fcntl(b->memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		b->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, b->memfd, 0);
	b->fd = exporter < 0 ? -1 : ioctl(exporter, UDMABUF_CREATE, &create);
	b->exported = b->fd >= 0;
	if (!b->exported)
		b->fd = dup(b->memfd);
	if (exporter >= 0)
		close(exporter);
	return b->bytes != MAP_FAILED && b->fd >= 0;
}

static void drop_buffer(struct buffer *b)
{
	if (b->bytes != MAP_FAILED)
		munmap(b->bytes, SIZE);
	if (b->memfd >= 0)
		close(b->memfd);
	if (b->fd >= 0)
		close(b->fd);
}

/* Status of an RDMA WRITE of PART bytes of `plain` to an address of the region. */
static int write_part(struct kit *k, struct own *o, const struct ibv_mr *plain, const struct ibv_mr *mr,
		      uint64_t to)
{
	struct ibv_sge sge = {(uintptr_t)plain->addr, PART, plain->lkey};
	struct ibv_send_wr wr = kit_wr(3, IBV_WR_RDMA_WRITE, &sge), *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = mr->rkey;
	if (ibv_post_send(o->qp, &wr, &bad) || !own_wait(k, o, o->send_cq, &wc))
		return -1;
	return (int)wc.status;
}

/* The first and the last bytes of the region, and the first beyond it. */
static void use_region(struct kit *k, struct buffer *b, const struct ibv_mr *plain, const struct ibv_mr *mr)
{
	static const unsigned int at[] = {0, LENGTH - PART};
	const unsigned int beyond = LENGTH - (unsigned int)kit_arg(k, "less", 0);
	struct own o = {.to_itself = true};
	int status;

	if (!own_create(k, &o, IBV_QPT_RC) || !own_reach(k, &o, IBV_QPS_RTS))
		return;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]) && KIT_GOOD(k); i++) {
		memset(plain->addr, 0x31 + (int)i, PART);
		status = write_part(k, &o, plain, mr, IOVA + at[i]);
		if (!kit_holds(k, !status && !memcmp(b->bytes + OFFSET + at[i], plain->addr, PART)))
			KIT_FAULT(k,
				  "an RDMA WRITE at %u of the region: %s, or it is not in the buffer there",
				  at[i], value_name(status_names, status));
	}
	status = KIT_GOOD(k) ? write_part(k, &o, plain, mr, IOVA + beyond) : -1;
	/* the QP is its own responder, which may be in ERR before the requester knows why */
	if (KIT_GOOD(k) && !kit_holds(k, status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_WR_FLUSH_ERR))
		KIT_FAULT(k, "an RDMA WRITE beyond the region completed with %s",
			  value_name(status_names, status));
}

static void region_of(struct kit *k, struct buffer *b, const struct ibv_mr *plain)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_dmabuf_mr(k->r->dut.requester.pd, OFFSET, LENGTH, IOVA, b->fd, RIGHTS);
	log_call(&k->res->log, "/* ibv_reg_dmabuf_mr(pd, %u, %u, %u, fd, 0x%x) */", OFFSET, LENGTH, IOVA,
		 RIGHTS);
	if (!mr && (errno == EOPNOTSUPP || (errno == EINVAL && !b->exported))) {
		seen(k->res, "no dma-buf that the device accepts; ");
		return;
	}
	KIT_CHECK(k, mr, "ibv_reg_dmabuf_mr failed with %s", errno_name(errno));
	use_region(k, b, plain, mr);
	KIT_CHECK(k, !ibv_dereg_mr(mr), "ibv_dereg_mr failed");
}

static void dma_buf(struct kit *k)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	uint8_t *bytes = end_alloc(pd, PAGE);
	struct ibv_mr *plain = bytes ? ibv_reg_mr(pd, bytes, PAGE, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct buffer b;

	if (!make_buffer(&b))
		seen(k->res, "no memfd; ");
	else if (!plain)
		KIT_FAULT(k, "memory of the case: %s", errno_name(errno));
	else
		region_of(k, &b, plain);
	drop_buffer(&b);
}

SCENARIO(dma_buf) = {
	{"dma-buf", SUITE("objects"), QPS("RC"), CLAUSE("ibv_reg_mr/RETURN-VALUE/lkey"),
	 SAYS("what is written at the addresses from a region's iova on is in its dma-buf from the "
	      "offset on; nothing is written beyond its length")},
	{},
};
