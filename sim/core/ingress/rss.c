// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive side scaling. The hash is that of Microsoft's RSS specification (test vectors: "Verifying the RSS Hash
 * Calculation"), over the fields of the QP in the order source address, destination address, source port, destination
 * port. Its lowest bits are the index in the table.
 */
#include "core/ingress/ingress.h"
#include "core/wire/frame.h"

#define V4_FIELDS  (HCASIM_RSS_FIELD_SRC_IPV4 | HCASIM_RSS_FIELD_DST_IPV4)
#define V6_FIELDS  (HCASIM_RSS_FIELD_SRC_IPV6 | HCASIM_RSS_FIELD_DST_IPV6)
#define TCP_FIELDS (HCASIM_RSS_FIELD_SRC_PORT_TCP | HCASIM_RSS_FIELD_DST_PORT_TCP)
#define UDP_FIELDS (HCASIM_RSS_FIELD_SRC_PORT_UDP | HCASIM_RSS_FIELD_DST_PORT_UDP)

uint32_t rss_toeplitz(const uint8_t key[HCA_RSS_KEY], const uint8_t *data, uint32_t len)
{
	uint32_t window = get32(key), hash = 0, i;
	unsigned int bit;

	for (i = 0; i < len; i++) {
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80 >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1);
		}
	}
	return hash;
}

/* The fields must be of one version of IP and one protocol (as mlx5's create_rss_raw_qp_tir()). */
static bool fields_ok(const struct hca_rss *a)
{
	const uint32_t f = a->fields;

	if (!f)
		return !a->log_size;
	if (f & ~(uint32_t)(V4_FIELDS | V6_FIELDS | TCP_FIELDS | UDP_FIELDS))
		return false;
	return !(f & V4_FIELDS && f & V6_FIELDS) && !(f & TCP_FIELDS && f & UDP_FIELDS);
}

bool rss_ok(const struct hca *hca, const struct hca_rss *a)
{
	uint32_t i;

	if (a->log_size > 31 || 1u << a->log_size > HCASIM_MAX_RSS_TABLE_SIZE || !fields_ok(a))
		return false;
	for (i = 0; i < 1u << a->log_size; i++) {
		const struct qp *wq = qp_find(hca, a->wqn[i]);

		if (!wq || !wq->c.wq)
			return false;
	}
	return true;
}

int rss_set(struct hca *hca, struct qp *qp, const struct hca_rss *a)
{
	const uint32_t size = 1u << a->log_size;
	struct rss *rss = calloc(1, sizeof(*rss) + size * sizeof(rss->wq[0]));
	uint32_t i;

	if (!rss)
		return -ENOMEM;
	rss->fields = a->fields;
	rss->size = size;
	memcpy(rss->key, a->key, sizeof(rss->key));
	for (i = 0; i < size; i++) {
		rss->wq[i] = qp_find(hca, a->wqn[i]);
		rss->wq[i]->rss_tables++;
		qp_get(rss->wq[i]);
	}
	qp->rss = rss;
	qp->c.rss = NULL; /* the caller's */
	return 0;
}

void rss_drop(struct hca *hca, struct qp *qp)
{
	uint32_t i;

	if (!qp->rss)
		return;
	for (i = 0; i < qp->rss->size; i++) {
		qp->rss->wq[i]->rss_tables--;
		qp_put(hca, qp->rss->wq[i]);
	}
	free(qp->rss);
	qp->rss = NULL;
}

static uint32_t put(uint8_t *out, uint32_t at, bool wanted, const uint8_t *field, uint32_t len)
{
	if (!wanted)
		return at;
	memcpy(out + at, field, len);
	return at + len;
}

/* Collects the bytes of the frame to hash. Returns 0 if it lacks a header of one of the fields. */
static uint32_t input(uint32_t f, const uint8_t *frame, const struct net *n, uint8_t out[36])
{
	const uint8_t *ip = frame + n->l3_off, *l4 = frame + n->l4_off;
	uint32_t len = 0;

	if ((f & V4_FIELDS && n->ip != 4) || (f & V6_FIELDS && n->ip != 6) ||
	    (f & TCP_FIELDS && (!n->l4 || n->proto != IP_PROTO_TCP)) ||
	    (f & UDP_FIELDS && (!n->l4 || n->proto != IP_PROTO_UDP)))
		return 0;
	len = put(out, len, f & HCASIM_RSS_FIELD_SRC_IPV4, ip + IPV4_SRC, 4);
	len = put(out, len, f & HCASIM_RSS_FIELD_DST_IPV4, ip + IPV4_DST, 4);
	len = put(out, len, f & HCASIM_RSS_FIELD_SRC_IPV6, ip + IPV6_SRC, 16);
	len = put(out, len, f & HCASIM_RSS_FIELD_DST_IPV6, ip + IPV6_DST, 16);
	len = put(out, len, f & (HCASIM_RSS_FIELD_SRC_PORT_TCP | HCASIM_RSS_FIELD_SRC_PORT_UDP), l4, 2);
	return put(out, len, f & (HCASIM_RSS_FIELD_DST_PORT_TCP | HCASIM_RSS_FIELD_DST_PORT_UDP),
		   l4 + L4_DPORT, 2);
}

struct qp *rss_pick(const struct qp *qp, const struct hca_packet *pkt, const struct net *n, uint32_t *hash)
{
	const struct rss *rss = qp->rss;
	uint8_t data[36];
	uint32_t len;

	*hash = 0;
	if (!rss->fields)
		return rss->wq[0];
	len = input(rss->fields, pkt->data, n, data);
	if (!len)
		return NULL;
	*hash = rss_toeplitz(rss->key, data, len);
	return rss->wq[*hash & (rss->size - 1)];
}
