/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An invalid line is refused with a message that names the field. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cell/cell.h"
#include "suites.h"

#define GOOD_WR                                                                                              \
	"{'op':'RDMA_WRITE','data':'sge_list','qp_setter':'none','flags':['SIGNALED','FENCE'],'effect':'"    \
	"write',"                                                                                            \
	"'limit':'none','wc':'RDMA_WRITE','recv':null,'len':[1,0,4096]}"
#define GOOD                                                                                                 \
	"{'id':'a/"                                                                                          \
	"b','api':'wr','qp':'RC','ask':['SEND','RDMA_WRITE'],'create':'refused','create_errno':'EOPNOTSUPP'" \
	","                                                                                                  \
	"'post':'ok','wrs':[" GOOD_WR "]}"

static struct cell *parse(const char *text, char *err, size_t size)
{
	char json[4096];
	struct cell *cell;
	json_t *line;

	strncpy(json, text, sizeof(json) - 1);
	json[sizeof(json) - 1] = '\0';
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	line = json_loads(json, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(line);
	cell = cell_parse(line, err, size);
	json_decref(line);
	return cell;
}

static void test_good(void)
{
	char err[256];
	struct cell *cell = parse(GOOD, err, sizeof(err));

	CU_ASSERT_PTR_NOT_NULL_FATAL(cell);
	CU_ASSERT_STRING_EQUAL(cell->id, "a/b");
	CU_ASSERT_EQUAL(cell->api, API_WR);
	CU_ASSERT_EQUAL(cell->qpt, IBV_QPT_RC);
	CU_ASSERT_EQUAL(cell->ask, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	CU_ASSERT_EQUAL(cell->create, CREATE_REFUSED);
	CU_ASSERT_EQUAL(cell->create_errno, EOPNOTSUPP);
	CU_ASSERT_EQUAL(cell->num_wr, 1);
	CU_ASSERT_EQUAL(cell->wr[0].op, IBV_WR_RDMA_WRITE);
	CU_ASSERT_EQUAL(cell->wr[0].data, DATA_SGE_LIST);
	CU_ASSERT_EQUAL(cell->wr[0].flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	CU_ASSERT_EQUAL(cell->wr[0].wc, IBV_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(cell->wr[0].recv, -1);
	CU_ASSERT_EQUAL(cell->wr[0].num_len, 3);
	CU_ASSERT_EQUAL(cell->wr[0].len[2], 4096);
	CU_ASSERT_EQUAL(cell->event, -1);
	cell_free(cell);
}

/* GOOD with `from` replaced by `to` is refused and the message holds `word`. */
static void refuse(const char *from, const char *to, const char *word)
{
	const char *at = strstr(GOOD, from);
	char text[2048], err[256] = "";
	struct cell *cell;

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - GOOD), GOOD, to, at + strlen(from));
	cell = parse(text, err, sizeof(err));
	CU_ASSERT_PTR_NULL(cell);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, word));
	cell_free(cell);
}

#define AROUND                                                                                               \
	"'index':0,'before':{'api':'post','post':'ok','wrs':[" GOOD_WR "]},"                                 \
	"'behind':{'api':'wr','post':'refused','wrs':[" GOOD_WR "," GOOD_WR "]},"                            \
	"'rival':{'api':'wr','post':'ok','wrs':[" GOOD_WR "]},"

/* GOOD with other postings around it. */
static const char *around(void)
{
	static char text[4096];
	const char *at = strstr(GOOD, "'post':'ok'");

	snprintf(text, sizeof(text), "%.*s" AROUND "%s", (int)(at - GOOD), GOOD, at);
	return text;
}

static void test_around(void)
{
	char err[256];
	struct cell *cell = parse(around(), err, sizeof(err));

	CU_ASSERT_PTR_NOT_NULL_FATAL(cell);
	CU_ASSERT_EQUAL(cell->num_wr, 1);
	CU_ASSERT_EQUAL(cell->before.num_wr, 1);
	CU_ASSERT_EQUAL(cell->before.api, API_POST);
	CU_ASSERT_EQUAL(cell->behind.num_wr, 2);
	CU_ASSERT_EQUAL(cell->behind.post, POST_REFUSED);
	CU_ASSERT_EQUAL(cell->behind.wr[1].effect, EFFECT_WRITE);
	CU_ASSERT_EQUAL(cell->rival.num_wr, 1);
	cell_free(cell);
}

static void test_two_setters(void)
{
	const char *at = strstr(GOOD, "'qp_setter':'none'");
	char text[2048], err[256];
	struct cell *cell;

	snprintf(text, sizeof(text),
		 "%.*s'data_again':'inline','qp_setter':'ud_addr','qp_setter_again':'xrc_srqn'%s",
		 (int)(at - GOOD), GOOD, at + strlen("'qp_setter':'none'"));
	cell = parse(text, err, sizeof(err));
	CU_ASSERT_PTR_NOT_NULL_FATAL(cell);
	CU_ASSERT_EQUAL(cell->wr[0].data, DATA_SGE_LIST);
	CU_ASSERT_EQUAL(cell->wr[0].data_again, DATA_INLINE);
	CU_ASSERT_EQUAL(cell->wr[0].qp_setter, QPSET_UD_ADDR);
	CU_ASSERT_EQUAL(cell->wr[0].qp_setter_again, QPSET_XRC_SRQN);
	cell_free(cell);
}

static void test_bad_fields(void)
{
	refuse("'id':'a/b'", "'id':5", "'id'");
	refuse("'api':'wr'", "'api':'telepathy'", "'telepathy'");
	refuse("'api':'wr'", "'api':'wr','excuses':[]", "'excuses'");
	refuse("'api':'wr'", "'api':'wr','excuses':{'post.rc':0}", "'post.rc'");
	refuse("'api':'wr'", "'api':'wr','excuses':{'post.status':'SUCCESS'}", "'post.status'");
	refuse("'qp':'RC'", "'qp':'RD'", "'RD'");
	refuse("'SEND',", "'SENT',", "'SENT'");
	refuse("'ask':['SEND','RDMA_WRITE']", "'ask':1", "'ask'");
	refuse("'EOPNOTSUPP'", "'EWHATEVER'", "'create_errno'");
	refuse("'post':'ok'", "'post':'perhaps'", "'perhaps'");
	refuse("'post':'ok'", "'post':'error','status':'SAD'", "'SAD'");
	refuse("'op':'RDMA_WRITE'", "'op':'RDMA_WROTE'", "'RDMA_WROTE'");
	refuse("'FENCE'", "'GATE'", "'GATE'");
	refuse("'wc':'RDMA_WRITE'", "'wc':'SIGNED'", "'SIGNED'");
	refuse("'len':[1,0,4096]", "'len':[4097]", "'len'");
	refuse("'len':[1,0,4096]", "'len':['x']", "'len'");
	refuse("'wrs':[" GOOD_WR "]", "'wrs':[]", "'wrs'");
	refuse("'limit':'none'", "'limit':'sky'", "'sky'");
	refuse("'limit':'none'", "'limit':'none','data_of':0", "'data_of'");
	refuse("'effect':'write'", "'effect':7", "'effect'");
	refuse("'post':'ok'", "'post':'ok','index':1", "'index'");
	refuse("'post':'ok'", "'post':'ok','bad_wr':1", "'bad_wr'");
	refuse("'post':'ok'", "'post':'undefined'", "'undefined'");
	refuse("'data':'sge_list'", "'data':'sge_list','data_again':'twice'", "'twice'");
	refuse("'post':'ok'", "'post':'ok','before':{'api':'recv','post':'ok','wrs':[" GOOD_WR "]}",
	       "'before'");
	refuse("'post':'ok'", "'post':'ok','rival':{'api':'wr','post':'any','wrs':[" GOOD_WR "]}", "'rival'");
	refuse("'post':'ok'", "'post':'ok','behind':{'api':'wr','post':'ok','wrs':[]}", "'wrs'");
}

CU_TestInfo cell_tests[] = {
	{"a good line", test_good},
	{"other postings around it", test_around},
	{"two setters in a row", test_two_setters},
	{"each bad field", test_bad_fields},
	CU_TEST_INFO_NULL,
};
