// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* DEVX: registered memory, and the CQs and queue pairs in it, with commands of any content. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "mlx5_devx_world.h"
#include "suite.h"

#define BAD_PARAM HCASIM_MLX5_CMD_STATUS_BAD_PARAM_ERR
#define BAD_STATE HCASIM_MLX5_CMD_STATUS_BAD_RES_STATE_ERR
#define CQC(f, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_CQC_##f##_MASK, v))
#define QPC(f, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_QPC_##f##_MASK, v))
#define ADS(f, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_ADS_##f##_MASK, v))

#define LOG_CQ 4
#define LOG_SQ 5
#define LOG_RQ 6
#define RECORD (DEVX_BYTES - 64) /* offset of a doorbell record */
#define ECE    0x10000000        /* the only options there are */

/* ---- Registered memory ---- */

static void umem_fails(struct umem_call u, int error)
{
	const uint32_t before = mlx5_dev(&w.dev)->umems.used;

	CU_ASSERT_EQUAL(devx_reg_umem(&u), error);
	devx_free_umem(&u);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->umems.used, before);
}

static void test_umems(void)
{
	struct umem_call bad[8], ok = devx_memory(), rights = devx_memory();

	for (unsigned int i = 0; i < 8; i++)
		bad[i] = devx_memory();
	bad[0].length = 0;
	bad[1].addr = UINT64_MAX - 5;
	bad[2].length = UINT64_MAX;
	bad[3].access = IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	bad[4].access = IB_UVERBS_ACCESS_REMOTE_WRITE;
	bad[5].access |= 1ull << 40;
	bad[6].has_sizes = true;
	bad[6].sizes = 1ull << 21;
	for (unsigned int i = 0; i < 7; i++)
		umem_fails(bad[i], -EINVAL);
	bad[7].addr = DEVX_UNMAPPED - 1;
	umem_fails(bad[7], -EFAULT);
	ok.has_access = false;
	ok.has_sizes = true;
	ok.sizes = UINT64_MAX;
	CU_ASSERT_EQUAL(devx_reg_umem(&ok), 0);
	rights.access =
		IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ;
	CU_ASSERT_EQUAL(devx_reg_umem(&rights), 0);
	CU_ASSERT_TRUE(ok.id && rights.id && ok.id != rights.id);
	devx_free_umem(&ok);
	devx_free_umem(&rights);
	w.ctx.devx = false;
	umem_fails(devx_memory(), -EINVAL);
	w.ctx.devx = true;
}

/* ---- Completion queues ---- */

static struct {
	struct umem_call umem, foreign;
	struct common_pd pd;
	struct devx_call cq;
	uint32_t cqn;
} q;

static struct hcasim_mlx5_cqc cqc(void)
{
	return (struct hcasim_mlx5_cqc){
		.dbr_umem_id = htobe32(q.umem.id),
		.size_uar = CQC(LOG_CQ_SIZE, LOG_CQ) | CQC(UAR_PAGE, w.ctx.page[0]),
		.moderation = CQC(PERIOD, 16) | CQC(MAX_COUNT, 3),
		.eqn = CQC(C_EQN, common_dev(&w.dev)->eq[2].eqn),
		.dbr_addr = htobe64(RECORD),
	};
}

static struct hcasim_mlx5_cmd_create_cq create_cq(const struct hcasim_mlx5_cqc *c)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_CQ, 0);
	struct hcasim_mlx5_cmd_create_cq req = {.umem_id = htobe32(q.umem.id)};

	memcpy(&req, &head, sizeof(req.head));
	memcpy(req.cqc, c, sizeof(*c));
	return req;
}

static void free_call(struct devx_call *c)
{
	CU_ASSERT_EQUAL(mlx5_devx_destroy(c->object), 0);
	free(c->object);
	c->object = NULL;
}

static void cq_fails(const struct hcasim_mlx5_cqc *c, size_t len, uint8_t status)
{
	const struct hcasim_mlx5_cmd_create_cq req = create_cq(c);

	devx_fails(mlx5_devx_create, &req, len, 16, status);
}

static void test_cq(void)
{
	struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_QUERY_CQ, 0);
	struct hcasim_mlx5_cmd_create_cq modify = {0};
	struct hcasim_mlx5_cmd_query_cq_out out;
	struct hcasim_mlx5_cqc c = cqc(), got;

	q.cq.type = MLX5_IB_OBJECT_DEVX_OBJ;
	head.number = htobe32(q.cqn);
	CU_ASSERT_EQUAL(devx_run(&q.cq, mlx5_devx_query, &head, sizeof(head), sizeof(out)), 0);
	memcpy(&out, q.cq.out, sizeof(out));
	memcpy(&got, out.cqc, sizeof(got));
	CU_ASSERT_EQUAL(memcmp(&c, &got, sizeof(c)), 0); /* nothing has completed */
	head = devx_command(HCASIM_MLX5_CMD_MODIFY_CQ, 0);
	head.number = htobe32(q.cqn);
	memcpy(&modify, &head, sizeof(head));
	modify.select = htobe32(HCASIM_MLX5_CMD_CREATE_CQ_SELECT_MAX_COUNT_MASK);
	c.moderation = CQC(PERIOD, 99) | CQC(MAX_COUNT, 7);
	memcpy(modify.cqc, &c, sizeof(c));
	CU_ASSERT_EQUAL(devx_run(&q.cq, mlx5_devx_modify, &modify, sizeof(modify), 16), 0);
	memcpy(&got, ((struct mlx5_devx_obj *)q.cq.object)->context, sizeof(got));
	CU_ASSERT_EQUAL(got.moderation, CQC(PERIOD, 16) | CQC(MAX_COUNT, 7));
	modify.select = htobe32(4); /* the overrun bit */
	CU_ASSERT_EQUAL(devx_run(&q.cq, mlx5_devx_modify, &modify, sizeof(modify), 16), -EREMOTEIO);
	CU_ASSERT_EQUAL(devx_answer(&q.cq).status, BAD_PARAM);
	CU_ASSERT_EQUAL(devx_run(&q.cq, mlx5_devx_query, &modify, sizeof(modify), 272), -EINVAL);
}

static void test_cq_of_one_entry(void)
{
	struct devx_call call = {.object = NULL};
	struct hcasim_mlx5_cmd_create_cq req;
	struct hcasim_mlx5_cqc c = cqc();

	c.size_uar = CQC(LOG_CQ_SIZE, 0) | CQC(UAR_PAGE, w.ctx.page[0]);
	req = create_cq(&c);
	CU_ASSERT_EQUAL_FATAL(devx_run(&call, mlx5_devx_create, &req, sizeof(req), 16), 0);
	CU_ASSERT_EQUAL(((struct mlx5_devx_obj *)call.object)->cq.base.cqe, 0);
	free_call(&call);
}

/* Other entries, values of the future, places that are not in the memory, and memory of others. */
static void test_refused_cqs(void)
{
	struct hcasim_mlx5_cqc bad[18], c = cqc();
	struct hcasim_mlx5_cmd_create_cq req = create_cq(&c);
	unsigned int i = 0;

	for (i = 0; i < 18; i++)
		bad[i] = c;
	i = 0;
	bad[i++].flags |= CQC(CQE_SZ, 3);
	bad[i++].flags |= CQC(COLLAPSED, 1);
	bad[i++].flags |= CQC(OVERRUN_IGNORE, 1);
	bad[i++].flags |= CQC(PERIOD_MODE, 1);
	bad[i++].page |= CQC(PAGE_OFFSET, 1);
	bad[i++].size_uar |= CQC(LOG_CQ_SIZE, 31);
	bad[i++].size_uar |= CQC(LOG_CQ_SIZE, 11); /* 32768 entries: more than the memory has */
	bad[i++].size_uar = CQC(LOG_CQ_SIZE, LOG_CQ) | CQC(UAR_PAGE, w.ctx.page[0] + 1000);
	bad[i++].size_uar = CQC(LOG_CQ_SIZE, LOG_CQ) | CQC(UAR_PAGE, w.ctx.page[0] + 0x10000);
	bad[i++].size_uar = CQC(LOG_CQ_SIZE, LOG_CQ);
	bad[i++].eqn = CQC(C_EQN, common_dev(&w.dev)->eq[0].eqn); /* the driver's own */
	bad[i++].eqn = CQC(C_EQN, 200);
	bad[i++].dbr_umem_id = 0;
	bad[i++].dbr_umem_id = htobe32(UINT32_MAX);
	bad[i++].dbr_umem_id = htobe32(q.foreign.id);
	bad[i++].dbr_addr = htobe64(DEVX_BYTES - 4);
	bad[i++].dbr_addr = htobe64(RECORD + 4);
	bad[i++].dbr_addr = htobe64(UINT64_MAX);
	for (i = 0; i < 18; i++)
		cq_fails(&bad[i], sizeof(req), BAD_PARAM);
	cq_fails(&c, sizeof(req) - 1, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	req.umem_offset = htobe64(DEVX_BYTES);
	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, BAD_PARAM);
	req.umem_offset = htobe64(32);
	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, BAD_PARAM);
}

/* ---- Queue pairs ---- */

static struct hcasim_mlx5_qpc qpc(uint8_t st)
{
	return (struct hcasim_mlx5_qpc){
		.dw0 = QPC(ST, st) | QPC(PM_STATE, 3),
		.dw1 = QPC(PD, q.pd.pdn),
		.dw2 = QPC(LOG_RQ_SIZE, LOG_RQ) | QPC(LOG_RQ_STRIDE, 2) | QPC(LOG_SQ_SIZE, LOG_SQ) |
		       QPC(TS_FORMAT, HCASIM_MLX5_TS_FORMAT_DEFAULT),
		.dw3 = QPC(UAR_PAGE, w.ctx.page[1]),
		.dw4 = QPC(USER_INDEX, 0x123456),
		.send_cq = QPC(CQN_SND, q.cqn),
		.recv_cq = QPC(CQN_RCV, q.cqn),
		.dbr_addr = htobe64(RECORD),
		.dbr_umem_id = htobe32(q.umem.id),
	};
}

static struct hcasim_mlx5_cmd_create_qp create_qp(const struct hcasim_mlx5_qpc *c)
{
	const struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_CREATE_QP, 0);
	struct hcasim_mlx5_cmd_create_qp req = {.umem_id = htobe32(q.umem.id), .ece = htobe32(0x30000002)};

	memcpy(&req, &head, sizeof(head));
	memcpy(req.qpc, c, sizeof(*c));
	return req;
}

static void new_qp(struct devx_call *c, uint8_t st)
{
	const struct hcasim_mlx5_qpc context = qpc(st);
	const struct hcasim_mlx5_cmd_create_qp req = create_qp(&context);

	*c = (struct devx_call){.type = MLX5_IB_OBJECT_DEVX_OBJ};
	CU_ASSERT_EQUAL_FATAL(devx_run(c, mlx5_devx_create, &req, sizeof(req), 16), 0);
	CU_ASSERT_EQUAL(devx_answer(c).ece, htobe32(ECE));
	CU_ASSERT_EQUAL(c->held, 5); /* a PD, a CQ twice, rings, record */
}

static uint32_t number_of(const struct devx_call *c)
{
	return ((const struct mlx5_devx_obj *)c->object)->number;
}

static int modify(struct devx_call *c, uint16_t opcode, const struct hcasim_mlx5_qpc *context, uint32_t opt)
{
	struct hcasim_mlx5_cmd_in head = devx_command(opcode, 0);
	struct hcasim_mlx5_cmd_modify_qp req = {.opt_param_mask = htobe32(opt), .ece = htobe32(ECE)};

	head.number = htobe32(number_of(c));
	memcpy(&req, &head, sizeof(head));
	memcpy(req.qpc, context, sizeof(*context));
	return devx_run(c, mlx5_devx_modify, &req, sizeof(req), 16);
}

static void modify_fails(struct devx_call *c, uint16_t opcode, const struct hcasim_mlx5_qpc *context,
			 uint32_t opt, uint8_t status)
{
	CU_ASSERT_EQUAL(modify(c, opcode, context, opt), -EREMOTEIO);
	CU_ASSERT_EQUAL(devx_answer(c).status, status);
}

static struct hcasim_mlx5_qpc connected(void)
{
	struct hcasim_mlx5_qpc c = {
		.dw2 = QPC(MTU, 3),
		.dw5 = QPC(REMOTE_QPN, 0x77),
		.dw28 = QPC(LOG_SRA_MAX, 4) | QPC(RETRY_COUNT, 5) | QPC(RNR_RETRY, 6),
		.send_psn = QPC(NEXT_SEND_PSN, 0xabcdef),
		.dw36 = QPC(LOG_RRA_MAX, 3) | QPC(RRE, 1) | QPC(RWE, 1),
		.dw37 = QPC(MIN_RNR_NAK, 12) | QPC(NEXT_RCV_PSN, 0x123),
		.q_key = htobe32(0x11111),
	};
	const struct hcasim_mlx5_ads path = {
		.timeout = ADS(ACK_TIMEOUT, 14) | ADS(SRC_ADDR_INDEX, 1) | ADS(HOP_LIMIT, 64),
		.flow = ADS(FLOW_LABEL, 0x54321),
		.rgid = {1, 2, 3},
		.dscp_sport = ADS(DSCP, 0x22) | ADS(UDP_SPORT, 0xdcba),
		.port = ADS(VHCA_PORT_NUM, 1) | ADS(ETH_PRIO, 5) | ADS(RMAC_HIGH, 0x0203),
		.rmac_low = htobe32(0x04050607),
	};

	memcpy(c.path, &path, sizeof(path));
	return c;
}

static void check_attr(uint32_t qpn, uint8_t state)
{
	static const uint8_t mac[] = {2, 3, 4, 5, 6, 7};
	struct hca_qp_attr a;

	CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, qpn, &a), 0);
	CU_ASSERT_EQUAL(a.state, state);
	CU_ASSERT_TRUE(a.path_mtu == 3 && a.dest_qpn == 0x77 && a.port == 1 && a.rq_psn == 0x123);
	CU_ASSERT_TRUE(a.max_dest_rd_atomic == 8 && a.min_rnr_timer == 12 && a.max_rd_atomic == 16);
	CU_ASSERT_TRUE(a.timeout == 14 && a.retry_cnt == 5 && a.rnr_retry == 6 && a.sq_psn == 0xabcdef);
	CU_ASSERT_TRUE(a.av.sgid_index == 1 && a.av.hop_limit == 64 && a.av.flow_label == 0x54321);
	CU_ASSERT_TRUE(a.av.traffic_class == 0x88 && a.av.sl == 5 && !memcmp(a.av.dmac, mac, sizeof(mac)));
	CU_ASSERT_EQUAL(a.access, IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_WRITE);
	CU_ASSERT_TRUE(a.max_send_wr == 1 << LOG_SQ && a.max_recv_wr == 1 << LOG_RQ && a.max_recv_sge == 4);
}

static void query_qp(struct devx_call *c, struct hcasim_mlx5_qpc *context)
{
	struct hcasim_mlx5_cmd_in head = devx_command(HCASIM_MLX5_CMD_QUERY_QP, 0);
	struct hcasim_mlx5_cmd_query_qp_out out;

	head.number = htobe32(number_of(c));
	CU_ASSERT_EQUAL(devx_run(c, mlx5_devx_query, &head, sizeof(head), sizeof(out)), 0);
	memcpy(&out, c->out, sizeof(out));
	memcpy(context, out.qpc, sizeof(*context));
	CU_ASSERT_EQUAL(out.ece, htobe32(ECE));
}

/* From RESET to RTS and back; each command only in its state. */
static void test_rc(void)
{
	const struct hcasim_mlx5_qpc c = connected();
	struct hcasim_mlx5_qpc got;
	struct devx_call qp;

	new_qp(&qp, HCASIM_MLX5_QP_ST_RC);
	modify_fails(&qp, HCASIM_MLX5_CMD_INIT2RTR_QP, &c, 0, BAD_STATE);
	modify_fails(&qp, HCASIM_MLX5_CMD_TO_ERR_QP, &c, 0, BAD_STATE);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &c, 0), 0);
	modify_fails(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &c, 0, BAD_STATE);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_INIT2INIT_QP, &c, 0), 0);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_INIT2RTR_QP, &c, 0), 0);
	CU_ASSERT_EQUAL(devx_answer(&qp).ece, htobe32(ECE));
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RTR2RTS_QP, &c, 0), 0);
	check_attr(number_of(&qp), HCASIM_QPS_RTS);
	query_qp(&qp, &got);
	CU_ASSERT_EQUAL(got.dw0 & QPC(STATE, 15), QPC(STATE, HCASIM_MLX5_QP_STATE_RTS));
	CU_ASSERT_EQUAL(got.dw2 & QPC(LOG_RQ_SIZE, 15), QPC(LOG_RQ_SIZE, LOG_RQ));
	CU_ASSERT_TRUE(got.dw28 == c.dw28 && got.send_psn == c.send_psn && got.dw37 == c.dw37);
	CU_ASSERT_EQUAL(got.dw36, c.dw36);
	modify_fails(&qp, HCASIM_MLX5_CMD_SQERR2RTS_QP, &c, 0, BAD_STATE);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_TO_ERR_QP, &c, 0), 0);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_TO_RST_QP, &c, 0), 0);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &c, 0), 0);
	CU_ASSERT_EQUAL(mlx5_devx_destroy(q.cq.object), -EBUSY);
	free_call(&qp);
}

static void test_uc_ud(void)
{
	const uint8_t types[] = {HCASIM_MLX5_QP_ST_UC, HCASIM_MLX5_QP_ST_UD};
	const struct hcasim_mlx5_qpc c = connected();
	struct hca_qp_attr attr;
	struct devx_call qp;

	for (unsigned int i = 0; i < 2; i++) {
		new_qp(&qp, types[i]);
		CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &c, 0), 0);
		CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_INIT2RTR_QP, &c, 0), 0);
		CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RTR2RTS_QP, &c, 0), 0);
		CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, number_of(&qp), &attr), 0);
		CU_ASSERT_TRUE(attr.state == HCASIM_QPS_RTS && attr.sq_psn == 0xabcdef);
		CU_ASSERT_EQUAL(attr.qkey, types[i] == HCASIM_MLX5_QP_ST_UD ? 0x11111 : 0);
		CU_ASSERT_EQUAL(attr.dest_qpn, types[i] == HCASIM_MLX5_QP_ST_UC ? 0x77 : 0);
		modify_fails(&qp, HCASIM_MLX5_CMD_RTS2RTS_QP, &c, HCASIM_MLX5_CMD_MODIFY_QP_OPT_RAE_MASK,
			     BAD_PARAM);
		free_call(&qp);
	}
}

static void test_optional(void)
{
	struct hcasim_mlx5_qpc c = connected();
	struct hca_qp_attr attr;
	struct devx_call qp;

	new_qp(&qp, HCASIM_MLX5_QP_ST_RC);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &c, 0), 0);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_INIT2RTR_QP, &c, 0), 0);
	c.dw36 = QPC(RAE, 1);
	c.dw37 = QPC(MIN_RNR_NAK, 31);
	CU_ASSERT_EQUAL(
		modify(&qp, HCASIM_MLX5_CMD_RTR2RTS_QP, &c,
		       HCASIM_MLX5_CMD_MODIFY_QP_OPT_RAE_MASK | HCASIM_MLX5_CMD_MODIFY_QP_OPT_RRE_MASK),
		0);
	CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, number_of(&qp), &attr), 0);
	CU_ASSERT_EQUAL(attr.access, IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_REMOTE_WRITE);
	CU_ASSERT_EQUAL(attr.min_rnr_timer, 12);
	CU_ASSERT_EQUAL(
		modify(&qp, HCASIM_MLX5_CMD_RTS2RTS_QP, &c, HCASIM_MLX5_CMD_MODIFY_QP_OPT_RNR_TIMEOUT_MASK),
		0);
	CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, number_of(&qp), &attr), 0);
	CU_ASSERT_EQUAL(attr.min_rnr_timer, 31);
	modify_fails(&qp, HCASIM_MLX5_CMD_RTS2RTS_QP, &c, 1, BAD_PARAM); /* an alternate path */
	free_call(&qp);
}

static void test_refused_values(void)
{
	const struct hcasim_mlx5_qpc ok = connected();
	struct hcasim_mlx5_qpc bad[6];
	struct hcasim_mlx5_ads path;
	struct devx_call qp;

	for (unsigned int i = 0; i < 6; i++)
		bad[i] = ok;
	memcpy(&path, ok.path, sizeof(path));
	path.port ^= ADS(VHCA_PORT_NUM, 1 ^ 2);
	memcpy(bad[0].path, &path, sizeof(path));
	path.port &= ~ADS(VHCA_PORT_NUM, 255);
	memcpy(bad[1].path, &path, sizeof(path));
	bad[2].dw2 = 0;
	bad[3].dw2 = QPC(MTU, 6);
	bad[4].dw36 |= QPC(LOG_RRA_MAX, 7);
	path.timeout |= ADS(SRC_ADDR_INDEX, 16);
	memcpy(bad[5].path, &path, sizeof(path));
	new_qp(&qp, HCASIM_MLX5_QP_ST_RC);
	modify_fails(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &bad[0], 0, BAD_PARAM);
	modify_fails(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &bad[1], 0, BAD_PARAM);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_RST2INIT_QP, &ok, 0), 0);
	for (unsigned int i = 2; i < 6; i++)
		modify_fails(&qp, HCASIM_MLX5_CMD_INIT2RTR_QP, &bad[i], 0, BAD_PARAM);
	CU_ASSERT_EQUAL(modify(&qp, HCASIM_MLX5_CMD_INIT2RTR_QP, &ok, 0), 0);
	bad[2] = ok;
	bad[2].dw28 |= QPC(LOG_SRA_MAX, 7);
	modify_fails(&qp, HCASIM_MLX5_CMD_RTR2RTS_QP, &bad[2], 0, BAD_PARAM);
	free_call(&qp);
}

static void test_refused_qps(void)
{
	struct hcasim_mlx5_qpc bad[25], c = qpc(HCASIM_MLX5_QP_ST_RC);
	struct hcasim_mlx5_cmd_create_qp req = create_qp(&c);
	unsigned int i;

	for (i = 0; i < 25; i++)
		bad[i] = c;
	i = 0;
	bad[i++].dw0 = QPC(ST, 3);
	bad[i++].dw0 = QPC(ST, 0xff);
	bad[i++].dw0 |= QPC(OFFLOAD_TYPE, 1);
	bad[i++].dw1 |= QPC(WQ_SIGNATURE, 1);
	bad[i++].dw1 = QPC(PD, q.pd.pdn + 1);
	bad[i++].dw2 |= QPC(RLKY, 1);
	bad[i++].dw2 |= QPC(ULP_STATELESS, 1);
	bad[i++].dw2 |= QPC(TS_FORMAT, 3);
	bad[i++].dw2 |= QPC(LOG_RQ_STRIDE, 7); /* more than a WQE may have */
	bad[i++].dw2 |= QPC(LOG_RQ_SIZE, 15);  /* more than the memory has */
	bad[i++].dw2 |= QPC(LOG_SQ_SIZE, 15);
	bad[i++].dw3 |= QPC(COUNTER_SET_ID, 1);
	bad[i++].dw3 = QPC(UAR_PAGE, 0);
	bad[i++].dw3 = QPC(UAR_PAGE, 0xffffff);
	bad[i++].dw4 |= QPC(SEND_DBR_MODE, 1);
	bad[i++].dw36 |= QPC(PAGE_OFFSET, 1);
	bad[i++].dw36 |= QPC(CROSS_CHANNEL, 4);
	bad[i++].send_cq = QPC(CQN_SND, q.cqn + 1);
	bad[i++].recv_cq = QPC(CQN_RCV, 0xffffff);
	bad[i++].dbr_addr = htobe64(DEVX_BYTES);
	bad[i++].dbr_umem_id = htobe32(q.foreign.id);
	bad[i++].rq = QPC(RQ_TYPE, 2);
	bad[i++].rq = QPC(RQ_TYPE, HCASIM_MLX5_RQ_TYPE_SRQ) | QPC(SRQN, 5);
	bad[i++].cs = QPC(CS_REQ, 3);
	bad[i++].cs = QPC(CS_RES, 2); /* CQEs of 64 bytes */
	for (i = 0; i < 25; i++) {
		req = create_qp(&bad[i]);
		devx_fails(mlx5_devx_create, &req, sizeof(req), 16, BAD_PARAM);
	}
	req = create_qp(&c);
	devx_fails(mlx5_devx_create, &req, sizeof(req) - 1, 16, HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR);
	req.umem_id = 0;
	devx_fails(mlx5_devx_create, &req, sizeof(req), 16, BAD_PARAM);
}

/* Without rings, as of a queue pair that only receives from an SRQ: no memory but that of its record. */
static void test_without_rings(void)
{
	struct hcasim_mlx5_qpc c = qpc(HCASIM_MLX5_QP_ST_RC);
	struct hcasim_mlx5_cmd_create_qp req;
	struct devx_call qp = {.type = MLX5_IB_OBJECT_DEVX_OBJ};

	c.dw0 |= QPC(OFFLOAD_TYPE, 1);
	c.dw2 = QPC(NO_SQ, 1);
	c.rq = QPC(RQ_TYPE, HCASIM_MLX5_RQ_TYPE_NONE);
	c.cs = QPC(CS_REQ, 0x11) | QPC(CS_RES, 1);
	req = create_qp(&c);
	req.umem_id = 0;
	CU_ASSERT_EQUAL(devx_run(&qp, mlx5_devx_create, &req, sizeof(req), 16), 0);
	CU_ASSERT_EQUAL(((struct mlx5_devx_obj *)qp.object)->qp.recv_inline, HCASIM_MLX5_CQE_PAYLOAD);
	free_call(&qp);
}

/* ---- Any content ---- */

static void random_command(struct devx_call *qp, uint16_t opcode, int (*handler)(struct drv_call *c))
{
	struct devx_call made = {.object = NULL}, *c = handler == mlx5_devx_create ? &made : qp;
	struct hcasim_mlx5_cmd_in head = devx_command(opcode, 0);
	const size_t len = sizeof(head) + (size_t)rand() % 400;
	uint8_t *bytes = malloc(len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = rand() % 3 ? 0 : (uint8_t)rand();
	head.number = htobe32(number_of(qp));
	memcpy(bytes, &head, sizeof(head));
	devx_run(c, handler, bytes, len, sizeof(head) + (size_t)rand() % 400);
	free(bytes);
	if (handler == mlx5_devx_create && made.object)
		free_call(&made);
}

static void test_random(void)
{
	const struct common_dev *n = common_dev(&w.dev);
	struct devx_call qp;

	new_qp(&qp, HCASIM_MLX5_QP_ST_RC);
	for (unsigned int i = 0; i < 20000; i++) {
		random_command(&qp, HCASIM_MLX5_CMD_CREATE_CQ, mlx5_devx_create);
		random_command(&qp, HCASIM_MLX5_CMD_CREATE_QP, mlx5_devx_create);
		random_command(&qp, HCASIM_MLX5_CMD_ALLOC_PD, mlx5_devx_create);
		random_command(&qp, (uint16_t)(HCASIM_MLX5_CMD_RST2INIT_QP + rand() % 13), mlx5_devx_modify);
		random_command(&qp, HCASIM_MLX5_CMD_QUERY_QP, mlx5_devx_query);
	}
	free_call(&qp);
	CU_ASSERT_EQUAL(n->pds.used, 1);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->umems.used, 2);
}

/* What the other tests use. */
static void test_setup(void)
{
	static struct mlx5_ucontext other;
	struct hcasim_mlx5_cmd_create_cq req;
	struct hcasim_mlx5_cqc c;

	srand(1);
	q.umem = q.foreign = devx_memory();
	q.umem.access = 0; /* as UCX registers it */
	CU_ASSERT_EQUAL_FATAL(devx_reg_umem(&q.umem) || devx_reg_umem(&q.foreign), 0);
	other = w.ctx;
	q.foreign.umem->ctx = &other;
	q.pd.base.ctx = &w.ctx.base;
	CU_ASSERT_EQUAL_FATAL(numbers_add(&common_dev(&w.dev)->pds, &q.pd, &q.pd.pdn), 0);
	c = cqc();
	req = create_cq(&c);
	CU_ASSERT_EQUAL_FATAL(devx_run(&q.cq, mlx5_devx_create, &req, sizeof(req), 16), 0);
	CU_ASSERT_EQUAL(q.cq.held, 2);
	q.cqn = number_of(&q.cq);
}

static void test_nothing_left(void)
{
	free_call(&q.cq);
	numbers_remove(&common_dev(&w.dev)->pds, q.pd.pdn);
	q.foreign.umem->ctx = &w.ctx;
	devx_free_umem(&q.umem);
	devx_free_umem(&q.foreign);
	CU_ASSERT_EQUAL(mlx5_dev(&w.dev)->umems.used, 0);
}

/* As UCX does: a queue pair of verbs is connected, stopped and reset by DEVX; ibv_query_qp() shows its state. */
static void test_verbs_qp(void)
{
	static const struct {
		uint16_t opcode;
		uint8_t to;
	} steps[] = {
		{HCASIM_MLX5_CMD_RST2INIT_QP, HCASIM_QPS_INIT}, {HCASIM_MLX5_CMD_INIT2RTR_QP, HCASIM_QPS_RTR},
		{HCASIM_MLX5_CMD_RTR2RTS_QP, HCASIM_QPS_RTS},   {HCASIM_MLX5_CMD_TO_ERR_QP, HCASIM_QPS_ERR},
		{HCASIM_MLX5_CMD_TO_RST_QP, HCASIM_QPS_RESET},
	};
	struct devx_call c = {.object = &w.qp, .type = UVERBS_OBJECT_QP};
	struct hcasim_mlx5_cmd_modify_qp req = {0};
	const struct hcasim_mlx5_ads path = {.port = htobe32(1u << 16)};
	struct hcasim_mlx5_qpc qpc = {.dw2 = htobe32(3u << 29)};
	struct hca_qp_attr a;

	memcpy(qpc.path, &path, sizeof(path));
	memcpy(req.qpc, &qpc, sizeof(qpc));
	devx_set_state(HCASIM_QPS_RESET);
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct hcasim_mlx5_cmd_in head = devx_command(steps[i].opcode, 0);

		head.number = htobe32(w.qp.qpn);
		memcpy(&req, &head, sizeof(head));
		CU_ASSERT_EQUAL(devx_run(&c, mlx5_devx_modify, &req, sizeof(req), 16), 0);
		CU_ASSERT_EQUAL(hca_qp_query(w.dev.hca, w.qp.qpn, &a), 0);
		CU_ASSERT_EQUAL(a.state, steps[i].to);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"set-up", test_setup},
					    {"registered memory", test_umems},
					    {"completion queue", test_cq},
					    {"refused completion queues", test_refused_cqs},
					    {"completion queue of one entry", test_cq_of_one_entry},
					    {"RC", test_rc},
					    {"UC and UD", test_uc_ud},
					    {"optional attributes", test_optional},
					    {"refused values", test_refused_values},
					    {"refused queue pairs", test_refused_qps},
					    {"without rings", test_without_rings},
					    {"random commands", test_random},
					    {"nothing is left", test_nothing_left},
					    {"queue pair of verbs", test_verbs_qp},
					    CU_TEST_INFO_NULL};

	return suite_run("mlx5 DEVX queues", devx_world_init, devx_world_exit, tests);
}
