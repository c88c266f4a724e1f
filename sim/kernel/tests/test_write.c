// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The write() commands: good, truncated at every length, with hostile pointers; and unknown commands. */
#include <fcntl.h>
#include <unistd.h>

#include "devices/family.h"
#include "harness.h"
#include "write_srq.h"

#define MAX_REQ 512

struct wcase {
	const char *name;
	uint32_t cmd; /* with the extended flag */
	uint16_t req, resp, uhw, uhw_out;
	bool handle_only; /* no response: the request does not start with an address */
	/* Fills request and driver data, after creating the objects they name. */
	void (*fill)(uint8_t *req, uint8_t *uhw);
};

static void fill_nothing(uint8_t *req, uint8_t *uhw)
{
}

static void fill_port(uint8_t *req, uint8_t *uhw)
{
	((struct ib_uverbs_query_port *)req)->port_num = 1;
}

static void fill_handle_pd(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_pd(), 0);
	memcpy(req, &w.pd, 4);
}

static void fill_handle_ah(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_ah((uint8_t[16]){[10] = 0xff, 0xff, 10, 77, 0, 2}, 1), 0);
	memcpy(req, &w.ah, 4);
}

static void fill_reg_mr(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_reg_mr *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	c->pd_handle = w.pd;
	c->start = c->hca_va = U(w.arena);
	c->length = 4096;
}

static void fill_rereg_mr(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_rereg_mr *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mr(w.arena, 8192, 0), 0);
	c->mr_handle = w.mr;
	c->flags = 4;
	c->access_flags = HCASIM_ACCESS_LOCAL_WRITE;
}

static void fill_handle_mr(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mr(w.arena, 8192, 0), 0);
	memcpy(req, &w.mr, 4);
}

static void fill_mw(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_alloc_mw *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	c->pd_handle = w.pd;
	c->mw_type = 2;
}

static void fill_handle_mw(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_mw(1), 0);
	memcpy(req, &w.mw, 4);
}

static void fill_cq(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_cq *c = (void *)req;

	c->cqe = 16;
	c->comp_channel = -1;
}

static void fill_cq_ex(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_ex_create_cq *c = (void *)req;

	c->cqe = 16;
	c->comp_channel = -1;
}

static void fill_resize(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_resize_cq *c = (void *)req;

	CHECK_ERR(make_cq(16, -1), 0);
	c->cq_handle = w.cq;
	c->cqe = 32;
}

static void fill_modify_cq(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_ex_modify_cq *c = (void *)req;

	CHECK_ERR(make_cq(16, -1), 0);
	*c = (struct ib_uverbs_ex_modify_cq){.cq_handle = w.cq, .attr_mask = 1, .attr = {16, 100}};
}

static void fill_destroy_cq(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_cq(16, -1), 0);
	((struct ib_uverbs_destroy_cq *)req)->cq_handle = w.cq;
}

static void fill_qp(uint8_t *req, uint8_t *uhw)
{
	const struct hcasim_create_qp_req drv = {.sq_wqebb = 16, .rq_wqe_count = 8, .rq_stride = 32};
	struct ib_uverbs_create_qp *c = (void *)req;

	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	c->pd_handle = w.pd;
	c->send_cq_handle = c->recv_cq_handle = w.cq;
	c->max_send_wr = c->max_recv_wr = 8;
	c->max_send_sge = c->max_recv_sge = 1;
	c->qp_type = IB_UVERBS_QPT_RC;
	memcpy(uhw, &drv, sizeof(drv));
}

static void fill_qp_ex(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_create_qp plain = {0};
	struct ib_uverbs_ex_create_qp *c = (void *)req;

	fill_qp((uint8_t *)&plain, uhw);
	c->pd_handle = plain.pd_handle;
	c->send_cq_handle = c->recv_cq_handle = plain.send_cq_handle;
	c->max_send_wr = c->max_recv_wr = 8;
	c->max_send_sge = c->max_recv_sge = 1;
	c->qp_type = IB_UVERBS_QPT_UD;
}

static void fill_query_qp(uint8_t *req, uint8_t *uhw)
{
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(IB_UVERBS_QPT_UC), 0);
	((struct ib_uverbs_query_qp *)req)->qp_handle = w.qp;
}

static void fill_modify_qp(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_query_qp q = {0};
	struct ib_uverbs_modify_qp *m = (void *)req;

	fill_query_qp((uint8_t *)&q, uhw);
	good_attrs(m, HCASIM_QPT_UC);
	m->qp_state = HCASIM_QPS_INIT;
	m->attr_mask = HCASIM_QP_ATTR_STATE | required_mask(HCASIM_QPT_UC, HCASIM_QPS_RESET, HCASIM_QPS_INIT);
}

static void fill_destroy_qp(uint8_t *req, uint8_t *uhw)
{
	struct ib_uverbs_query_qp q = {0};

	fill_query_qp((uint8_t *)&q, uhw);
	((struct ib_uverbs_destroy_qp *)req)->qp_handle = w.qp;
}

#define EX(n) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##n)
#define CM(n) IB_USER_VERBS_CMD_##n

/* Sizes are those of the ABI, in bytes, counted by hand in ib_user_verbs.h. */
/* clang-format off */
static const struct wcase cases[] = {
	{"QUERY_DEVICE", CM(QUERY_DEVICE), 8, 176, 0, 0, false, fill_nothing},
	{"QUERY_PORT", CM(QUERY_PORT), 16, 40, 0, 0, false, fill_port},
	{"ALLOC_PD", CM(ALLOC_PD), 8, 4, 0, 8, false, fill_nothing},
	{"DEALLOC_PD", CM(DEALLOC_PD), 4, 0, 0, 0, true, fill_handle_pd},
	{"CREATE_AH", CM(CREATE_AH), 56, 4, 0, 8, false, fill_ah},
	{"DESTROY_AH", CM(DESTROY_AH), 4, 0, 0, 0, true, fill_handle_ah},
	{"REG_MR", CM(REG_MR), 40, 12, 0, 0, false, fill_reg_mr},
	{"REREG_MR", CM(REREG_MR), 48, 8, 0, 0, false, fill_rereg_mr},
	{"DEREG_MR", CM(DEREG_MR), 4, 0, 0, 0, true, fill_handle_mr},
	{"ALLOC_MW", CM(ALLOC_MW), 16, 8, 0, 0, false, fill_mw},
	{"DEALLOC_MW", CM(DEALLOC_MW), 4, 0, 0, 0, true, fill_handle_mw},
	{"CREATE_COMP_CHANNEL", CM(CREATE_COMP_CHANNEL), 8, 4, 0, 0, false, fill_nothing},
	{"CREATE_CQ", CM(CREATE_CQ), 32, 8, 0, sizeof(struct hcasim_create_cq_resp), false, fill_cq},
	{"RESIZE_CQ", CM(RESIZE_CQ), 16, 8, 0, sizeof(struct hcasim_resize_cq_resp), false, fill_resize},
	{"DESTROY_CQ", CM(DESTROY_CQ), 16, 8, 0, 0, false, fill_destroy_cq},
	{"OPEN_XRCD", CM(OPEN_XRCD), 16, 4, 0, 0, false, fill_open_xrcd},
	{"CLOSE_XRCD", CM(CLOSE_XRCD), 4, 0, 0, 0, true, fill_close_xrcd},
	{"OPEN_QP", CM(OPEN_QP), 32, 32, 0, 0, false, fill_open_qp},
	{"CREATE_SRQ", CM(CREATE_SRQ), 32, 16, 16, sizeof(struct hcasim_create_srq_resp), false, fill_create_srq},
	{"CREATE_XSRQ", CM(CREATE_XSRQ), 48, 16, 16, sizeof(struct hcasim_create_srq_resp), false, fill_create_xsrq},
	{"MODIFY_SRQ", CM(MODIFY_SRQ), 16, 0, 0, 0, true, fill_modify_srq},
	{"QUERY_SRQ", CM(QUERY_SRQ), 16, 16, 0, 0, false, fill_query_srq},
	{"DESTROY_SRQ", CM(DESTROY_SRQ), 16, 4, 0, 0, false, fill_destroy_srq},
	{"CREATE_QP", CM(CREATE_QP), 56, 32, 16, 48, false, fill_qp},
	{"QUERY_QP", CM(QUERY_QP), 16, 128, 0, 0, false, fill_query_qp},
	{"MODIFY_QP", CM(MODIFY_QP), 112, 0, 0, 0, true, fill_modify_qp},
	{"DESTROY_QP", CM(DESTROY_QP), 16, 4, 0, 0, false, fill_destroy_qp},
	{"EX_QUERY_DEVICE", EX(QUERY_DEVICE), 8, 304, 0, 0, false, fill_nothing},
	{"EX_CREATE_CQ", EX(CREATE_CQ), 32, 16, 0, sizeof(struct hcasim_create_cq_resp), false, fill_cq_ex},
	{"EX_CREATE_QP", EX(CREATE_QP), 64, 40, 16, 48, false, fill_qp_ex},
	{"EX_MODIFY_QP", EX(MODIFY_QP), 120, 8, 0, 0, false, fill_modify_qp},
	{"ATTACH_MCAST", CM(ATTACH_MCAST), 24, 0, 0, 0, true, fill_mcast},
	{"DETACH_MCAST", CM(DETACH_MCAST), 24, 0, 0, 0, true, fill_detach},
	{"EX_CREATE_FLOW", EX(CREATE_FLOW), 24, 8, 0, 0, false, fill_flow},
	{"EX_DESTROY_FLOW", EX(DESTROY_FLOW), 8, 0, 0, 0, true, fill_destroy_flow},
	{"EX_CREATE_WQ", EX(CREATE_WQ), 40, 24, 16, sizeof(struct hcasim_create_qp_resp), false, fill_create_wq},
	{"EX_MODIFY_WQ", EX(MODIFY_WQ), 24, 0, 0, 0, true, fill_modify_wq},
	{"EX_DESTROY_WQ", EX(DESTROY_WQ), 8, 16, 0, 0, false, fill_destroy_wq},
	{"EX_CREATE_RWQ_IND_TBL", EX(CREATE_RWQ_IND_TBL), 16, 16, 0, 0, false, fill_create_table},
	{"EX_DESTROY_RWQ_IND_TBL", EX(DESTROY_RWQ_IND_TBL), 8, 0, 0, 0, true, fill_destroy_table},
	{"EX_MODIFY_CQ", EX(MODIFY_CQ), 16, 0, 0, 0, true, fill_modify_cq},
};
/* clang-format on */
#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))
#define FIRST_EX  27 /* EX_QUERY_DEVICE */

/* Shortest request and response that the kernel accepts (fields of later ABIs may be missing). */
static uint16_t min_req(const struct wcase *c)
{
	if (c->cmd == EX(CREATE_WQ))
		return 32;
	if (c->cmd == EX(MODIFY_WQ))
		return 16;
	return c->cmd == EX(CREATE_QP) ? 56 : c->cmd == EX(MODIFY_QP) ? 112 : c->req;
}

static uint16_t min_resp(const struct wcase *c)
{
	return c->cmd == EX(QUERY_DEVICE) ? 184 : c->resp;
}

static bool is_ex(const struct wcase *c)
{
	return c->cmd & IB_USER_VERBS_CMD_FLAG_EXTENDED;
}

static struct cmd_buf *buf;
static struct ib_uverbs_ex_cmd_hdr *ex;
static uint8_t *req, *out;
static size_t total;

/* Opens a file and writes the good command into user memory. */
static void build(const struct wcase *c)
{
	uint8_t r[MAX_REQ] = {0}, u[64] = {0};

	file_open();
	CHECK_ERR(make_context(), 0);
	c->fill(r, u);
	buf = user_alloc(sizeof(*buf));
	out = user_alloc(1024);
	ex = (void *)buf->body;
	req = is_ex(c) ? (uint8_t *)(ex + 1) : buf->body;
	memcpy(req, r, c->req);
	memcpy(req + c->req, u, c->uhw);
	total = req - (uint8_t *)buf + c->req + c->uhw;
	buf->hdr.command = c->cmd;
	if (is_ex(c)) {
		buf->hdr.in_words = c->req / 8;
		buf->hdr.out_words = c->resp / 8;
		ex->provider_in_words = c->uhw / 8;
		ex->provider_out_words = c->uhw_out / 8;
		ex->response = c->handle_only ? 0 : U(out);
	} else {
		buf->hdr.in_words = total / 4;
		buf->hdr.out_words = (c->resp + c->uhw_out) / 4;
		if (!c->handle_only)
			memcpy(req, &(uint64_t){U(out)}, 8);
	}
}

static void expect(const struct wcase *c, size_t len, int err, const char *what)
{
	const ssize_t ret = kernel_write(w.f, &w.task, U(buf), len, &w.reply);
	const int got = ret == (ssize_t)len ? 0 : ret < 0 ? (int)ret : -EIO;

	if (got != err)
		fprintf(stderr, "\n%s, %s, %zu of %zu bytes: %d, expected %d\n", c->name, what, len, total,
			got, err);
	CU_ASSERT_EQUAL(got, err);
	for (unsigned int i = 0; got == 0 && i < w.reply.nfds; i++)
		close(w.reply.install[i].fd);
	if (got)
		CU_ASSERT_EQUAL(w.reply.nfds, 0);
	file_close();
}

static void good(void)
{
	for (size_t i = 0; i < NUM_CASES; i++) {
		build(&cases[i]);
		expect(&cases[i], total, 0, "good command");
	}
}

/* The number of bytes does not match the header. */
static void cut(void)
{
	for (size_t i = 0; i < NUM_CASES; i++) {
		build(&cases[i]);
		file_close();
		for (size_t len = 0; len < total; len++) {
			build(&cases[i]);
			expect(&cases[i], len, -EINVAL, "cut");
		}
	}
}

static int short_error(const struct wcase *c, size_t left)
{
	/* rdma-core 18 sends DESTROY_CQ like this; the simulated kernel reads past it, as Linux does */
	if (c->cmd == CM(DESTROY_CQ) && left == 8)
		return 0;
	return left < min_req(c) ? -ENOSPC : c->uhw ? -EINVAL : 0;
}

/*
 * The header matches, but the command is shorter than its structure. Short driver data is refused by the
 * driver.
 */
static void shorter(void)
{
	for (size_t i = 0; i < NUM_CASES; i++) {
		const struct wcase *c = &cases[i];
		const size_t unit = is_ex(c) ? 8 : 4;

		for (size_t left = 0; left < c->req; left += unit) {
			build(c);
			if (is_ex(c)) {
				buf->hdr.in_words = left / 8;
				memmove(req + left, req + c->req, c->uhw);
				total -= c->req - left;
				expect(c, total, left < min_req(c) ? -ENOSPC : 0, "shorter request");
			} else {
				buf->hdr.in_words = (sizeof(buf->hdr) + left) / 4;
				expect(c, buf->hdr.in_words * 4u, short_error(c, left), "shorter request");
			}
		}
	}
}

static void shorter_response(void)
{
	for (size_t i = 0; i < NUM_CASES; i++) {
		const struct wcase *c = &cases[i];
		const size_t unit = is_ex(c) ? 8 : 4;

		for (size_t room = 0; room < min_resp(c); room += unit) {
			build(c);
			buf->hdr.out_words = room / unit;
			if (is_ex(c))
				ex->provider_out_words = 0;
			expect(c, total, is_ex(c) && !room ? -EINVAL : -ENOSPC, "shorter response");
		}
	}
}

/* Bytes after the known structures must be zero, and are cleared in responses. */
static void longer(void)
{
	for (size_t i = 0; i < NUM_CASES; i++) {
		const struct wcase *c = &cases[i];

		if (is_ex(c) || c->uhw_out || c->uhw)
			continue;
		build(c);
		buf->hdr.in_words += 2;
		if (!c->handle_only)
			buf->hdr.out_words += 2;
		memset(out, 0xff, 1024);
		/* Bytes after a request with driver data belong to the driver, which does not use them. */
		expect(c, total + 8, 0, "longer, zero");
		if (c->cmd == CM(QUERY_DEVICE) || c->cmd == CM(QUERY_PORT) || c->cmd == CM(QUERY_QP)) {
			CU_ASSERT_EQUAL(out[c->resp], 0);
			CU_ASSERT_EQUAL(out[c->resp + 8], 0xff);
		}
		if (c->cmd == CM(REG_MR) || c->cmd == CM(REREG_MR) || c->cmd == CM(ALLOC_MW) ||
		    c->cmd == CM(MODIFY_SRQ))
			continue;
		build(c);
		buf->hdr.in_words += 2;
		req[c->req + 3] = 1;
		expect(c, total + 8, -EOPNOTSUPP, "longer, not zero");
	}
}

static void hostile(void)
{
	const unsigned int fds = count_fds();

	for (size_t i = 0; i < NUM_CASES; i++) {
		const struct wcase *c = &cases[i];
		const uint64_t addr[] = {HOSTILE, 0, ~0ull - 7, U(w.arena) + ARENA_SIZE - 2};

		for (int k = 0; k < 4 && !c->handle_only; k++) {
			build(c);
			if (is_ex(c) && !addr[k]) {
				ex->response = 0;
				expect(c, total, -EINVAL, "no response address");
				continue;
			}
			memcpy(is_ex(c) ? (void *)&ex->response : req, &addr[k], 8);
			expect(c, total, -EFAULT, "hostile response");
		}
		build(c);
		file_close();
		file_open();
		CHECK_ERR(kernel_write(w.f, &w.task, HOSTILE, total, &w.reply), -EFAULT);
		file_close();
	}
	CU_ASSERT_EQUAL(count_fds(), fds);
}

static void headers(void)
{
	const struct wcase *c = &cases[0], *e = &cases[FIRST_EX];

	for (unsigned int bit = 8; bit < 31; bit++) {
		build(c);
		buf->hdr.command |= 1u << bit;
		expect(c, total, -EINVAL, "unknown bit of the command");
	}
	build(e);
	ex->cmd_hdr_reserved = 1;
	expect(e, total, -EINVAL, "reserved word of the extended header");
	build(e);
	ex->provider_in_words = 1;
	expect(e, total, -EINVAL, "provider words that are not there");
	build(e);
	buf->hdr.out_words = 0;
	expect(e, total, -EINVAL, "address without room");
	build(e);
	req[0] = 1;
	expect(e, total, -EINVAL, "comp_mask of EX_QUERY_DEVICE");
}

/* Every number: commands that the driver has no function for return EOPNOTSUPP. */
static void unknown(void)
{
	for (uint32_t n = 0; n < 256; n++) {
		for (int extended = 0; extended < 2; extended++) {
			const uint32_t cmd = n | (extended ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
			struct cmd_buf *b;
			bool known = cmd == CM(GET_CONTEXT);
			ssize_t ret;

			for (size_t i = 0; i < NUM_CASES; i++)
				known |= cases[i].cmd == cmd;
			if (known)
				continue;
			file_open();
			CHECK_ERR(make_context(), 0);
			b = user_alloc(sizeof(*b));
			b->hdr.command = cmd;
			b->hdr.in_words = 16;
			b->hdr.out_words = 16;
			ret = kernel_write(w.f, &w.task, U(b), 64, &w.reply);
			CHECK_ERR(ret, -EOPNOTSUPP);
			/*
			 * Known to the kernel, but not supported by this driver: the header is checked first.
			 */
			b->hdr.in_words = 15;
			ret = kernel_write(w.f, &w.task, U(b), 64, &w.reply);
			CHECK_ERR(ret, n > (extended ? IB_USER_VERBS_EX_CMD_MODIFY_CQ : CM(OPEN_QP))
					       ? -EOPNOTSUPP
					       : -EINVAL);
			file_close();
		}
	}
}

static void no_context(void)
{
	for (size_t i = 0; i < NUM_CASES; i++) {
		ssize_t ret;

		build(&cases[i]);
		kernel_release(w.f);
		CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
		ret = kernel_write(w.f, &w.task, U(buf), total, &w.reply);
		CU_ASSERT(ret == -EINVAL || ret == -ENOENT);
		file_close();
	}
}

static void wrong_handles(void)
{
	static const struct {
		uint32_t cmd;
		unsigned int offset;
		int err;
	} tab[] = {
		{CM(DEALLOC_PD), 0, -ENOENT}, {CM(DESTROY_AH), 0, -ENOENT}, {CM(DEREG_MR), 0, -ENOENT},
		{CM(DESTROY_CQ), 8, -ENOENT}, {CM(DESTROY_QP), 8, -ENOENT}, {CM(REREG_MR), 8, -ENOENT},
		{CM(DEALLOC_MW), 0, -ENOENT}, {CM(ALLOC_MW), 8, -ENOENT},   {CM(REG_MR), 32, -ENOENT},
		{CM(CREATE_AH), 16, -ENOENT}, {CM(RESIZE_CQ), 8, -ENOENT},  {CM(CREATE_QP), 16, -ENOENT},
		{CM(CREATE_QP), 20, -ENOENT}, {CM(CREATE_QP), 24, -ENOENT}, {CM(QUERY_QP), 8, -ENOENT},
		{CM(MODIFY_QP), 64, -ENOENT}, {CM(CREATE_CQ), 24, -EBADF},  {EX(CREATE_QP), 8, -ENOENT},
		{EX(MODIFY_QP), 64, -ENOENT},
	};

	for (size_t k = 0; k < sizeof(tab) / sizeof(tab[0]); k++) {
		for (size_t i = 0; i < NUM_CASES; i++) {
			if (cases[i].cmd != tab[k].cmd)
				continue;
			build(&cases[i]);
			memcpy(req + tab[k].offset, &(uint32_t){0x01234567}, 4);
			expect(&cases[i], total, tab[k].err, "handle that is none");
		}
	}
	/* A handle of another type always gives EINVAL. */
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(destroy(CM(DEREG_MR), w.pd), -EINVAL);
	CHECK_ERR(destroy(CM(DESTROY_AH), w.pd), -EINVAL);
	file_close();
}

static void get_context(void)
{
	struct ib_uverbs_get_context cmd = {0};
	struct hcasim_alloc_ucontext_resp drv;
	struct ib_uverbs_get_context_resp resp;

	file_open();
	CHECK_ERR(do_write(CM(GET_CONTEXT), &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), NULL, 0),
		  -EINVAL);
	CHECK_ERR(
		do_write(CM(GET_CONTEXT), &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), &drv, sizeof(drv)),
		0);
	CU_ASSERT_EQUAL(resp.num_comp_vectors, device_family(DEVICE_FAMILY_DEFAULT)->num_comp_vectors);
	CU_ASSERT(fcntl(resp.async_fd, F_GETFD) >= 0);
	CHECK_ERR(
		do_write(CM(GET_CONTEXT), &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp), &drv, sizeof(drv)),
		-EINVAL);
	file_close();
}

void add_write_suite(void)
{
	CU_pSuite s = CU_add_suite("write", world_init, world_exit);

	CU_add_test(s, "every command as it should be", good);
	CU_add_test(s, "GET_CONTEXT", get_context);
	CU_add_test(s, "cut at every length", cut);
	CU_add_test(s, "shorter requests", shorter);
	CU_add_test(s, "shorter responses", shorter_response);
	CU_add_test(s, "longer requests and responses", longer);
	CU_add_test(s, "hostile pointers", hostile);
	CU_add_test(s, "headers", headers);
	CU_add_test(s, "unknown commands", unknown);
	CU_add_test(s, "without a context", no_context);
	CU_add_test(s, "wrong handles", wrong_handles);
}
