// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-mistakes NAME...: programs that use verbs wrongly, each in one way, of those that people ask about most.
 * mistakes.yaml lists the names, what each does wrong, and what `hcasim explain` must say of it. The wrong call is in the
 * function of that name. Each program is a process; the next one starts when it has ended, or waits for ever.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "mistakes.h"

struct link l;
struct pair p;
struct ibv_qp_cap cap = {16, 4, 1, 1, 0};
static int progress = -1; /* closed when the next program may start */

/* ---- The pair ---- */

void create_pair(void)
{
	p.l = &l;
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_init_attr init = {.cap = cap, .qp_type = IBV_QPT_RC};

		if (!p.cq[end])
			p.cq[end] = link_create_cq(&l, end, 64);
		init.send_cq = init.recv_cq = p.cq[end];
		p.qp[end] = ibv_create_qp(l.pd[end], &init);
		CHECK(p.qp[end]);
		say_value(end ? "qp1" : "qp0", p.qp[end]->qp_num);
	}
}

struct ibv_qp_attr attr_of(int end)
{
	struct ibv_qp_attr attr = link_attr(&l, end, p.qp[!end]->qp_num);

	attr.path_mtu = IBV_MTU_1024;
	attr.timeout = 8;
	attr.retry_cnt = 2;
	attr.rnr_retry = 2;
	attr.min_rnr_timer = 1;
	return attr;
}

void move(int end, const struct ibv_qp_attr *attr, enum ibv_qp_state to)
{
	link_modify(p.qp[end], attr, to);
}

void connect_pair(void)
{
	create_pair();
	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = attr_of(end);

		move(end, &attr, IBV_QPS_RTS);
	}
}

struct ibv_qp *open_ud(int end)
{
	struct ibv_cq *cq = link_create_cq(&l, end, 16);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .cap = cap, .qp_type = IBV_QPT_UD};
	const struct ibv_qp_attr attr = {.port_num = 1, .qkey = QKEY};
	struct ibv_qp *qp = ibv_create_qp(l.pd[end], &init);

	CHECK(qp);
	link_modify(qp, &attr, IBV_QPS_RTS);
	say_value(end ? "qp1" : "qp0", qp->qp_num);
	return qp;
}

struct ibv_ah *open_path(int end)
{
	struct ibv_ah_attr path = link_path(&l, end);
	struct ibv_ah *ah = ibv_create_ah(l.pd[end], &path);

	CHECK(ah);
	return ah;
}

/* ---- Requests ---- */

struct ibv_send_wr request(enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)l.buf[1];
		wr.wr.atomic.rkey = l.mr[1]->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)l.buf[1];
		wr.wr.rdma.rkey = l.mr[1]->rkey;
	}
	return wr;
}

struct ibv_recv_wr receive(struct ibv_sge *sge, uint64_t wr_id)
{
	return (struct ibv_recv_wr){.wr_id = wr_id, .sg_list = sge, .num_sge = 1};
}

void post_receive(int end, uint64_t wr_id)
{
	struct ibv_sge sge = link_sge(&l, end, MESSAGE);
	struct ibv_recv_wr wr = receive(&sge, wr_id), *bad;

	CHECK(!(errno = ibv_post_recv(p.qp[end], &wr, &bad)));
}

/* ---- What the program says ---- */

void say_error(const char *verb, int error)
{
	if (error)
		printf("%s: %s\n", verb, strerror(error));
}

void say_completion(struct ibv_cq *cq)
{
	const struct ibv_wc wc = link_wait(cq);

	printf("completion of WR %llu: %s\n", (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

void say_event(int end)
{
	printf("event: %s\n", ibv_event_type_str(link_event(l.ctx[end]).event_type));
}

void say_value(const char *name, uint64_t value)
{
	printf("%s = %llu\n", name, (unsigned long long)value);
}

void say_waiting(void)
{
	printf("waiting\n");
	fflush(stdout);
	close(progress);
}

/* ---- The programs ---- */

static void (*find(const char *name))(void)
{
	static const struct mistake *const tables[] = {memory_mistakes,  queue_mistakes, connection_mistakes,
						       waiting_mistakes, event_mistakes, refused_mistakes};

	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct mistake *m = tables[i]; m->name; m++)
			if (!strcmp(m->name, name))
				return m->make;
	fprintf(stderr, "%s: no such mistake (names are in mistakes.yaml)\n", name);
	exit(2);
}

/* In a process of its own. Returns when that has ended, or waits for ever. */
static void start(const char *name, void (*make)(void))
{
	int ends[2];
	pid_t pid;

	CHECK(!pipe(ends));
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(ends[0]);
		progress = ends[1];
		printf("-- %s, process %d\n", name, (int)getpid());
		link_open(&l, SIZE);
		make();
		exit(0);
	}
	close(ends[1]);
	CHECK(read(ends[0], &(char){0}, 1) == 0);
	close(ends[0]);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s NAME...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++)
		start(argv[i], find(argv[i]));
	printf("all started\n");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
