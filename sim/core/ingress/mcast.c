// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast groups: the UD QPs that receive datagrams to a multicast GID. */
#include "containers/hash.h"
#include "core/ingress/ingress.h"
#include "core/wire/wire.h"

static uint64_t key_of_gid(const uint8_t gid[16])
{
	return hash_bytes(HASH_START, gid, 16);
}

static struct mcast_group *find_group(const struct hca *hca, const uint8_t gid[16])
{
	struct table_node *n = table_find(&hca->mcast.groups, key_of_gid(gid));

	for (; n; n = table_next(n)) {
		struct mcast_group *g = table_entry(n, struct mcast_group, node);

		if (!memcmp(g->gid, gid, 16))
			return g;
	}
	return NULL;
}

static struct mcast_group *get_group(struct hca *hca, const uint8_t gid[16])
{
	struct mcast_group *g = find_group(hca, gid);

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	memcpy(g->gid, gid, 16);
	list_init(&g->members);
	table_add(&hca->mcast.groups, &g->node, key_of_gid(gid));
	return g;
}

static void put_group(struct hca *hca, struct mcast_group *g)
{
	if (!list_empty(&g->members))
		return;
	table_remove(&hca->mcast.groups, &g->node);
	free(g);
}

static uint64_t key_of_member(const uint8_t gid[16], uint32_t qpn)
{
	return hash_bytes(key_of_gid(gid), &qpn, sizeof(qpn));
}

static struct mcast *find_member(const struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	struct table_node *n = table_find(&hca->mcast.members, key_of_member(gid, qpn));

	for (; n; n = table_next(n)) {
		struct mcast *m = table_entry(n, struct mcast, node);

		if (m->qp->qpn == qpn && !memcmp(m->group->gid, gid, 16))
			return m;
	}
	return NULL;
}

static void leave(struct hca *hca, struct mcast *m)
{
	table_remove(&hca->mcast.members, &m->node);
	list_del(&m->on_group);
	list_del(&m->on_qp);
	put_group(hca, m->group);
	free(m);
}

static struct mcast *join(struct hca *hca, struct qp *qp, const uint8_t gid[16])
{
	struct mcast *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->group = get_group(hca, gid);
	if (!m->group) {
		free(m);
		return NULL;
	}
	m->qp = qp;
	table_add(&hca->mcast.members, &m->node, key_of_member(gid, qp->qpn));
	list_add_tail(&m->group->members, &m->on_group);
	list_add_tail(&qp->mcasts, &m->on_qp);
	return m;
}

int hca_mcast_attach(struct hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	struct qp *qp = qp_find(hca, qpn);
	struct mcast *m;

	if (!qp || qp->c.type != HCASIM_QPT_UD)
		return -EINVAL;
	m = find_member(hca, gid, qpn);
	if (!m)
		m = join(hca, qp, gid);
	if (!m)
		return -ENOMEM;
	m->uses++;
	return 0;
}

int hca_mcast_detach(struct hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	struct mcast *m = find_member(hca, gid, qpn);

	if (!m)
		return -EINVAL;
	if (!--m->uses)
		leave(hca, m);
	return 0;
}

static bool is_own(const struct hca *hca, const struct qp *qp, const struct rxwork *w)
{
	return w->info.sqpn == qp->qpn && port_has_gid(&hca->port[w->port - 1], w->info.sgid, w->info.v1);
}

/* IBTA 10.5.2: every attached QP that the packet is valid for gets a copy; one that blocks its own not of these. */
bool mcast_deliver(struct hca *hca, struct rxwork *w)
{
	const struct mcast_group *g = find_group(hca, w->info.dgid);
	bool any = false;

	for (struct node *n = g ? g->members.next : NULL; n && n != &g->members; n = n->next) {
		struct qp *qp = node_entry(n, struct mcast, on_group)->qp;

		if (!qp->c.block_self_mcast || !is_own(hca, qp, w))
			any |= rx_copy_to(hca, qp, w, false);
	}
	return any;
}

void mcast_forget(struct hca *hca, struct qp *qp)
{
	while (!list_empty(&qp->mcasts))
		leave(hca, node_entry(qp->mcasts.next, struct mcast, on_qp));
}

void mcast_free(struct hca *hca)
{
	table_free(&hca->mcast.groups);
	table_free(&hca->mcast.members);
}
