// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * soak COUNT SEED [LOG]: COUNT mixed work requests over 64 queue pairs of all types. Started by `hcasim run`,
 * with --fault. The exit status is 0 if every byte and every completion was right; prints what it did.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "soak.h"

#define POLL       32
#define PATIENCE_S 120 /* longest time without a completion of a flow that has posted */
#define SETTLE     32u
#define ROUND      23u /* batches between two polls of the CQs */

struct soak s;
const char *const kind_name[KINDS] = {"RC", "UC", "UD", "XRC", "RAW_PACKET"};

/* ---- Completions ---- */

static void completed(uint64_t wr_id, enum ibv_wc_opcode opcode, enum ibv_wc_status status, uint32_t vendor,
		      uint32_t qpn)
{
	unsigned int id = (unsigned int)(wr_id >> 48);
	uint64_t seq = wr_id & 0xffffffffffff;
	struct flow *f = id < NUM_FLOWS ? &s.flow[id] : NULL;

	REQUIRE(f, NULL, 0, "a completion with wr_id 0x%llx, '%s'", (unsigned long long)wr_id,
		ibv_wc_status_str(status));
	REQUIRE(status == IBV_WC_SUCCESS, f, seq, "'%s', vendor_err %u", ibv_wc_status_str(status), vendor);
	REQUIRE(qpn == f->qp->qp_num, f, seq, "completion of QP %u", qpn);
	check_completion(f, seq, opcode);
}

static unsigned int poll_plain(int end, struct ibv_cq *cq)
{
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(cq, POLL, wc);

	REQUIRE(n >= 0, NULL, 0, "ibv_poll_cq: %d", n);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS || !(wc[i].opcode & IBV_WC_RECV)) {
			completed(wc[i].wr_id, wc[i].opcode, wc[i].status, wc[i].vendor_err, wc[i].qp_num);
			continue;
		}
		check_arrival(&(struct arrival){end, wc[i].opcode, wc[i].wc_flags, wc[i].qp_num,
						wc[i].byte_len, wc[i].imm_data, wc[i].src_qp, wc[i].wr_id});
	}
	return (unsigned int)n;
}

static void take_extended(int end, struct ibv_cq_ex *cq)
{
	bool good = cq->status == IBV_WC_SUCCESS;
	enum ibv_wc_opcode opcode = good ? ibv_wc_read_opcode(cq) : IBV_WC_SEND;
	struct arrival a = {.end = end, .opcode = opcode, .wr_id = cq->wr_id};

	if (!(opcode & IBV_WC_RECV))
		return completed(cq->wr_id, opcode, cq->status, ibv_wc_read_vendor_err(cq),
				 ibv_wc_read_qp_num(cq));
	a.flags = ibv_wc_read_wc_flags(cq);
	a.qpn = ibv_wc_read_qp_num(cq);
	a.len = ibv_wc_read_byte_len(cq);
	a.imm = a.flags & IBV_WC_WITH_INV ? ibv_wc_read_invalidated_rkey(cq) : ibv_wc_read_imm_data(cq);
	a.src_qp = ibv_wc_read_src_qp(cq);
	check_arrival(&a);
}

static unsigned int poll_extended(int end, struct ibv_cq_ex *cq, uint64_t *last)
{
	struct ibv_poll_cq_attr attr = {};
	unsigned int n = 0;
	int ret = ibv_start_poll(cq, &attr);

	if (ret == ENOENT)
		return 0;
	REQUIRE(!ret, NULL, 0, "ibv_start_poll: %s", strerror(ret));
	soak_polling = cq;
	do {
		uint64_t now = ibv_wc_read_completion_ts(cq);

		REQUIRE(now >= *last, NULL, 0, "a completion's time stamp is before that of the one before");
		*last = now;
		take_extended(end, cq);
		n++;
	} while (n < POLL && !(ret = ibv_next_poll(cq)));
	REQUIRE(!ret || ret == ENOENT, NULL, 0, "ibv_next_poll: %s", strerror(ret));
	ibv_end_poll(cq);
	soak_polling = NULL;
	return n;
}

static unsigned int poll_all(void)
{
	static uint64_t last[2][NUM_CQ];
	unsigned int n = 0;

	for (int end = 0; end < 2; end++)
		for (unsigned int i = 0; i < NUM_CQ; i++)
			n += i & 1 ? poll_extended(end, (struct ibv_cq_ex *)s.cq[end][i], &last[end][i])
				   : poll_plain(end, s.cq[end][i]);
	return n;
}

/* ---- Work ---- */

/* Checks each flow on its own, so that progress of others does not hide one that hangs. */
static void watch_out(void)
{
	static uint64_t seen[NUM_FLOWS];
	static time_t since[NUM_FLOWS], last;
	time_t now = time(NULL);

	if (now == last)
		return;
	last = now;
	for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++) {
		if (f->completed != seen[f->id] || f->completed == f->posted || !since[f->id])
			since[f->id] = now;
		seen[f->id] = f->completed;
		REQUIRE(now - since[f->id] <= PATIENCE_S, f, f->completed,
			"nothing has completed for %d s: %llu posted, %llu completed", PATIENCE_S,
			(unsigned long long)f->posted, (unsigned long long)f->completed);
	}
}

static void collect(void)
{
	unsigned int n = poll_all();

	if (!n)
		for (int end = 0; end < 2; end++) {
			recvq_flush(s.shared[end]);
			recvq_flush(s.xrc[end]);
		}
	for (struct flow *f = s.flow; !n && f < s.flow + NUM_FLOWS; f++)
		if (!f->rq->srq)
			recvq_flush(f->rq);
	watch_out();
}

static void post_some(struct flow *f, unsigned int max)
{
	static struct request q[BATCH];
	unsigned int want = 1 + below(f, BATCH), n = 0;

	/* unreliable flows are never held back by a peer, so limit them to half of all requests */
	if (!reliable(f) && !s.settling && s.unreliable * 2 > s.posted)
		return;
	while (n < want && n < max && plan_next(f, &q[n]))
		n++;
	if (n)
		post_batch(f, q, n);
	s.posted += n;
	s.unreliable += reliable(f) ? 0 : n;
}

/* Prints a line for each tenth, for a test that watches the processes. */
static void report_progress(void)
{
	static unsigned int tenths;

	if (s.completed * 10 / s.wanted <= tenths)
		return;
	tenths = (unsigned int)(s.completed * 10 / s.wanted);
	printf("progress %u\n", tenths);
	fflush(stdout);
}

static void run(void)
{
	uint64_t rand = s.seed;

	while (s.posted < s.wanted) {
		for (unsigned int i = 0; i < ROUND && s.posted < s.wanted; i++)
			post_some(&s.flow[draw(&rand) % NUM_FLOWS], BATCH);
		collect();
		report_progress();
	}
}

/* Posts a few more signaled requests, so that everything before them completes. */
static void settle(bool these)
{
	uint64_t until[NUM_FLOWS];
	bool more = true;

	s.settling = true;
	for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++)
		until[f->id] = f->posted + SETTLE;
	while (more) {
		more = false;
		for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++) {
			if (reliable(f) != these)
				continue;
			if (f->posted < until[f->id])
				post_some(f, (unsigned int)(until[f->id] - f->posted));
			more |= f->posted < until[f->id] || f->completed < f->posted ||
				f->rx_seen < f->rx_posted;
		}
		collect();
	}
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- Final checks ---- */

static void report(double seconds)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
		[IBV_WR_SEND] = "SEND",
		[IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
		[IBV_WR_RDMA_READ] = "RDMA_READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
		[IBV_WR_LOCAL_INV] = "LOCAL_INV",
		[IBV_WR_BIND_MW] = "BIND_MW",
		[IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
		[IBV_WR_TSO] = "TSO",
		[IBV_WR_FLUSH] = "FLUSH",
		[IBV_WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i])
			printf("%-21s %llu\n", names[i], (unsigned long long)s.ops[i]);
	printf("regions aborted       %u\n", s.aborts);
	for (enum kind kind = UC; kind < KINDS; kind++) {
		uint64_t sent = 0, came = 0, twice = 0;

		for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++)
			if (f->kind == kind) {
				sent += f->sent;
				came += f->came;
				twice += f->twice;
			}
		if (sent)
			printf("messages on %s: %llu sent, %llu came, %llu twice\n", kind_name[kind],
			       (unsigned long long)sent, (unsigned long long)came, (unsigned long long)twice);
	}
	printf("%llu work requests in %.1f s\n", (unsigned long long)s.completed, seconds);
}

/* Checks that every flow posted requests, and that more than 80 % of the unreliable messages arrived. */
static void check_totals(void)
{
	uint64_t sent = 0, came = 0;

	for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++) {
		sent += f->sent;
		came += f->came;
		REQUIRE(f->posted > SETTLE, f, 0, "the flow had nothing to do");
	}
	REQUIRE(came * 10 > sent * 8, NULL, 0, "%llu of %llu messages came", (unsigned long long)came,
		(unsigned long long)sent);
}

int main(int argc, char **argv)
{
	struct timespec start, end;
	unsigned int files;

	if (argc < 3 || argc > 4 || !(s.wanted = strtoull(argv[1], NULL, 10))) {
		fprintf(stderr, "usage: %s COUNT SEED [LOG]\n", argv[0]);
		return 2;
	}
	s.seed = strtoull(argv[2], NULL, 10);
	link_open(&s.l, 4096); /* the first use opens descriptors that stay open */
	link_close(&s.l);
	files = open_files();
	s.log = argc == 4 ? fopen(argv[3], "w") : NULL;
	if (argc == 4 && !s.log)
		die(argv[3]);
	soak_open();
	clock_gettime(CLOCK_MONOTONIC, &start);
	run();
	settle(false);
	settle(true);
	clock_gettime(CLOCK_MONOTONIC, &end);
	report((double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9);
	check_targets();
	check_totals();
	if (s.log)
		fclose(s.log);
	soak_close();
	REQUIRE(open_files() == files, NULL, 0, "%u files were open before, now %u", files, open_files());
	return 0;
}
