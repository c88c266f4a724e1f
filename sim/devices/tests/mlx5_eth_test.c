// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ethernet frames of the mlx5 family: send WQEs as DPDK builds them, and what CQEs of received frames say. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>

#include "devices/mlx5/format/format.h"
#include "hcasim_mlx5.h"
#include "hcasim_verbs.h"

#define QPN   0xabcdefu
#define INDEX 0xfff0u

/* ---- WQEs ---- */

struct wqe {
	uint8_t raw[1024];
	uint32_t len;
	uint8_t status;
	struct hca_wr wr;
	struct hca_sge sge[HCASIM_MLX5_MAX_SGE];
};

static void put(struct wqe *w, const void *seg, uint32_t size)
{
	memcpy(w->raw + w->len, seg, size);
	w->len += size;
}

static void begin(struct wqe *w)
{
	const struct hcasim_mlx5_wqe_ctrl ctrl = {.opmod_idx_opcode =
							  htobe32(INDEX << 8 | HCASIM_MLX5_OPCODE_SEND)};

	memset(w, 0, sizeof(*w));
	put(w, &ctrl, sizeof(ctrl));
}

static void put_sge(struct wqe *w)
{
	const struct hcasim_mlx5_seg_data seg = {htobe32(1000), htobe32(1), htobe64(0x1000)};

	put(w, &seg, sizeof(seg));
}

static void put_inline(struct wqe *w, const char *text)
{
	const __be32 head = htobe32(0x80000000u | (uint32_t)strlen(text));

	put(w, &head, sizeof(head));
	put(w, text, (uint32_t)strlen(text));
	w->len = (w->len + 15) & ~15u;
}

/* The first `units` of 16 bytes are the WQE. */
static uint8_t decode_units(struct wqe *w, uint32_t units)
{
	struct hcasim_mlx5_wqe_ctrl *ctrl = (void *)w->raw;

	ctrl->qpn_ds = htobe32(QPN << 8 | units);
	return mlx5_decode_wqe(w->raw, w->len, HCASIM_QPT_RAW_PACKET, QPN, INDEX, &w->wr, w->sge,
			       HCASIM_MLX5_MAX_SGE, &w->status);
}

static uint8_t decode(struct wqe *w)
{
	return decode_units(w, w->len / 16);
}

/* An Ethernet segment with the headers 0x00, 0x01, ..., padded to whole units. */
static void put_eth(struct wqe *w, uint8_t cs_flags, uint16_t headers)
{
	struct hcasim_mlx5_seg_eth seg = {
		.cs_flags = cs_flags, .inline_hdr_sz = htobe16(headers), .inline_hdr = {0, 1}};
	uint8_t more[256];

	put(w, &seg, sizeof(seg));
	for (unsigned int i = 0; i < sizeof(more); i++)
		more[i] = (uint8_t)(i + 2);
	if (headers > 2)
		put(w, more, (headers - 2 + 15u) & ~15u);
}

/* As DPDK makes frames: the first headers, or all of the frame, in the Ethernet segment; data, if any, behind them. */
static void test_eth_headers(void)
{
	static const uint16_t sizes[] = {1, 2, 3, 14, 18, 19, 200};
	struct wqe w;

	for (unsigned int i = 0; i < 3 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint16_t size = sizes[i / 3];

		begin(&w);
		put_eth(&w, 0, size);
		if (i % 3 == 1)
			put_inline(&w, "seventeen letters");
		if (i % 3)
			put_sge(&w);
		CU_ASSERT_EQUAL(decode(&w), 0);
		CU_ASSERT_EQUAL(w.wr.flags, 0);
		CU_ASSERT_EQUAL_FATAL(w.wr.tso.hdr_size, size);
		for (unsigned int k = 0; k < size; k++)
			CU_ASSERT_EQUAL(w.wr.tso.hdr[k], k);
		CU_ASSERT_EQUAL(w.wr.lead_len, i % 3 == 1 ? 17 : 0);
		CU_ASSERT_EQUAL(w.wr.length, w.wr.lead_len + (i % 3 ? 1000 : 0));
		CU_ASSERT_EQUAL(w.wr.num_sge, i % 3 ? 1 : 0);
	}
	begin(&w);
	put_eth(&w, 0, 18);
	CU_ASSERT_EQUAL(decode_units(&w, 2), HCASIM_VENDOR_ERR_BAD_SIZE);
	begin(&w);
	put_eth(&w, 0, 0);
	w.raw[16 + offsetof(struct hcasim_mlx5_seg_eth, inline_hdr_sz)] = 0x80; /* a VLAN tag to insert */
	CU_ASSERT_EQUAL(decode(&w), HCASIM_VENDOR_ERR_BAD_SEGMENT);
}

static void test_eth_checksums(void)
{
	static const uint32_t wanted[] = {0, HCA_WR_L3_CSUM, HCA_WR_L4_CSUM, HCA_WR_IP_CSUM};
	struct wqe w;

	for (uint8_t flags = 0; flags < 4; flags++) {
		begin(&w);
		put_eth(&w, (uint8_t)(flags << 6), 0);
		put_sge(&w);
		CU_ASSERT_EQUAL(decode(&w), 0);
		CU_ASSERT_EQUAL(w.wr.flags, wanted[flags]);
	}
	for (uint8_t inner = 1; inner < 4; inner++) { /* of tunnels: not announced */
		begin(&w);
		put_eth(&w, (uint8_t)(inner << 4), 0);
		CU_ASSERT_EQUAL(decode(&w), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	}
	for (unsigned int i = 0; i < 2; i++) { /* so are headers that software describes */
		const struct hcasim_mlx5_seg_eth swp = {.swp_offs = htobe32(!i), .swp_flags = i};

		begin(&w);
		put(&w, &swp, sizeof(swp));
		CU_ASSERT_EQUAL(decode(&w), HCASIM_VENDOR_ERR_BAD_SEGMENT);
	}
}

/* ---- CQEs ---- */

static struct hcasim_mlx5_cqe encoded(const struct hca_cpl *cpl)
{
	struct hcasim_mlx5_cqe cqe;

	mlx5_encode_cqe(cpl, 1, &cqe, sizeof(cqe));
	return cqe;
}

static struct hcasim_mlx5_cqe of_frame(struct hca_headers headers)
{
	const struct hca_cpl cpl = {
		.qpn = QPN, .op = HCASIM_CQE_OP_RECV, .vlan = 0xffff, .frame = true, .headers = headers};

	return encoded(&cpl);
}

/* hds_ip_ext and l4_hdr_type_etc as DPDK reads them (hdr_type_etc of its struct mlx5_cqe). */
static void test_cqe_headers(void)
{
	static const struct {
		struct hca_headers headers;
		uint8_t ok, types;
	} cases[] = {
		{{0}, 1, 0},
		{{.ip = 4}, 1, 2 << 2},
		{{.ip = 6, .l3_ok = true}, 3, 1 << 2},
		{{.ip = 4, .l4 = HCA_L4_UDP, .l3_ok = true}, 3, 2 << 2 | 2 << 4},
		{{.ip = 4, .l4 = HCA_L4_TCP, .l4_ok = true}, 5, 2 << 2 | 1 << 4},
		{{.ip = 6, .l4 = HCA_L4_TCP_ACK, .l3_ok = true, .l4_ok = true}, 7, 1 << 2 | 3 << 4},
		{{.ip = 6, .l4 = HCA_L4_TCP_ACK_DATA, .l3_ok = true, .l4_ok = true}, 7, 1 << 2 | 4 << 4},
		{{.ip = 4, .fragment = true, .l3_ok = true}, 3, 2 << 2 | 1 << 7},
		{{.ip = 4, .options = true, .l3_ok = true}, 3, 2 << 2 | 1 << 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hcasim_mlx5_cqe cqe = of_frame(cases[i].headers);

		CU_ASSERT_EQUAL(cqe.hds_ip_ext, cases[i].ok);
		CU_ASSERT_EQUAL(cqe.l4_hdr_type_etc, cases[i].types);
		CU_ASSERT_EQUAL(be32toh(cqe.sop_drop_qpn), 0); /* no flow has tagged it */
		CU_ASSERT_EQUAL(be32toh(cqe.rx_hash_result), 0);
		CU_ASSERT_EQUAL(cqe.rx_hash_type, 0);
	}
}

/* By hand: the hash is in bytes 12 to 15, what was hashed in byte 16. */
static void test_cqe_hash(void)
{
	static const struct {
		uint32_t fields;
		uint8_t type;
	} cases[] = {
		{HCASIM_RSS_FIELD_SRC_IPV4, 0x01},     {HCASIM_RSS_FIELD_DST_IPV4, 0x04},
		{HCASIM_RSS_FIELD_SRC_IPV6, 0x02},     {HCASIM_RSS_FIELD_DST_IPV6, 0x08},
		{HCASIM_RSS_FIELD_SRC_PORT_TCP, 0x10}, {HCASIM_RSS_FIELD_DST_PORT_TCP, 0x40},
		{HCASIM_RSS_FIELD_SRC_PORT_UDP, 0x20}, {HCASIM_RSS_FIELD_DST_PORT_UDP, 0x80},
	};
	struct hca_cpl cpl = {.op = HCASIM_CQE_OP_RECV, .vlan = 0xffff, .frame = true, .hash = 0x51ccc178};
	uint8_t raw[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cpl.hash_fields = cases[i].fields;
		mlx5_encode_cqe(&cpl, 1, raw, sizeof(raw));
		CU_ASSERT_EQUAL(memcmp(raw + 12, "\x51\xcc\xc1\x78", 4), 0);
		CU_ASSERT_EQUAL(raw[16], cases[i].type);
		CU_ASSERT_EQUAL(raw[17], 0);
	}
	cpl.hash_fields |= HCASIM_RSS_FIELD_SRC_IPV6 | HCASIM_RSS_FIELD_DST_IPV6;
	CU_ASSERT_EQUAL(encoded(&cpl).rx_hash_type, 0x8a);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"headers of a frame", test_eth_headers},
		{"checksums of a frame", test_eth_checksums},
		{"headers in a CQE", test_cqe_headers},
		{"hash in a CQE", test_cqe_hash},
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = {{.pName = "mlx5 frames", .pTests = (CU_TestInfo *)tests},
				 CU_SUITE_INFO_NULL};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
		return EXIT_FAILURE;
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
