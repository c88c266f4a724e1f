// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Many objects in one process: how they share mappings, and that they are released completely. */
#include <sys/mman.h>
#include <sys/stat.h>

#include "cm_fixture.h"

#define MANY 64u /* the most that these adapters can create */

static uint32_t cqs[MANY];
static struct hcasim_create_cq_resp resp[MANY];

/* The arena is too small for a thousand requests, so each one frees its part. */
static int one_cq(uint32_t cqe)
{
	const size_t used = w.used;
	int ret = make_cq(cqe, -1);

	w.used = used;
	return ret;
}

static int drop_cq(uint32_t handle)
{
	struct ib_uverbs_destroy_cq_resp cr;
	const size_t used = w.used;
	int ret = destroy_cq(handle, &cr);

	w.used = used;
	return ret;
}

static void many_cqs(uint32_t from)
{
	for (uint32_t i = from; i < MANY; i++) {
		if (one_cq(16))
			CU_FAIL_FATAL("CQ");
		cqs[i] = w.cq;
		resp[i] = w.cq_resp;
	}
}

static void drop_cqs(void)
{
	for (uint32_t i = 0; i < MANY; i++)
		if (drop_cq(cqs[i]))
			CU_FAIL_FATAL("destroy");
}

static struct drv_mmap mapping_of(const struct hcasim_create_cq_resp *r)
{
	struct drv_mmap d = {.memfd = -1};

	CHECK_ERR(
		kernel_mmap(w.f, &w.task, r->ring_mmap_size, PROT_READ | PROT_WRITE, r->ring_mmap_offset, &d),
		0);
	return d;
}

static int compare(const void *a, const void *b)
{
	const struct hcasim_create_cq_resp *x = a, *y = b;
	const uint64_t at = x->ring_mmap_offset + x->ring_offset, with = y->ring_mmap_offset + y->ring_offset;

	return at < with ? -1 : at > with;
}

/* Queues that are created one after the other share mappings, but do not overlap. */
static void share_mappings(void)
{
	unsigned int mappings = 1;

	file_open();
	CHECK_ERR(make_context(), 0);
	many_cqs(0);
	qsort(resp, MANY, sizeof(resp[0]), compare);
	for (uint32_t i = 0; i < MANY; i++) {
		CU_ASSERT_FATAL(resp[i].ring_offset + 16 * HCASIM_CQE_SIZE <= resp[i].record_offset);
		CU_ASSERT_FATAL(resp[i].record_offset + sizeof(struct hcasim_cq_record) <=
				resp[i].ring_mmap_size);
		if (!i)
			continue;
		mappings += resp[i].ring_mmap_offset != resp[i - 1].ring_mmap_offset;
		CU_ASSERT_FATAL(resp[i].ring_mmap_offset + resp[i].ring_offset >=
				resp[i - 1].ring_mmap_offset + resp[i - 1].record_offset +
					sizeof(struct hcasim_cq_record));
	}
	CU_ASSERT_EQUAL(mappings, 3); /* 16 chunks of 4 KiB, then 16, then 32 */
	file_close();
}

/* A mapping is removed with its last queue, and its pages are freed at once. */
static void last_one_out(void)
{
	struct drv_mmap d;
	struct stat st;
	uint8_t *p;

	file_open();
	CHECK_ERR(make_context(), 0);
	many_cqs(0);
	d = mapping_of(&resp[MANY - 1]);
	p = mmap(NULL, d.length, PROT_READ | PROT_WRITE, MAP_SHARED, d.memfd, (off_t)d.memfd_offset);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, MAP_FAILED);
	memset(p + resp[MANY - 1].ring_offset, 0x5a, 64);
	CHECK_ERR(fstat(d.memfd, &st), 0);
	CHECK_ERR((int)st.st_blocks, 4096 / 512);
	drop_cqs();
	CHECK_ERR(fstat(d.memfd, &st), 0);
	CHECK_ERR((int)st.st_blocks, 0);
	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL(kernel_mmap(w.f, &w.task, resp[i].ring_mmap_size, PROT_READ,
					    resp[i].ring_mmap_offset, &d),
				-EINVAL);
	bench_pass(2);
	/* A later mapping has a new offset, no matter how many mappings there were. */
	CHECK_ERR(one_cq(16), 0);
	CU_ASSERT(w.cq_resp.ring_mmap_offset > resp[MANY - 1].ring_mmap_offset);
	munmap(p, 4096);
	file_close();
}

/* A chunk is used again when no write to it can be in flight any more, and is zero then. */
static void second_use(void)
{
	struct hcasim_create_cq_resp first;
	struct drv_mmap d;
	uint8_t *p;

	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(one_cq(16), 0);
	CHECK_ERR(one_cq(16), 0);
	first = w.cq_resp;
	d = mapping_of(&first);
	p = mmap(NULL, d.length, PROT_READ | PROT_WRITE, MAP_SHARED, d.memfd, (off_t)d.memfd_offset);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, MAP_FAILED);
	CHECK_ERR(drop_cq(w.cq), 0);
	memset(p + first.ring_offset, 0x5a, 4096); /* a late write */
	CHECK_ERR(one_cq(16), 0);
	CU_ASSERT_NOT_EQUAL(w.cq_resp.ring_offset, first.ring_offset);
	bench_pass(2);
	CHECK_ERR(one_cq(16), 0);
	CU_ASSERT_EQUAL(w.cq_resp.ring_mmap_offset, first.ring_mmap_offset);
	CU_ASSERT_EQUAL(w.cq_resp.ring_offset, first.ring_offset);
	for (unsigned int i = 0; i < 4096; i++)
		CU_ASSERT_EQUAL_FATAL(p[first.ring_offset + i], 0);
	munmap(p, d.length);
	file_close();
}

/* Two processes share no mapping; the exit of one does not affect the other. */
static void two_contexts(void)
{
	struct drv_mmap mine, other;
	struct kfile *f;

	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(one_cq(16), 0);
	mine = mapping_of(&w.cq_resp);
	f = w.f;
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
	CHECK_ERR(make_context(), 0);
	many_cqs(2);
	other = mapping_of(&w.cq_resp);
	CU_ASSERT_NOT_EQUAL(mine.memfd, other.memfd);
	kernel_release(w.f);
	w.f = f;
	CHECK_ERR(one_cq(16), 0);
	CU_ASSERT_EQUAL(mapping_of(&w.cq_resp).memfd_offset, mine.memfd_offset);
	file_close();
}

/* A freed handle is not used again until NUMBERS_REST others were freed. */
static void handles(void)
{
	uint32_t last;

	file_open();
	CHECK_ERR(make_context(), 0);
	many_cqs(1);
	last = cqs[MANY - 1];
	CHECK_ERR(drop_cq(cqs[7]), 0);
	for (unsigned int i = 0; i < NUMBERS_REST - 1; i++) {
		CHECK_ERR(one_cq(16), 0);
		if (w.cq <= last)
			CU_FAIL_FATAL("a handle came back early");
		CHECK_ERR(drop_cq(w.cq), 0);
	}
	CHECK_ERR(one_cq(16), 0);
	CU_ASSERT_EQUAL(w.cq, cqs[7]);
	file_close();
}

#define MANY_CONNECTIONS 3000u
#define LONG_CHAIN       10 /* upper limit for nodes with different keys, spread over many buckets */

static unsigned int longest_chain(const struct table *t)
{
	unsigned int longest = 0, n;

	for (size_t i = 0; i < t->size; i++) {
		n = 0;
		for (const struct table_node *node = t->many[i]; node; node = node->next)
			n++;
		longest = n > longest ? n : longest;
	}
	return longest;
}

static uint32_t connect_to(struct cm_pair *c, uint32_t qpn)
{
	struct rdma_ucm_event_resp e;

	CHECK_ERR(cm_create(&c->client, RDMA_PS_TCP, &c->active), 0);
	CHECK_ERR(cm_resolve(&c->client, c->active, THERE, HERE, 7000), 0);
	CHECK_ERR(cm_event(&c->client, &e), EV_ADDR_RESOLVED);
	CHECK_ERR(cm_route(&c->client, c->active), 0);
	CHECK_ERR(cm_event(&c->client, &e), EV_ROUTE_RESOLVED);
	CHECK_ERR(cm_connect(&c->client, c->active, qpn, 0), 0);
	CHECK_ERR(cm_event(&c->server, &e), EV_CONNECT_REQUEST);
	CHECK_ERR(cm_accept(&c->server, e.id, qpn + 1, 0), 0);
	CHECK_ERR(cm_event(&c->client, &e), EV_CONNECT_RESPONSE);
	CHECK_ERR(cm_establish_id(&c->client, c->active), 0);
	CHECK_ERR(cm_event(&c->server, &e), EV_ESTABLISHED);
	return c->active;
}

/*
 * The connection of a datagram is found in a few steps, with any number of connections: the last and the
 * first.
 */
static void connections(void)
{
	const struct ucma *u = w.k->ucma;
	struct rdma_ucm_event_resp e;
	struct cm_pair c;
	uint32_t first;

	cm_pair_open(&c, RDMA_PS_TCP);
	first = connect_to(&c, 2);
	for (uint32_t i = 1; i < MANY_CONNECTIONS; i++)
		connect_to(&c, 2 + 2 * i);
	CHECK(u->comm_ids.used == 2 * MANY_CONNECTIONS && u->peers.used == 2 * MANY_CONNECTIONS);
	CHECK(u->peer_qps.used == 2 * MANY_CONNECTIONS && u->listeners.used == 1);
	CHECK(longest_chain(&u->comm_ids) < LONG_CHAIN);
	CHECK(longest_chain(&u->peers) < LONG_CHAIN);
	CHECK(longest_chain(&u->peer_qps) < LONG_CHAIN);
	/* A REQ from a QP that is already connected means that it lost its connection (IBTA 12.9.8.3.1). */
	CHECK_ERR(cm_create(&c.client, RDMA_PS_TCP, &c.active), 0);
	CHECK_ERR(cm_resolve(&c.client, c.active, THERE, HERE, 7000), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_ADDR_RESOLVED);
	CHECK_ERR(cm_route(&c.client, c.active), 0);
	CHECK_ERR(cm_event(&c.client, &e), EV_ROUTE_RESOLVED);
	CHECK_ERR(cm_connect(&c.client, c.active, 2, 0), 0);
	run_machine();
	for (int type = 0; type != EV_REJECTED;) {
		type = cm_event(&c.client, &e);
		CHECK_ERR(type < 0, 0);
		if (type < 0)
			break;
		CHECK(type == EV_DISCONNECTED ? e.id == first : e.id == c.active);
	}
	CHECK_ERR(e.status, REJ_STALE_CONN);
	cm_pair_close(&c);
}

/* A server destroys no id, and its client connects the same QP again and again: the tables have the live one only. */
static void ended_connections(void)
{
	const struct ucma *u = w.k->ucma;
	struct rdma_ucm_event_resp e;
	struct cm_pair c;
	uint32_t id;

	cm_pair_open(&c, RDMA_PS_TCP);
	for (unsigned int i = 0; i < 20; i++) {
		id = connect_to(&c, 2);
		CHECK(u->peers.used == 2 && u->peer_qps.used == 2);
		CHECK_ERR(cm_disconnect(&c.client, id), 0);
		CHECK_ERR(cm_event(&c.server, &e), EV_DISCONNECTED);
		CHECK_ERR(cm_disconnect(&c.server, e.id), 0);
		CHECK_ERR(cm_event(&c.client, &e), EV_DISCONNECTED);
		CHECK(u->peers.used == 2 &&
		      !u->peer_qps.used); /* in time-wait: a REQ may still be repeated */
		bench_pass(2050);
		CHECK_ERR(cm_event(&c.client, &e), EV_TIMEWAIT_EXIT);
		CHECK_ERR(cm_event(&c.server, &e), EV_TIMEWAIT_EXIT);
		CHECK(!u->peers.used);
		CHECK_ERR(cm_destroy_id(&c.client, id), 5);
	}
	cm_pair_close(&c);
}

void add_growth_suite(void)
{
	CU_pSuite s = CU_add_suite("growth", world_init, world_exit);

	CU_ADD_TEST(s, share_mappings);
	CU_ADD_TEST(s, last_one_out);
	CU_ADD_TEST(s, second_use);
	CU_ADD_TEST(s, two_contexts);
	CU_ADD_TEST(s, handles);
	CU_ADD_TEST(s, connections);
	CU_ADD_TEST(s, ended_connections);
}
