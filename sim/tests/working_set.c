// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-working-set QPS PAGES ROUNDS BATCH: signaled WRITEs of 64 bytes over so many RC connections and pages: each batch uses
 * the next connection, each WRITE the next page. For test_caches.py.
 */
#include "link.h"

#define PAGE 4096u
#define SIZE 64u

static struct link l;

static uint32_t number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	CHECK(*text && !*end && n && n <= UINT16_MAX);
	return (uint32_t)n;
}

static void connect_all(struct ibv_qp *(*qp)[2], uint32_t qps, struct ibv_cq *const cq[2])
{
	for (uint32_t i = 0; i < qps; i++) {
		for (int end = 0; end < 2; end++)
			qp[i][end] = link_create_qp(&l, end, cq[end], NULL);
		link_connect(&l, qp[i]);
	}
}

/* With one doorbell. */
static void post(struct ibv_qp *qp, uint32_t page, uint32_t pages, uint32_t n)
{
	struct ibv_send_wr wr[LINK_SQ_DEPTH];
	struct ibv_sge sge[LINK_SQ_DEPTH];

	for (uint32_t i = 0; i < n; i++, page++) {
		const uint64_t at = page % pages * PAGE;

		sge[i] = (struct ibv_sge){(uintptr_t)l.buf[0] + at, SIZE, l.mr[0]->lkey};
		wr[i] = (struct ibv_send_wr){.next = i + 1 < n ? &wr[i + 1] : NULL,
					     .sg_list = &sge[i],
					     .num_sge = 1,
					     .opcode = IBV_WR_RDMA_WRITE,
					     .send_flags = IBV_SEND_SIGNALED,
					     .wr.rdma = {(uintptr_t)l.buf[1] + at, l.mr[1]->rkey}};
	}
	link_post(qp, wr);
}

int main(int argc, char **argv)
{
	struct ibv_cq *cq[2];
	struct ibv_qp *(*qp)[2];
	uint32_t qps, pages, batches, batch;

	CHECK(argc == 5);
	qps = number(argv[1]);
	pages = number(argv[2]);
	batch = number(argv[4]);
	batches = number(argv[3]) * (qps > pages ? qps : pages) / batch;
	CHECK(batch <= LINK_SQ_DEPTH);
	link_open(&l, pages * PAGE);
	for (int end = 0; end < 2; end++)
		cq[end] = link_create_cq(&l, end, (int)batch);
	qp = calloc(qps, sizeof(*qp));
	CHECK(qp);
	connect_all(qp, qps, cq);
	for (uint32_t i = 0; i < batches; i++) {
		post(qp[i % qps][0], i * batch, pages, batch);
		for (uint32_t done = 0; done < batch; done++)
			CHECK(link_wait(cq[0]).status == IBV_WC_SUCCESS);
	}
	for (uint32_t i = 0; i < qps; i++)
		for (int end = 0; end < 2; end++)
			CHECK(!(errno = ibv_destroy_qp(qp[i][end])));
	free(qp);
	for (int end = 0; end < 2; end++)
		CHECK(!(errno = ibv_destroy_cq(cq[end])));
	link_close(&l);
	return 0;
}
