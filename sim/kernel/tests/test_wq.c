// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues, indirection tables and QPs over them: what the commands refuse, and which objects keep others
 * in use.
 */
#include "harness.h"

#define EX(name) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##name)

struct table_cmd {
	struct ib_uverbs_ex_create_rwq_ind_table c;
	uint32_t wq[4096];
};

static const struct hcasim_create_qp_req rings = {.rq_wqe_count = 8, .rq_stride = 32};

static struct ib_uverbs_ex_create_wq wq_cmd(void)
{
	return (struct ib_uverbs_ex_create_wq){
		.user_handle = 0x70, .pd_handle = w.pd, .cq_handle = w.cq, .max_wr = 8, .max_sge = 1};
}

static int create_wq(const struct ib_uverbs_ex_create_wq *c, const struct hcasim_create_qp_req *req)
{
	struct ib_uverbs_ex_create_wq_resp resp = {0};
	struct hcasim_create_qp_resp uhw;
	int ret = do_write_ex(EX(CREATE_WQ), c, sizeof(*c), req, sizeof(*req), &resp, sizeof(resp), &uhw,
			      sizeof(uhw));

	w.wq = resp.wq_handle;
	return ret;
}

int make_wq(void)
{
	struct ib_uverbs_ex_create_wq c;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	c = wq_cmd();
	return create_wq(&c, &rings);
}

/* Creates a table with `wq` in every place. */
static int create_table(uint32_t log_size, size_t handles, uint32_t wq)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {0};
	static struct table_cmd t;
	int ret;

	t = (struct table_cmd){.c.log_ind_tbl_size = log_size};
	for (size_t i = 0; i < handles; i++)
		t.wq[i] = wq;
	ret = do_write_ex(EX(CREATE_RWQ_IND_TBL), &t, sizeof(t.c) + (handles + 1) / 2 * 8, NULL, 0, &resp,
			  sizeof(resp), NULL, 0);
	w.table = resp.ind_tbl_handle;
	return ret;
}

int make_table(void)
{
	return create_table(0, 1, w.wq);
}

void fill_create_wq(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	*(struct ib_uverbs_ex_create_wq *)req = wq_cmd();
	memcpy(uhw, &rings, sizeof(rings));
}

void fill_modify_wq(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_wq(), 0);
	*(struct ib_uverbs_ex_modify_wq *)req =
		(struct ib_uverbs_ex_modify_wq){.attr_mask = 1, .wq_handle = w.wq, .wq_state = 1};
}

void fill_destroy_wq(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_wq(), 0);
	((struct ib_uverbs_ex_destroy_wq *)req)->wq_handle = w.wq;
}

void fill_create_table(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_wq(), 0);
	((struct table_cmd *)req)->wq[0] = w.wq;
}

void fill_destroy_table(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_wq(), 0);
	CHECK_ERR(make_table(), 0);
	((struct ib_uverbs_ex_destroy_rwq_ind_table *)req)->ind_tbl_handle = w.table;
}

static void ready(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_wq(), 0);
}

static int wq_with(uint32_t type, uint32_t max_wr, uint32_t max_sge, uint32_t flags, uint32_t pd)
{
	struct ib_uverbs_ex_create_wq c = wq_cmd();

	c.wq_type = type;
	c.max_wr = max_wr;
	c.max_sge = max_sge;
	c.create_flags = flags;
	c.pd_handle = pd;
	return create_wq(&c, &rings);
}

static void requests(void)
{
	ready();
	CHECK_ERR(wq_with(1, 8, 1, 0, w.pd), -EOPNOTSUPP);
	CHECK_ERR(wq_with(0, 0, 1, 0, w.pd), -EINVAL);
	CHECK_ERR(wq_with(0, 9, 1, 0, w.pd), -EINVAL); /* more than the ring */
	CHECK_ERR(wq_with(0, 8, 2, 0, w.pd), -EINVAL); /* more SGEs than the entries have room for */
	CHECK_ERR(wq_with(0, 8, 1, 0, w.cq), -EINVAL);
	for (uint32_t flag = 1; flag; flag <<= 1)
		CHECK_ERR(wq_with(0, 8, 1, flag, w.pd), -EOPNOTSUPP);
	file_close();
}

static int modify(uint32_t mask, uint32_t cur, uint32_t state, uint32_t flags)
{
	const struct ib_uverbs_ex_modify_wq m = {mask, w.wq, state, cur, flags, flags};

	return do_write_ex(EX(MODIFY_WQ), &m, sizeof(m), NULL, 0, NULL, 0, NULL, 0);
}

/* Data of the driver, as libmlx5 sends it with both commands: mlx5_ib wants nothing but zeros. */
static void driver_data(void)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp;
	struct ib_uverbs_ex_modify_wq m = {1, 0, 1, 0, 0, 0};
	struct table_cmd t = {.c.log_ind_tbl_size = 0};
	uint32_t data[2] = {0, 1};

	ready();
	t.wq[0] = m.wq_handle = w.wq;
	for (unsigned int good = 0; good < 2; good++, data[1] = 0) {
		CHECK_ERR(do_write_ex(EX(MODIFY_WQ), &m, sizeof(m), data, sizeof(data), NULL, 0, NULL, 0),
			  good ? 0 : -EOPNOTSUPP);
		CHECK_ERR(do_write_ex(EX(CREATE_RWQ_IND_TBL), &t, sizeof(t.c) + 8, data, sizeof(data), &resp,
				      sizeof(resp), NULL, 0),
			  good ? 0 : -EOPNOTSUPP);
	}
	file_close();
}

static void states(void)
{
	enum { STATE = 1, CUR = 2, FLAGS = 4, RESET = 0, RDY = 1, ERR = 2 };

	ready();
	CHECK_ERR(modify(0, 0, RDY, 0), -EINVAL);
	CHECK_ERR(modify(8 | STATE, 0, RDY, 0), -EINVAL);
	CHECK_ERR(modify(STATE, 0, 3, 0), -EINVAL);
	CHECK_ERR(modify(STATE, 0, ERR, 0), -EINVAL);
	CHECK_ERR(modify(STATE | CUR, RDY, ERR, 0), -EINVAL); /* the work queue is in RESET */
	CHECK_ERR(modify(STATE | CUR, 3, RDY, 0), -EINVAL);
	CHECK_ERR(modify(STATE | FLAGS, 0, RDY, 1), -EOPNOTSUPP);
	CHECK_ERR(modify(STATE | CUR, RESET, RDY, 0), 0);
	CHECK_ERR(modify(STATE, 0, ERR, 0), 0);
	CHECK_ERR(modify(STATE, 0, RDY, 0), -EINVAL);
	CHECK_ERR(modify(STATE, 0, RESET, 0), 0);
	file_close();
}

static int destroy_wq(void)
{
	const struct ib_uverbs_ex_destroy_wq c = {0, w.wq};
	struct ib_uverbs_ex_destroy_wq_resp resp;

	return do_write_ex(EX(DESTROY_WQ), &c, sizeof(c), NULL, 0, &resp, sizeof(resp), NULL, 0);
}

static int destroy_table(void)
{
	const struct ib_uverbs_ex_destroy_rwq_ind_table c = {0, w.table};

	return do_write_ex(EX(DESTROY_RWQ_IND_TBL), &c, sizeof(c), NULL, 0, NULL, 0, NULL, 0);
}

static void tables(void)
{
	ready();
	CHECK_ERR(create_table(0, 1, w.pd), -EINVAL);
	CHECK_ERR(create_table(2, 2, w.wq), -ENOSPC);
	CHECK_ERR(create_table(1, 4, w.wq), -EOPNOTSUPP); /* more handles than places */
	CHECK_ERR(create_table(14, 1, w.wq), -EINVAL);
	CHECK_ERR(create_table(UINT32_MAX, 1, w.wq), -EINVAL);
	CHECK_ERR(create_table(3, 8, w.wq), 0);
	CHECK_ERR(destroy_wq(), -EBUSY);
	CHECK_ERR(destroy_table(), 0);
	CHECK_ERR(destroy_table(), -ENOENT);
	CHECK_ERR(destroy_wq(), 0);
	file_close();
}

/* Ignored values are returned as requested (mlx5's create_rss_raw_qp_tir() does not change them). */
static int rss(uint8_t type, uint32_t max_send_wr, struct hcasim_create_rss_qp_req req)
{
	const struct ib_uverbs_ex_create_qp c = {.pd_handle = w.pd,
						 .max_send_wr = max_send_wr,
						 .max_send_sge = 3,
						 .max_inline_data = 7,
						 .qp_type = type,
						 .comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE,
						 .rwq_ind_tbl_handle = w.table};
	struct ib_uverbs_ex_create_qp_resp resp = {0};
	int ret = do_write_ex(EX(CREATE_QP), &c, sizeof(c), &req, sizeof(req), &resp, sizeof(resp), NULL, 0);

	w.qp = resp.base.qp_handle;
	if (!ret) {
		CU_ASSERT_EQUAL(resp.base.max_send_wr, 0);
		CU_ASSERT_EQUAL(resp.base.max_send_sge, 3);
		CU_ASSERT_EQUAL(resp.base.max_inline_data, 7);
	}
	return ret;
}

static void over_a_table(void)
{
	const struct hcasim_create_rss_qp_req good = {.fields = 3, .function = 1, .key_len = 40};
	const uint8_t raw = HCASIM_QPT_RAW_PACKET;
	struct ib_uverbs_modify_qp m = {.attr_mask = HCASIM_QP_ATTR_STATE | HCASIM_QP_ATTR_PORT};
	struct hcasim_create_rss_qp_req bad = good;

	ready();
	CHECK_ERR(rss(raw, 0, good), -ENOENT); /* no table created yet */
	CHECK_ERR(create_table(1, 2, w.wq), 0);
	CHECK_ERR(rss(HCASIM_QPT_UD, 0, good), -EOPNOTSUPP);
	CHECK_ERR(rss(raw, 1, good), -EINVAL);
	bad.key_len = 39;
	CHECK_ERR(rss(raw, 0, bad), -EINVAL);
	bad = good;
	bad.function = 2;
	CHECK_ERR(rss(raw, 0, bad), -EOPNOTSUPP);
	bad = good;
	bad.reserved[5] = 1;
	CHECK_ERR(rss(raw, 0, bad), -EINVAL);
	bad = good;
	bad.fields = 1ull << 31 | 3; /* inner headers */
	CHECK_ERR(rss(raw, 0, bad), -EOPNOTSUPP);
	bad.fields = 0;
	CHECK_ERR(rss(raw, 0, bad), -EINVAL);
	CHECK_ERR(rss(raw, 0, good), 0);
	m.qp_handle = w.qp;
	m.qp_state = HCASIM_QPS_INIT;
	m.port_num = 1;
	CHECK_ERR(modify_qp(&m), -EOPNOTSUPP);
	CHECK_ERR(destroy_table(), -EBUSY);
	CHECK_ERR(make_flow(), 0);
	file_close(); /* with all objects alive */
}

void add_wq_suite(void)
{
	CU_pSuite s = CU_add_suite("work queues", world_init, world_exit);

	CU_add_test(s, "requests", requests);
	CU_add_test(s, "data of the driver", driver_data);
	CU_add_test(s, "states", states);
	CU_add_test(s, "tables", tables);
	CU_add_test(s, "QPs over a table", over_a_table);
}
