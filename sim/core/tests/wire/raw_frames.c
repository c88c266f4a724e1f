// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "raw_frames.h"
#include "core/wire/frame.h"

void raw_pair(struct pair *p)
{
	pair_new(p, HCASIM_QPT_RAW_PACKET, NULL, NULL, 0, 16384);
}

uint32_t raw_flow(struct fixture_qp *qp, const struct hca_flow_attr *like, uint8_t kind, uint16_t priority)
{
	struct hca_flow_attr a = like ? *like : (struct hca_flow_attr){0};
	uint32_t id = 0;

	a.qpn = qp->qpn;
	a.port = 1;
	a.kind = kind;
	a.priority = priority;
	CU_ASSERT_EQUAL(hca_flow_create(qp->fixture->hca[qp->side], &a, &id), 0);
	return id;
}

uint32_t raw_frame(struct pair *p, uint16_t dport, uint32_t payload)
{
	uint8_t *m = p->mem[0];

	memset(m, 0, ETH_LEN + IPV4_LEN + UDP_LEN);
	untimed_mac(1, 1, m);
	m[6] = 2;
	put16(m + ETH_TYPE, ETH_TYPE_IPV4);
	m += ETH_LEN;
	m[0] = 0x45;
	put16(m + IPV4_TOTAL, IPV4_LEN + UDP_LEN + payload);
	m[IPV4_TTL] = 9;
	m[IPV4_PROTO] = IP_PROTO_UDP;
	put32(m + IPV4_SRC, 0x0a000001);
	put32(m + IPV4_DST, 0x0a000002);
	m += IPV4_LEN;
	put16(m, 7777);
	put16(m + UDP_DPORT, dport);
	put16(m + UDP_LENGTH, UDP_LEN + payload);
	return ETH_LEN + IPV4_LEN + UDP_LEN + payload;
}

void raw_send(struct pair *p, uint32_t flags, uint32_t len)
{
	fixture_send(p->qp[0], HCASIM_WQE_OP_SEND, flags, fixture_sge(p->mem[0], len, p->key[0]), 0, 0);
	fixture_run(p->fixture);
}

void raw_recv(struct pair *p, struct fixture_qp *qp)
{
	struct hca_sge sge = fixture_sge(p->mem[1], 8192, p->key[1]);

	fixture_recv(qp, &sge, 1);
}
