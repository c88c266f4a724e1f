// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * `hcasim-refused`: requests that succeed and requests that fail, each kind a known number of times, on two adapters of any
 * family; test_refused.py compares the counters in sysfs. `hcasim-refused lossy`: transfers of many packets on a wire with
 * faults, until all have succeeded.
 */
#include "link.h"

#define LOSSY    300u
#define BYTES    20000u
#define SIZE     65536u
#define UD_EXTRA 40u /* octets in front of a datagram */

static struct link l;
static struct ibv_mr *target; /* memory of end 1, with all rights */

static void expect(struct ibv_cq *cq, enum ibv_wc_status status)
{
	const struct ibv_wc wc = link_wait(cq);

	if (wc.status == status)
		return;
	fprintf(stderr, "%s instead of %s\n", ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	exit(1);
}

/* ---- Reliable connections, a new one for each request: a failed one ends in ERROR ---- */

static void open_rc(struct pair *p, unsigned int access, uint8_t timeout, uint8_t retry_cnt)
{
	pair_create(p, &l);
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_attr attr = link_attr(&l, end, p->qp[!end]->qp_num);

		attr.qp_access_flags = access;
		attr.path_mtu = IBV_MTU_1024;
		attr.timeout = timeout;
		attr.retry_cnt = retry_cnt;
		attr.rnr_retry = 3;
		attr.min_rnr_timer = 1;
		link_modify(p->qp[end], &attr, IBV_QPS_RTS);
	}
}

#define ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static void receive(struct ibv_qp *qp, uint32_t len)
{
	link_post_recv(qp, link_sge(&l, 1, len));
}

/*
 * The request of 8 bytes fails, and one after it is flushed; not after an RNR NAK, which would be dropped as out of sequence.
 * `receives`: of 4 bytes, so the first one fails too.
 */
static void fails(unsigned int access, enum ibv_wr_opcode op, uint64_t offset, uint32_t key,
		  unsigned int receives, enum ibv_wc_status status)
{
	struct pair p;

	open_rc(&p, access, 18, 7);
	for (unsigned int i = 0; i < receives; i++)
		receive(p.qp[1], 4);
	pair_post(&p, 0, op, 8, offset, target->rkey + key);
	if (status != IBV_WC_RNR_RETRY_EXC_ERR)
		pair_post(&p, 0, IBV_WR_RDMA_WRITE, 8, 0, target->rkey);
	expect(p.cq[0], status);
	if (status != IBV_WC_RNR_RETRY_EXC_ERR)
		expect(p.cq[0], IBV_WC_WR_FLUSH_ERR);
	for (unsigned int i = 0; i < receives; i++)
		expect(p.cq[1], i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_LEN_ERR);
	pair_close(&p);
}

static void unreachable(void)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct pair p;

	open_rc(&p, ALL, 10, 2);
	CHECK(!(errno = ibv_modify_qp(p.qp[1], &reset, IBV_QP_STATE)));
	pair_post(&p, 0, IBV_WR_RDMA_WRITE, 8, 0, target->rkey);
	expect(p.cq[0], IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

static void succeed(void)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct pair p;

	open_rc(&p, ALL, 18, 7);
	receive(p.qp[1], 3000);
	for (unsigned int i = 0; i < 4; i++) {
		pair_post(&p, 0, ops[i], i < 3 ? 3000 : 8, 0, target->rkey);
		expect(p.cq[0], IBV_WC_SUCCESS);
	}
	expect(p.cq[1], IBV_WC_SUCCESS);
	pair_close(&p);
}

/* ---- Datagrams ---- */

static struct ibv_qp *open_ud(int end, struct ibv_cq *cq)
{
	return link_create_single(&l, end, IBV_QPT_UD, cq, (struct ibv_qp_cap){8, 8, 1, 1, 0}, IBV_QPS_RTS);
}

static void datagram(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_sge sge = link_sge(&l, 0, 16);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .wr.ud = {ah, qpn, qkey}};

	link_post(qp, &wr);
	expect(qp->send_cq, IBV_WC_SUCCESS);
}

/* Returns when end 1 has processed all that was sent before: packets stay in order on the wire. */
static void processed(struct ibv_qp *from, struct ibv_ah *ah, struct ibv_qp *barrier)
{
	receive(barrier, 16 + UD_EXTRA);
	datagram(from, ah, barrier->qp_num, LINK_QKEY);
	expect(barrier->recv_cq, IBV_WC_SUCCESS);
}

/* No receive, a wrong Q_Key, no room for the GRH, no QP; then one that arrives, and one to a group. */
static void datagrams(void)
{
	static const union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_cq *cq[2] = {link_create_cq(&l, 0, 16), link_create_cq(&l, 1, 16)};
	struct ibv_qp *qp[2] = {open_ud(0, cq[0]), open_ud(1, cq[1])};
	struct ibv_qp *barrier = open_ud(1, link_create_cq(&l, 1, 16));
	struct ibv_ah_attr path = link_path(&l, 0);
	struct ibv_ah *ah = ibv_create_ah(l.pd[0], &path), *to_group;

	path.grh.dgid = group;
	to_group = ibv_create_ah(l.pd[0], &path);
	CHECK(ah && to_group && !(errno = ibv_attach_mcast(qp[1], &group, 0)));
	datagram(qp[0], ah, qp[1]->qp_num, LINK_QKEY);
	processed(qp[0], ah, barrier);
	receive(qp[1], 16 + UD_EXTRA - 1);
	datagram(qp[0], ah, qp[1]->qp_num, LINK_QKEY + 1);
	datagram(qp[0], ah, qp[1]->qp_num, LINK_QKEY);
	processed(qp[0], ah, barrier);
	CHECK(!ibv_poll_cq(cq[1], 1, &(struct ibv_wc){}));
	CHECK(!(errno = ibv_detach_mcast(qp[1], &group, 0)));
	CHECK(!ibv_destroy_qp(qp[1]));
	qp[1] = open_ud(1, cq[1]); /* without the short receive */
	CHECK(!(errno = ibv_attach_mcast(qp[1], &group, 0)));
	receive(qp[1], 16 + UD_EXTRA);
	receive(qp[1], 16 + UD_EXTRA);
	datagram(qp[0], ah, 0xabcdef, LINK_QKEY);
	datagram(qp[0], ah, qp[1]->qp_num, LINK_QKEY);
	datagram(qp[0], to_group, 0xffffff, LINK_QKEY);
	for (int i = 0; i < 2; i++)
		expect(cq[1], IBV_WC_SUCCESS);
	CHECK(!(errno = ibv_detach_mcast(qp[1], &group, 0)));
}

/* ---- The port ---- */

static void set_link(const char *name, const char *state)
{
	char command[64];
	struct ibv_async_event event;

	snprintf(command, sizeof(command), "ip link set dev %s %s", name, state);
	CHECK(!system(command));
	CHECK(!ibv_get_async_event(l.ctx[0], &event));
	ibv_ack_async_event(&event);
}

/* Two packets that do not leave, as the port of end 0 is down. */
static void link_down(void)
{
	char path[256], name[32] = "";
	struct pair p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/ports/1/gid_attrs/ndevs/0", l.ctx[0]->device->ibdev_path);
	f = fopen(path, "r");
	CHECK(f && fscanf(f, "%31s", name) == 1);
	fclose(f);
	open_rc(&p, ALL, 8, 1);
	set_link(name, "down");
	pair_post(&p, 0, IBV_WR_RDMA_WRITE, 8, 0, target->rkey);
	expect(p.cq[0], IBV_WC_RETRY_EXC_ERR);
	set_link(name, "up");
	pair_close(&p);
}

static void violations(void)
{
	struct ibv_port_attr attr;

	for (int end = 0; end < 2; end++) {
		CHECK(!(errno = ibv_query_port(l.ctx[end], 1, &attr)));
		printf("end %d: bad_pkey_cntr %u qkey_viol_cntr %u\n", end, attr.bad_pkey_cntr,
		       attr.qkey_viol_cntr);
	}
}

/* ---- Faults of the wire ---- */

static void lossy(void)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
	unsigned int done = 0;
	struct pair p;

	open_rc(&p, ALL, 8, 7);
	for (unsigned int i = 0; i < LOSSY; i++) {
		pair_post(&p, 0, ops[i & 1], BYTES, 0, target->rkey);
		if (i % 4 != 3)
			continue;
		while (done <= i) {
			expect(p.cq[0], IBV_WC_SUCCESS);
			done++;
		}
	}
	pair_close(&p);
}

int main(int argc, char **argv)
{
	bool rxe;

	link_open(&l, SIZE);
	target = ibv_reg_mr(l.pd[1], l.buf[1], SIZE, ALL | IBV_ACCESS_LOCAL_WRITE);
	CHECK(target);
	rxe = !strncmp(ibv_get_device_name(l.ctx[0]->device), "rxe", 3);
	if (argc > 1 && !strcmp(argv[1], "lossy")) {
		lossy();
		return 0;
	}
	succeed();
	/* librxe refuses to post a misaligned atomic: there the QP does not permit them */
	for (int i = 0; i < 10; i++)
		fails(rxe ? IBV_ACCESS_REMOTE_WRITE : ALL, IBV_WR_ATOMIC_FETCH_AND_ADD, rxe ? 0 : 4, 0, 0,
		      IBV_WC_REM_INV_REQ_ERR);
	fails(0, IBV_WR_RDMA_WRITE, 0, 0, 0, IBV_WC_REM_INV_REQ_ERR);
	fails(ALL, IBV_WR_RDMA_WRITE, 0, 1, 0, IBV_WC_REM_ACCESS_ERR);
	fails(ALL, IBV_WR_RDMA_READ, SIZE - 4, 0, 0, IBV_WC_REM_ACCESS_ERR);
	fails(ALL, IBV_WR_SEND, 0, 0, 2, IBV_WC_REM_INV_REQ_ERR);
	fails(ALL, IBV_WR_SEND, 0, 0, 0, IBV_WC_RNR_RETRY_EXC_ERR);
	unreachable();
	datagrams();
	link_down();
	violations();
	return 0;
}
