/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two threads post to one queue, and the first is halted in the middle of it: its list of SGEs is in a page that cannot
 * be read until the second thread has posted, or has waited for some time. So they meet in every run.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "judge/watchdog.h"
#include "suites/objects/own.h"

#define LONG_MS 5
#define PAGE    65536 /* of any host */
#define LENGTH  100   /* of a message */
#define FIRST   0xf1
#define SECOND  0x5ec

/* For the handler. */
static struct halt {
	void *page;
	struct sigaction before;
	atomic_bool reached, done; /* the page is read; the other thread has returned */
} halt;

static void wait_for_other(int sig, siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr;
	struct watchdog wait = watchdog(LONG_MS);

	(void)context;
	if (at < (uintptr_t)halt.page || at >= (uintptr_t)halt.page + PAGE) {
		sigaction(sig, &halt.before, NULL); /* another fault, which happens again */
		return;
	}
	atomic_store(&halt.reached, true);
	while (!atomic_load(&halt.done) && !watchdog_expired(&wait))
		;
	watchdog_lost(); /* this timeout is expected */
	mprotect(halt.page, PAGE, PROT_READ | PROT_WRITE);
}

struct halted {
	struct kit *k;
	struct own own;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *bytes; /* receives of both, and what is sent */
	int rc, other_rc;
};

static uint8_t *receive_of(const struct halted *h, uint64_t wr_id)
{
	return h->bytes + (wr_id == FIRST ? 0 : LENGTH);
}

static struct ibv_sge sge_of(const struct halted *h, uint64_t wr_id)
{
	return (struct ibv_sge){(uintptr_t)receive_of(h, wr_id), LENGTH, h->mr->lkey};
}

static int post(const struct halted *h, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = sge, .num_sge = 1}, *bad;

	return h->srq ? ibv_post_srq_recv(h->srq, &wr, &bad) : ibv_post_recv(h->own.qp, &wr, &bad);
}

/* The second thread posts a receive, or makes the SRQ too small for the one of the first. */
static void *meet(void *arg)
{
	struct halted *h = arg;
	struct ibv_sge sge = sge_of(h, SECOND);
	struct ibv_srq_attr less = {.max_wr = 1};

	while (!atomic_load(&halt.reached) && !atomic_load(&halt.done))
		sched_yield();
	if (kit_arg(h->k, "resize", 0))
		h->other_rc = ibv_modify_srq(h->srq, &less, IBV_SRQ_MAX_WR);
	else
		h->other_rc = post(h, SECOND, &sge);
	atomic_store(&halt.done, true);
	return NULL;
}

static bool post_halted(struct kit *k, struct halted *h)
{
	const struct sigaction handler = {.sa_sigaction = wait_for_other,
					  .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct ibv_sge sge = sge_of(h, FIRST), *there;
	pthread_t thread;

	atomic_store(&halt.reached, false);
	atomic_store(&halt.done, false);
	there = halt.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!KIT_MUST(k, halt.page != MAP_FAILED, "a page: %s", errno_name(errno)))
		return false;
	*there = sge;
	sigaction(SIGSEGV, &handler, &halt.before);
	pthread_create(&thread, NULL, meet, h);
	mprotect(halt.page, PAGE, PROT_NONE);
	h->rc = post(h, FIRST, there);
	if (!atomic_load(&halt.reached)) /* the provider has not read it */
		seen(k->res, "the first thread was not halted; ");
	atomic_store(&halt.reached, true);
	pthread_join(thread, NULL);
	sigaction(SIGSEGV, &halt.before, NULL);
	munmap(halt.page, PAGE);
	if (h->rc)
		KIT_FAULT(k, "the first thread: refused with %s", errno_name(h->rc));
	return KIT_GOOD(k);
}

/* Each message is in the buffer of the receive that its completion names; every receive is used once. */
static void send_two(struct kit *k, struct halted *h)
{
	uint8_t *from = h->bytes + 2 * LENGTH;
	uint64_t before = 0;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_sge sge = {(uintptr_t)from, LENGTH, h->mr->lkey};
		struct ibv_send_wr wr = kit_wr(i, IBV_WR_SEND, &sge), *bad;

		memset(from, 0x30 + i, LENGTH);
		KIT_CHECK(k, !ibv_post_send(h->own.qp, &wr, &bad), "a message was refused");
		if (!own_expect(k, &h->own, h->own.send_cq, i, IBV_WC_SUCCESS) ||
		    !own_wait(k, &h->own, h->own.recv_cq, &wc))
			return;
		KIT_CHECK(k, !wc.status && (wc.wr_id == FIRST || wc.wr_id == SECOND) && wc.wr_id != before,
			  "message %u: status %s, wr_id 0x%llx", i, value_name(status_names, wc.status),
			  (unsigned long long)wc.wr_id);
		KIT_CHECK(k, !memcmp(receive_of(h, wc.wr_id), from, LENGTH),
			  "message %u is not in the buffer of the receive that it completed", i);
		before = wc.wr_id;
	}
}

static bool begin(struct kit *k, struct halted *h)
{
	struct ibv_pd *pd = k->r->dut.requester.pd;
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};

	h->bytes = end_alloc(pd, 3 * LENGTH);
	h->mr = h->bytes ? ibv_reg_mr(pd, h->bytes, 3 * LENGTH, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (kit_arg(k, "srq", 0))
		h->srq = h->own.init.srq = ibv_create_srq(pd, &srq);
	if (!h->mr || (kit_arg(k, "srq", 0) && !h->srq)) {
		KIT_FAULT(k, "memory or SRQ: %s", errno_name(errno));
		return false;
	}
	h->own.to_itself = true;
	return own_create(k, &h->own, IBV_QPT_RC) && own_reach(k, &h->own, IBV_QPS_RTS);
}

static void run(struct kit *k, struct halted *h)
{
	const bool resize = kit_arg(k, "resize", 0);
	struct ibv_sge sge = sge_of(h, SECOND);

	/* The resize finds one receive in the queue. */
	KIT_CHECK(k, !resize || !post(h, SECOND, &sge), "the receive that was posted before was refused");
	if (!post_halted(k, h))
		return;
	KIT_CHECK(k, resize ? h->other_rc > 0 : !h->other_rc, "the second thread: %s",
		  h->other_rc ? errno_name(h->other_rc)
			      : "an SRQ was made smaller than what is posted to it");
	send_two(k, h);
}

static void threads_halted(struct kit *k)
{
	struct halted h = {.k = k};

	log_call(&k->res->log, "/* while a thread is in ibv_post%s_recv(), another one: %s */",
		 kit_arg(k, "srq", 0) ? "_srq" : "",
		 kit_arg(k, "resize", 0) ? "ibv_modify_srq()" : "the same");
	if (begin(k, &h))
		run(k, &h);
}

SCENARIO(threads_halted) = {
	{"halted-rq", SUITE("region"), QPS("RC"), CLAUSE("ibv_alloc_td/DESCRIPTION/locking"), LEVEL("SHOULD"),
	 ERRATA("TD-LOCK"), ASK("RDMA_WRITE"),
	 SAYS("while one thread posts a receive, of which the list of SGEs cannot be read for a while, "
	      "another one posts to the same queue, or makes it too small: both receives are used, "
	      "each once")},
	{"halted-srq", ARGS({"srq", 1}), FORMS({""}, {"-resize", {{"resize", 1}}}), NEEDS("srq")},
	{},
};
