// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Wrong WQEs: every field wrong in turn, and bytes that never were a WQE. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "native_wqe_test.h"

/* Decodes and compares; the message of a failing assertion alone would not say which row it was. */
#define EXPECT(b, expected_vendor, expected_status)                                                          \
	do {                                                                                                 \
		struct wqe_result r_;                                                                        \
		wqe_decode(b, &r_);                                                                          \
		CU_ASSERT_STRING_EQUAL(hcasim_vendor_err_name(r_.vendor), #expected_vendor);                 \
		CU_ASSERT_STRING_EQUAL(hcasim_cqe_status_name(r_.status), #expected_status);                 \
	} while (0)

/* Every legal cell, freshly built, to be spoilt by `spoil`. */
static void for_every_cell(void (*check)(struct wqe_builder *b, const struct hcasim_wr_rule *rule))
{
	struct wqe_builder b;

	for (unsigned int i = 0; i < HCASIM_WR_NUM; i++) {
		const struct hcasim_wr_rule *rule = &hcasim_wr_rules[i];

		for (uint8_t type = 0; type < 32; type++) {
			if (!(rule->qp_types >> type & 1))
				continue;
			wqe_build(&b, rule->wqe_op, type, 1);
			check(&b, rule);
		}
	}
}

static void bad_ctrl(struct wqe_builder *b, const struct hcasim_wr_rule *rule)
{
	struct hcasim_wqe_ctrl good = *wqe_ctrl(b);

	for (unsigned int bit = 0; bit < 16; bit++) {
		wqe_ctrl(b)->index = htole16(TEST_INDEX ^ 1u << bit);
		EXPECT(b, STALE_WQE, LOC_QP_OP_ERR);
	}
	*wqe_ctrl(b) = good;
	for (unsigned int bit = 0; bit < 24; bit++) {
		wqe_ctrl(b)->qpn_flags = good.qpn_flags ^ htole32(1u << bit);
		EXPECT(b, BAD_QPN, LOC_QP_OP_ERR);
	}
	for (unsigned int bit = 29; bit < 32; bit++) {
		wqe_ctrl(b)->qpn_flags = good.qpn_flags ^ htole32(1u << bit);
		EXPECT(b, BAD_SEGMENT, LOC_QP_OP_ERR);
	}
	*wqe_ctrl(b) = good;
}

/* A stale entry is told before anything else in it is looked at. */
static void stale_first(struct wqe_builder *b, const struct hcasim_wr_rule *rule)
{
	memset(wqe_ctrl(b), 0xff, sizeof(struct hcasim_wqe_ctrl));
	wqe_ctrl(b)->index = htole16(0);
	EXPECT(b, STALE_WQE, LOC_QP_OP_ERR);
}

static void bad_size(struct wqe_builder *b, const struct hcasim_wr_rule *rule)
{
	uint32_t whole = wqe_ctrl(b)->size, fixed = b->data / HCASIM_SEG_UNIT, size;
	struct wqe_result r;

	/* Every size for which the segments are not there; SGEs may well be fewer. */
	for (size = 0; size < fixed; size++) {
		wqe_ctrl(b)->size = size;
		EXPECT(b, BAD_SIZE, LOC_QP_OP_ERR);
	}
	/* Longer than the bytes that were fetched, and than any WQE. */
	for (size = whole + 1; size < 256; size++) {
		wqe_ctrl(b)->size = size;
		EXPECT(b, BAD_SIZE, LOC_QP_OP_ERR);
	}
	/* Bytes that no segment accounts for. */
	if (hcasim_wqe_format(rule->wqe_op)->data == HCASIM_WQE_DATA_NONE ||
	    hcasim_wqe_format(rule->wqe_op)->data == HCASIM_WQE_DATA_INLINE) {
		wqe_ctrl(b)->size = whole + 1;
		b->len += HCASIM_SEG_UNIT;
		EXPECT(b, BAD_SIZE, LOC_QP_OP_ERR);
		b->len -= HCASIM_SEG_UNIT;
	}
	/* Fewer bytes than ctrl. */
	for (uint32_t len = 0; len < sizeof(struct hcasim_wqe_ctrl); len++) {
		r.vendor = native_decode_wqe(b->raw, len, b->qp_type, TEST_QPN, TEST_INDEX, &r.wr, r.sge,
					     HCASIM_MAX_SGE, &r.status);
		CU_ASSERT_EQUAL(r.vendor, HCASIM_VENDOR_ERR_BAD_SIZE);
	}
}

/* Sets each byte of [from, from + len) in turn. */
static void bytes_are_reserved(struct wqe_builder *b, uint32_t from, uint32_t len)
{
	for (uint32_t i = from; i < from + len; i++) {
		CU_ASSERT_EQUAL(b->raw[i], 0);
		b->raw[i] = 0x10;
		EXPECT(b, BAD_SEGMENT, LOC_QP_OP_ERR);
		b->raw[i] = 0;
	}
}

#define RESERVED(b, at, type)                                                                                \
	do {                                                                                                 \
		if (at)                                                                                      \
			bytes_are_reserved(b, (at) + offsetof(struct type, reserved),                        \
					   sizeof(((struct type *)0)->reserved));                            \
	} while (0)

static void reserved_fields(struct wqe_builder *b, const struct hcasim_wr_rule *rule)
{
	RESERVED(b, b->ud, hcasim_seg_ud);
	RESERVED(b, b->xrc, hcasim_seg_xrc);
	RESERVED(b, b->remote, hcasim_seg_remote);
	RESERVED(b, b->bind, hcasim_seg_bind);
	RESERVED(b, b->tso, hcasim_seg_tso);
	RESERVED(b, b->flush, hcasim_seg_flush);
}

static void inline_where_it_is_not_allowed(struct wqe_builder *b, const struct hcasim_wr_rule *rule)
{
	uint8_t data = hcasim_wqe_format(rule->wqe_op)->data;
	uint8_t type = b->qp_type;

	if (data == HCASIM_WQE_DATA_INLINE) {
		wqe_ctrl(b)->qpn_flags &= ~htole32(HCASIM_WQE_CTRL_INLINE_MASK);
		EXPECT(b, BAD_SEGMENT, LOC_QP_OP_ERR);
		return;
	}
	wqe_build_inline(b, rule->wqe_op, type, 8);
	if (rule->inline_ok)
		EXPECT(b, NONE, OK);
	else
		EXPECT(b, INLINE_NOT_ALLOWED, LOC_QP_OP_ERR);
}

static void test_bad_ctrl(void)
{
	for_every_cell(bad_ctrl);
	for_every_cell(stale_first);
}

static void test_bad_size(void)
{
	for_every_cell(bad_size);
}

static void test_reserved(void)
{
	for_every_cell(reserved_fields);
}

static void test_inline_not_allowed(void)
{
	for_every_cell(inline_where_it_is_not_allowed);
}

static void test_bad_inline(void)
{
	struct hcasim_seg_inline *seg;
	struct wqe_builder b;

	wqe_build_inline(&b, HCASIM_WQE_OP_SEND, HCASIM_QPT_RC, 12);
	seg = (struct hcasim_seg_inline *)(b.raw + b.data);
	seg->length = htole32(13); /* a 16-byte unit more than there is */
	EXPECT(&b, BAD_SIZE, LOC_QP_OP_ERR);
	seg->length = htole32(28);
	EXPECT(&b, BAD_SIZE, LOC_QP_OP_ERR);
	seg->length = htole32(11); /* the same units */
	EXPECT(&b, NONE, OK);
	seg->length = htole32(HCASIM_MAX_INLINE + 1);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->length = htole32(0x1000c);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->length = htole32(UINT32_MAX);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	/* Inline without its segment. */
	wqe_ctrl(&b)->size = b.data / HCASIM_SEG_UNIT;
	EXPECT(&b, BAD_SIZE, LOC_QP_OP_ERR);
}

static void test_bad_ud(void)
{
	struct hcasim_seg_ud *seg;
	struct wqe_builder b;

	wqe_build(&b, HCASIM_WQE_OP_SEND, HCASIM_QPT_UD, 1);
	seg = (struct hcasim_seg_ud *)(b.raw + b.ud);
	seg->qpn = htole32(1u << 24);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->qpn = htole32(0xffffff);
	EXPECT(&b, NONE, OK);
	seg->flow_label = htole32(1u << 20);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->flow_label = htole32(0xfffff);
	EXPECT(&b, NONE, OK);
	seg->sl = 16;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	wqe_build(&b, HCASIM_WQE_OP_SEND, HCASIM_QPT_XRC_SEND, 1);
	((struct hcasim_seg_xrc *)(b.raw + b.xrc))->srqn = htole32(1u << 24);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	((struct hcasim_seg_xrc *)(b.raw + b.xrc))->srqn = htole32(0xffffff);
	EXPECT(&b, NONE, OK);
}

static void test_bad_atomic(void)
{
	static const uint32_t lengths[] = {0, 4, 7, 9, 16, UINT32_MAX};
	struct hcasim_seg_data *seg;
	struct wqe_builder b;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		wqe_build(&b, HCASIM_WQE_OP_ATOMIC_CS, HCASIM_QPT_RC, 1);
		seg = (struct hcasim_seg_data *)(b.raw + b.data);
		seg->length = htole32(lengths[i]);
		EXPECT(&b, BAD_SEGMENT, LOC_LEN_ERR);
	}
	wqe_build(&b, HCASIM_WQE_OP_ATOMIC_FA, HCASIM_QPT_RC, 0);
	EXPECT(&b, BAD_SEGMENT, LOC_LEN_ERR);
	/* Eight bytes in two pieces are eight bytes. */
	wqe_build(&b, HCASIM_WQE_OP_ATOMIC_FA, HCASIM_QPT_RC, 2);
	seg = (struct hcasim_seg_data *)(b.raw + b.data);
	seg[0].length = htole32(3);
	seg[1].length = htole32(5);
	EXPECT(&b, NONE, OK);
	wqe_build_inline(&b, HCASIM_WQE_OP_ATOMIC_WRITE, HCASIM_QPT_RC, 4);
	EXPECT(&b, BAD_SEGMENT, LOC_LEN_ERR);
}

static void test_bad_bind(void)
{
	struct hcasim_seg_bind *seg;
	struct wqe_builder b;

	wqe_build(&b, HCASIM_WQE_OP_BIND_MW, HCASIM_QPT_RC, 0);
	seg = (struct hcasim_seg_bind *)(b.raw + b.bind);
	seg->type = 0;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->type = 3;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->type = 1;
	EXPECT(&b, NONE, OK);
	/* IBTA: a window grants remote access only. */
	seg->access = htole32(HCASIM_ACCESS_LOCAL_WRITE);
	EXPECT(&b, BAD_SEGMENT, MW_BIND_ERR);
	seg->access = htole32(1u << 31);
	EXPECT(&b, BAD_SEGMENT, MW_BIND_ERR);
	seg->access = 0;
	EXPECT(&b, NONE, OK);
}

static void test_bad_tso(void)
{
	static const uint8_t rest[HCASIM_MAX_TSO_HDR - 64];
	struct hcasim_seg_tso *seg;
	struct wqe_builder b;

	wqe_build(&b, HCASIM_WQE_OP_TSO, HCASIM_QPT_UD, 0);
	seg = (struct hcasim_seg_tso *)(b.raw + b.tso);
	seg->mss = 0;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->mss = htole16(1);
	EXPECT(&b, NONE, OK);
	seg->hdr_size = 0;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->hdr_size = htole16(HCASIM_MAX_TSO_HDR + 1);
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->hdr_size = htole16(65); /* beyond the WQE */
	EXPECT(&b, BAD_SIZE, LOC_QP_OP_ERR);
	/* The longest headers there are. */
	wqe_append(&b, rest, sizeof(rest));
	seg->hdr_size = htole16(HCASIM_MAX_TSO_HDR);
	EXPECT(&b, NONE, OK);
}

static void test_bad_flush(void)
{
	struct hcasim_seg_flush *seg;
	struct wqe_builder b;

	wqe_build(&b, HCASIM_WQE_OP_FLUSH, HCASIM_QPT_RC, 0);
	seg = (struct hcasim_seg_flush *)(b.raw + b.flush);
	seg->type = 0;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->type = 4;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->type = 3;
	EXPECT(&b, NONE, OK);
	seg->level = 2;
	EXPECT(&b, BAD_SEGMENT, LOC_QP_OP_ERR);
	seg->level = 0;
	seg->length = htole64(1ull << 32);
	EXPECT(&b, MSG_TOO_LONG, LOC_LEN_ERR);
	seg->length = htole64(UINT32_MAX);
	EXPECT(&b, NONE, OK);
}

static void test_wqe_size(void)
{
	struct wqe_builder b;

	wqe_build(&b, HCASIM_WQE_OP_NOP, HCASIM_QPT_RC, 0);
	for (unsigned int size = 0; size < 256; size++) {
		wqe_ctrl(&b)->size = size;
		CU_ASSERT_EQUAL(native_personality.wqe_size(b.raw), size <= 64 ? size * 16 : 0);
	}
}

/*
 * Bytes that never were a WQE, behind a valid control segment: the decoder returns an error or a result, and what
 * it hands out lies inside what it was given. The block is exactly as long as its length, so that the
 * address sanitizer sees a read beyond it.
 */
static void test_garbage(void)
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND};
	unsigned int seed = 1, accepted = 0;

	for (unsigned int n = 0; n < 200000; n++) {
		uint32_t units = 1 + (unsigned int)rand_r(&seed) % 64, len = units * HCASIM_SEG_UNIT;
		struct hcasim_wqe_ctrl ctrl = {
			.opcode = (unsigned int)rand_r(&seed) % 15,
			.size = units,
			.index = htole16(TEST_INDEX),
			.qpn_flags = htole32(TEST_QPN | ((unsigned int)rand_r(&seed) & 0x1f) << 24)};
		uint8_t *raw = malloc(len);
		struct wqe_result r;

		CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
		for (uint32_t i = 0; i < len; i++) /* mostly zero, or no segment would ever pass */
			raw[i] = (unsigned int)rand_r(&seed) % 16 ? 0 : (uint8_t)rand_r(&seed);
		memcpy(raw, &ctrl, sizeof(ctrl));
		r.vendor = native_decode_wqe(raw, len, types[n % 3], TEST_QPN, TEST_INDEX, &r.wr, r.sge,
					     HCASIM_MAX_SGE, &r.status);
		CU_ASSERT_EQUAL(!r.vendor, r.status == HCASIM_CQE_STATUS_OK);
		if (!r.vendor) {
			accepted++;
			CU_ASSERT(r.wr.num_sge <= HCASIM_MAX_SGE);
			CU_ASSERT(!r.wr.inline_data || r.wr.inline_data + r.wr.length <= raw + len);
			CU_ASSERT(!r.wr.tso.hdr || r.wr.tso.hdr + r.wr.tso.hdr_size <= raw + len);
		}
		free(raw);
	}
	CU_ASSERT(accepted > 1000);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"every cell", test_every_cell},
		{"SGE lists", test_sge_lists},
		{"length does not wrap", test_length_does_not_wrap},
		{"inline", test_inline},
		{"flags", test_flags},
		{"bad ctrl", test_bad_ctrl},
		{"bad size", test_bad_size},
		{"reserved fields", test_reserved},
		{"inline not allowed", test_inline_not_allowed},
		{"bad inline", test_bad_inline},
		{"bad UD and XRC address", test_bad_ud},
		{"bad atomic", test_bad_atomic},
		{"bad bind", test_bad_bind},
		{"bad TSO", test_bad_tso},
		{"bad flush", test_bad_flush},
		{"wqe_size", test_wqe_size},
		{"garbage", test_garbage},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{.pName = "native WQE", .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
