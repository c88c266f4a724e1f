// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* verbs.log: what is written of calls that succeed and of calls that are refused. */
#include "harness.h"

#define CM(n) IB_USER_VERBS_CMD_##n
#define LOCAL HCASIM_ACCESS_LOCAL_WRITE

static char *text;
static size_t size;

static void start(void)
{
	file_open();
	w.k->cfg.log = open_memstream(&text, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w.k->cfg.log);
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
}

static void stop(void)
{
	fclose(w.k->cfg.log);
	w.k->cfg.log = NULL;
	free(text);
	file_close();
}

/* The last record has these words. */
static bool last_has(const char *words)
{
	const char *last;

	fflush(w.k->cfg.log);
	if (!size || text[size - 1] != '\n')
		return false;
	for (last = text + size - 1; last > text && last[-1] != '\n'; last--)
		;
	if (strstr(last, words))
		return true;
	fprintf(stderr, "'%s' is not in %s", words, last);
	return false;
}

static void creations(void)
{
	char words[64];

	start();
	CU_ASSERT_TRUE(last_has("\"call\":\"alloc_pd\""));
	CHECK_ERR(make_mr(w.arena, 4096, LOCAL), 0);
	snprintf(words, sizeof(words), "\"start\":\"0x%llx\",\"length\":4096",
		 (unsigned long long)U(w.arena));
	CU_ASSERT_TRUE(last_has(words));
	snprintf(words, sizeof(words), "\"lkey\":\"0x%x\"", w.lkey);
	CU_ASSERT_TRUE(last_has(words));
	CHECK_ERR(make_cq(4, -1), 0);
	CU_ASSERT_TRUE(last_has("\"call\":\"create_cq\""));
	CU_ASSERT_TRUE(last_has("\"granted\":{\"cqe\":"));
	CHECK_ERR(make_qp(HCASIM_QPT_RC), 0);
	snprintf(words, sizeof(words), "\"qpn\":%u,\"granted\":{\"max_send_wr\":", w.qpn);
	CU_ASSERT_TRUE(last_has(words));
	stop();
}

static void refusals(void)
{
	struct ib_uverbs_modify_qp m = {.attr_mask = HCASIM_QP_ATTR_STATE, .qp_state = HCASIM_QPS_INIT};

	start();
	CHECK_ERR(make_cq(4, -1), 0);
	CHECK_ERR(make_qp(HCASIM_QPT_RC), 0);
	CHECK_ERR(destroy(CM(DEALLOC_PD), w.pd), -EBUSY);
	CU_ASSERT_TRUE(last_has("\"call\":\"dealloc_pd\",\"errno\":\"EBUSY\",\"pd_handle\":"));
	m.qp_handle = w.qp;
	CHECK_ERR(modify_qp(&m), -EINVAL);
	CU_ASSERT_TRUE(last_has("\"from\":0,\"required\":\"0x38\"")); /* P_Key index, port, access flags */
	m.qp_state = HCASIM_QPS_RTS;
	CHECK_ERR(modify_qp(&m), -EINVAL);
	CU_ASSERT_TRUE(last_has("\"from\":0}")); /* there is no such transition */
	stop();
}

/* A call that only informs is not written, one that is refused has its number. */
static void other_calls(void)
{
	struct ib_uverbs_query_port q = {.port_num = 1};
	struct ib_uverbs_query_port_resp r;

	start();
	CHECK_ERR(do_write(CM(QUERY_PORT), &q, sizeof(q), NULL, 0, &r, sizeof(r), NULL, 0), 0);
	CU_ASSERT_TRUE(last_has("\"call\":\"alloc_pd\""));
	q.port_num = 77;
	CHECK_ERR(do_write(CM(QUERY_PORT), &q, sizeof(q), NULL, 0, &r, sizeof(r), NULL, 0), -EINVAL);
	CU_ASSERT_TRUE(last_has("\"call\":\"command 0x2\",\"errno\":\"EINVAL\""));
	stop();
}

static void events(void)
{
	start();
	log_event(w.f->dev, "qpn", 17, 3);
	CU_ASSERT_TRUE(last_has("\"event\":\"QP_ACCESS_ERR\",\"qpn\":17}"));
	log_event(w.f->dev, "wqn", 1, 19);
	CU_ASSERT_TRUE(last_has("\"event\":\"WQ_FATAL\""));
	log_event(w.f->dev, "wqn", 1, 20);
	CU_ASSERT_TRUE(last_has("\"event\":\"unknown\""));
	log_completion_event(w.f->dev, 5);
	CU_ASSERT_TRUE(last_has("\"event\":\"COMP\",\"cqn\":5}"));
	stop();
}

void add_log_suite(void)
{
	CU_pSuite s = CU_add_suite("log", world_init, world_exit);

	CU_add_test(s, "creations", creations);
	CU_add_test(s, "refusals", refusals);
	CU_add_test(s, "other calls", other_calls);
	CU_add_test(s, "events", events);
}
