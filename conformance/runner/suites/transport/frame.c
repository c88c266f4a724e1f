/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Segments and checksums as the receiver sees them. */
#include <endian.h>
#include <string.h>

#include "suites/kit.h"
#include "suites/transport/bytes.h"

#define ETH         14
#define IP          20
#define TCP         20
#define UDP         8
#define LEAST_FRAME 60 /* a shorter one is padded */
#define OPTIONS     40 /* most bytes of TCP options */

#define IP_ID 0x1234
#define SEQ   0xfffffe00u /* wraps */
#define FIN   0x01
#define PSH   0x08
#define ACK   0x10
#define CWR   0x80
#define WRONG 0xbeef

/* The same sum of a TCP or UDP packet with its pseudo-header. */
static uint16_t transport_sum(const uint8_t *ip, size_t len)
{
	uint32_t pseudo = ip[9] + len;

	for (int i = 12; i < IP; i += 2)
		pseudo += get16(ip + i);
	return sum_of(pseudo, ip + IP, len);
}

/* A broadcast Ethernet header, and an IPv4 header for `len` bytes of a transport protocol. */
static void put_headers(uint8_t *p, uint8_t protocol, size_t len, bool checksums)
{
	static const uint8_t eth[ETH] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x08, 0x00};
	static const uint8_t addresses[] = {192, 0, 2, 1, 192, 0, 2, 2};
	uint8_t *ip = p + ETH;

	memcpy(p, eth, ETH);
	memset(ip, 0, IP);
	ip[0] = 0x45;
	put16(ip + 2, IP + len);
	put16(ip + 4, IP_ID);
	ip[8] = 64;
	ip[9] = protocol;
	put16(ip + 10, checksums ? 0 : WRONG);
	memcpy(ip + 12, addresses, sizeof(addresses));
}

static void put_tcp(uint8_t *tcp)
{
	static const uint8_t hdr[TCP] = {0x30,
					 0x39,
					 0,
					 9,
					 SEQ >> 24,
					 SEQ >> 16 & 0xff,
					 SEQ >> 8 & 0xff,
					 0,
					 0,
					 0,
					 0,
					 1,
					 0x50,
					 CWR | ACK | PSH | FIN,
					 0x20,
					 0};

	memcpy(tcp, hdr, TCP);
}

/* Bytes of a TCP header: with as many bytes of options (no-operation) as the cell has. */
static size_t tcp_len(const struct kit *k)
{
	return TCP + kit_arg(k, "options", 0);
}

static void put_options(const struct kit *k, uint8_t *tcp)
{
	memset(tcp + TCP, 1, tcp_len(k) - TCP);
	tcp[12] = tcp_len(k) / 4 << 4;
}

/* Checks the fields of one segment of the stream that a TCP receiver uses. */
static void judge_segment(struct kit *k, const uint8_t *p, const struct plan *plan, uint32_t at, uint32_t len)
{
	uint32_t mss = kit_arg(k, "mss", PLAN_TSO_MSS), number = at / mss;
	const uint8_t *ip = p + ETH, *tcp = ip + IP;
	size_t hdr = tcp_len(k);
	uint8_t flags = ACK | (at ? 0 : CWR) | (at + len == plan->total ? PSH | FIN : 0);

	KIT_CHECK(k, get16(ip + 2) == IP + hdr + len, "segment %u: IP length %u, expected %zu", number,
		  get16(ip + 2), IP + hdr + len);
	KIT_CHECK(k, get16(ip + 4) == (uint16_t)(IP_ID + number), "segment %u: IP id 0x%x, expected 0x%x",
		  number, get16(ip + 4), (uint16_t)(IP_ID + number));
	KIT_CHECK(k, !sum_of(0, ip, IP), "segment %u: the IP checksum is wrong", number);
	KIT_CHECK(k, get32(tcp + 4) == SEQ + at, "segment %u: sequence number 0x%x, expected 0x%x", number,
		  get32(tcp + 4), SEQ + at);
	KIT_CHECK(k, tcp[13] == flags, "segment %u: TCP flags 0x%02x, expected 0x%02x", number, tcp[13],
		  flags);
	KIT_CHECK(k, !transport_sum(ip, hdr + len), "segment %u: the TCP checksum is wrong", number);
	KIT_CHECK(k, !memcmp(tcp + hdr, plan->payload + at, len),
		  "segment %u: its payload is not that of the stream", number);
}

static void segments(struct kit *k)
{
	static struct plan plan[CELL_MAX_WR];
	uint8_t hdr[ETH + IP + TCP + OPTIONS];
	size_t hdr_len = ETH + IP + tcp_len(k);
	struct link *l = k->l;
	struct ibv_send_wr wr;
	uint32_t mss = kit_arg(k, "mss", PLAN_TSO_MSS);
	const struct link_opts opts = {.tso_header = hdr_len}; /* not a byte more */
	unsigned int slot = 0;
	size_t want;
	int rc;

	if (!kit_link(k, API_POST, &opts) || !kit_plan(k, plan))
		return;
	put_headers(hdr, kit_arg(k, "protocol", 6), tcp_len(k), true);
	put_tcp(hdr + ETH + IP);
	put_options(k, hdr + ETH + IP);
	kit_list(k, plan, 1, &wr);
	wr.tso.hdr = hdr;
	wr.tso.hdr_sz = hdr_len;
	wr.tso.mss = mss;
	rc = kit_post(k, l->qp, l->peer, &wr, NULL);
	KIT_CHECK(k, !rc, "posting was refused with %s", errno_name(rc));
	if (!kit_expect(k, l, l->cq, l->qp, wr.wr_id, k->cell->status) || k->cell->status) {
		kit_expect_none(k, l, l->peer_cq);
		return;
	}
	for (uint32_t at = 0; at < plan[0].total && KIT_GOOD(k); at += mss, slot++) {
		uint32_t len = plan[0].total - at < mss ? plan[0].total - at : mss;
		struct ibv_wc wc;

		if (!kit_wait(k, l, l->peer_cq, &wc))
			return;
		KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && wc.wr_id == link_recv_wr_id(slot),
			  "segment %u: receive completion 0x%llx %s", slot, (unsigned long long)wc.wr_id,
			  value_name(status_names, wc.status));
		want = link_grh(l) + hdr_len + len;
		if (l->qpt == IBV_QPT_RAW_PACKET && want < LEAST_FRAME)
			want = LEAST_FRAME;
		KIT_CHECK(k, wc.byte_len == want, "segment %u: byte_len %u, expected %zu", slot, wc.byte_len,
			  want);
		end_sync();
		judge_segment(k, l->slot[slot] + link_grh(l), &plan[0], at, len);
	}
	kit_expect_none(k, l, l->peer_cq);
}

SCENARIO(segments) = {
	{"one-segment", SUITE("tso"), QPS("UD RAW_PACKET"), POSTS("TSO 300+"), ARGS({"mss", 512}),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send_tso"),
	 ALSO("ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send_tso/segments "
	      "ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send_tso/hdr"),
	 ERRATA("TSO-HDR TSO-UD"),
	 SAYS("each segment arrives with its own IP length, IP id and TCP sequence number, CWR only in "
	      "the first, FIN and PSH only in the last, both checksums right, and its piece of the "
	      "payload")},
	{"full-segments", POSTS("TSO 1536+"), ARGS({"mss", 512})},
	{"last-short", POSTS("TSO 1500+"), ARGS({"mss", 512})},
	{"last-of-six", POSTS("TSO 1030+"), ARGS({"mss", 512})},
	{"odd-segments", POSTS("TSO 700+"), ARGS({"mss", 101})},
	{"one-byte-segments", POSTS("TSO 7+"), ARGS({"mss", 1})},
	{"segment-of", POSTS("TSO 700+"),
	 FORMS({"-all", {{"mss", 700}}}, {"-all-but-one", {{"mss", 699}}}, {"-more", {{"mss", 701}}})},
	{"one-byte", POSTS("TSO 1+"), ARGS({"mss", 1})},
	{"longer-than-a-frame", POSTS("TSO 4096+4096+3808"), ARGS({"mss", 900})},
	{"options", POSTS("TSO 1030+"), ARGS({"mss", 512}, {"options", 8})},
	{"too-long", POSTS("TSO 4096+4096+3808"), ARGS({"mss", 11000}), ALSO(""), STATUS("LOC_LEN_ERR"),
	 SAYS("IBV_WC_LOC_LEN_ERR, and nothing arrives")},
	{"not-tcp", POSTS("TSO 700+"), ARGS({"mss", 100}, {"protocol", 17}), STATUS("LOC_QP_OP_ERR"),
	 SAYS("IBV_WC_LOC_QP_OP_ERR, and nothing arrives")},
	{},
};

/* One frame or IPoIB message with wrong checksums: corrected on request, unchanged otherwise. */
static void checksums(struct kit *k)
{
	static struct plan plan[CELL_MAX_WR];
	bool asked = k->cell->wr[0].flags & IBV_SEND_IP_CSUM, tcp = kit_arg(k, "tcp", 0);
	const bool region = kit_arg(k, "region", 0);
	uint8_t frame[ETH + IP + TCP], *data, *got;
	struct link *l = k->l;
	unsigned int skip = 0, len;
	struct posted posted;
	struct ibv_wc wc;

	if (!kit_link(k, region ? API_WR : API_POST, NULL) || !kit_plan(k, plan))
		return;
	/* IPv4 follows the Ethernet header on a raw QP, the four bytes of IPoIB on UD */
	skip = l->qpt == IBV_QPT_UD ? 4 : ETH;
	data = (uint8_t *)(uintptr_t)plan[0].sge[0].addr;
	len = plan[0].total - skip - IP;
	put_headers(frame, tcp ? 6 : 17, len, false);
	memset(frame + ETH + IP, 0, TCP);
	if (tcp)
		put_tcp(frame + ETH + IP);
	else
		put16(frame + ETH + IP + 4, len);
	put16(frame + ETH + IP + (tcp ? 16 : 6), WRONG);
	memcpy(data + skip, frame + ETH, IP + (tcp ? TCP : UDP));
	if (skip == ETH)
		memcpy(data, frame, ETH);
	else
		memcpy(data, (uint8_t[]){8, 0, 0, 0}, 4);
	posted = region ? post_wr(l, plan, 1, false, &k->res->log) : post_list(l, plan, 1, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	if (!kit_expect(k, l, l->cq, l->qp, plan[0].wr_id, IBV_WC_SUCCESS) ||
	    !kit_wait(k, l, l->peer_cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS, "the receive ended with %s",
		  value_name(status_names, wc.status));
	end_sync();
	got = l->slot[0] + link_grh(l) + skip;
	KIT_CHECK(k, !(sum_of(0, got, IP) == 0) == !asked, "the IP checksum is %s",
		  asked ? "wrong" : "corrected without request");
	KIT_CHECK(k, !(transport_sum(got, len) == 0) == !asked, "the %s checksum is %s", tcp ? "TCP" : "UDP",
		  asked ? "wrong" : "corrected without request");
	KIT_CHECK(k, !(wc.wc_flags & IBV_WC_IP_CSUM_OK) == !asked, "IBV_WC_IP_CSUM_OK is %s",
		  asked ? "not set for right checksums" : "set for wrong checksums");
	KIT_CHECK(k, !memcmp(got + IP + TCP, data + skip + IP + TCP, len - TCP), "the payload has changed");
}

SCENARIO(checksums) = {
	{"udp-asked", SUITE("checksum"), QPS("UD RAW_PACKET"), POSTS("SEND 300 ip_csum"),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_IP_CSUM"), ERRATA("UD/IP-CSUM-UD"),
	 NEEDS("flags/IP_CSUM"),
	 SAYS("the IPv4 and the transport checksum are put in, and the receiver has IBV_WC_IP_CSUM_OK")},
	{"udp-not-asked", POSTS("SEND 300"), CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_IP_CSUM_OK"),
	 SAYS("wrong checksums arrive as they were sent, without IBV_WC_IP_CSUM_OK")},
	{"udp-odd", POSTS("SEND 301 ip_csum"),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_IP_CSUM"),
	 SAYS("the IPv4 and the transport checksum are put in, and the receiver has IBV_WC_IP_CSUM_OK")},
	{"udp-region", POSTS("SEND 302 ip_csum"), ARGS({"region", 1}),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Flags/IBV_SEND_IP_CSUM")},
	{"udp-other-flags", POSTS("SEND 300 fence solicited"),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_IP_CSUM_OK"),
	 SAYS("wrong checksums arrive as they were sent, without IBV_WC_IP_CSUM_OK")},
	{"tcp-asked", POSTS("SEND 300 ip_csum"), ARGS({"tcp", 1}),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_IP_CSUM"),
	 SAYS("the IPv4 and the transport checksum are put in, and the receiver has IBV_WC_IP_CSUM_OK")},
	{"tcp-not-asked", POSTS("SEND 300"), ARGS({"tcp", 1}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_IP_CSUM_OK"),
	 SAYS("wrong checksums arrive as they were sent, without IBV_WC_IP_CSUM_OK")},
	{"tcp-odd", POSTS("SEND 301 ip_csum"), ARGS({"tcp", 1}),
	 CLAUSE("ibv_post_send/DESCRIPTION/send_flags/IBV_SEND_IP_CSUM"),
	 SAYS("the IPv4 and the transport checksum are put in, and the receiver has IBV_WC_IP_CSUM_OK")},
	{"tcp-region", POSTS("SEND 302 ip_csum"), ARGS({"tcp", 1}, {"region", 1}),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Flags/IBV_SEND_IP_CSUM")},
	{"tcp-other-flags", POSTS("SEND 300 fence solicited"), ARGS({"tcp", 1}),
	 CLAUSE("ibv_poll_cq/DESCRIPTION/IBV_WC_IP_CSUM_OK"),
	 SAYS("wrong checksums arrive as they were sent, without IBV_WC_IP_CSUM_OK")},
	{},
};

/* A frame that is shorter than the least of Ethernet: zeros follow it. */
static void padding(struct kit *k)
{
	static struct plan plan[CELL_MAX_WR];
	uint8_t frame[ETH + IP];
	struct link *l = k->l;
	struct posted posted;
	struct ibv_wc wc;

	if (!kit_link(k, API_POST, NULL) || !kit_plan(k, plan))
		return;
	put_headers(frame, 17, 0, false);
	memcpy((uint8_t *)(uintptr_t)plan[0].sge[0].addr, frame, ETH);
	posted = post_list(l, plan, 1, &k->res->log);
	KIT_CHECK(k, !posted.rc, "posting was refused with %s", errno_name(posted.rc));
	if (!kit_expect(k, l, l->cq, l->qp, plan[0].wr_id, IBV_WC_SUCCESS) ||
	    !kit_wait(k, l, l->peer_cq, &wc))
		return;
	KIT_CHECK(k, wc.status == IBV_WC_SUCCESS && wc.byte_len == LEAST_FRAME,
		  "the receive ended with %s and %u bytes, expected %d", value_name(status_names, wc.status),
		  wc.byte_len, LEAST_FRAME);
	end_sync();
	for (unsigned int i = plan[0].total; i < LEAST_FRAME; i++)
		KIT_CHECK(k, !l->slot[0][i], "byte %u of the frame is padding and 0x%02x, expected 0", i,
			  l->slot[0][i]);
}

SCENARIO(padding) = {
	{"padding", SUITE("checksum"), QPS("RAW_PACKET"), POSTS("SEND 20"),
	 CLAUSE("ibv_wr_post/WORK-REQUESTS/Message-Send/ibv_wr_send"), LEVEL("SHOULD"), ERRATA("RAW-PADDING"),
	 SAYS("a frame of 20 bytes arrives with 60, and the other 40 are zeros")},
	{},
};
