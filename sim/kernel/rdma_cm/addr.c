// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GID tables of the simulated machine, and how the kernel's address resolution treats a GID. All adapters are
 * on one wire, so their GID tables serve as the neighbour table.
 */
#include <errno.h>
#include <string.h>

#include "kernel/priv.h"

bool addr_is_v4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, prefix, sizeof(prefix));
}

bool addr_is_multicast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (addr_is_v4(gid) && (gid[12] & 0xf0) == 0xe0);
}

/* RFC 1112 6.4: the low 23 bits of the group; RFC 2464 7: the low 32 bits. */
static void multicast_mac(const uint8_t gid[16], uint8_t mac[6])
{
	if (addr_is_v4(gid)) {
		const uint8_t v4[6] = {0x01, 0x00, 0x5e, gid[13] & 0x7f, gid[14], gid[15]};

		memcpy(mac, v4, 6);
	} else {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, gid + 12, 4);
	}
}

static bool is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* RFC 4291, appendix A: a modified EUI-64 holds the MAC around ff:fe, with the U/L bit inverted. */
static bool is_eui64(const uint8_t gid[16])
{
	return gid[11] == 0xff && gid[12] == 0xfe;
}

static void mac_to_link_local(const uint8_t mac[6], uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	memcpy(gid + 8, mac, 3);
	gid[8] ^= 2;
	gid[11] = 0xff;
	gid[12] = 0xfe;
	memcpy(gid + 13, mac + 3, 3);
}

static void link_local_to_mac(const uint8_t gid[16], uint8_t mac[6])
{
	memcpy(mac, gid + 8, 3);
	mac[0] ^= 2;
	memcpy(mac + 3, gid + 13, 3);
}

static void set_gid(struct kdev *d, unsigned int port, unsigned int index, const uint8_t gid[16], bool v1)
{
	struct kgid *g = &d->gid[port - 1][index];

	if (kdev_ops(d)->set_gid(&d->drv, port, index, gid, v1))
		return;
	memcpy(g->raw, gid, 16);
	g->valid = true;
	g->v1 = v1;
}

static bool has_v1(const struct kdev *d)
{
	const enum drv_roce_v1 v1 = kdev_ops(d)->roce_v1;

	return v1 == DRV_ROCE_V1_ALWAYS || (v1 == DRV_ROCE_V1_CONFIGURED && d->drv.cfg->roce_v1);
}

/*
 * The addresses in the order of Linux (roce_gid_mgmt.c): link-local, from the MAC; 10.77.<port - 1>.<adapter + 1>. Each has an
 * entry of RoCEv1, if the adapter has these, and then one of RoCEv2.
 */
void addr_fill_gids(struct kdev *d)
{
	uint8_t gid[2][16];

	for (unsigned int port = 1; port <= d->num_ports; port++) {
		const uint8_t v4[16] = {[10] = 0xff, 0xff, 10, 77, port - 1, d->index + 1};
		unsigned int n = 0;

		mac_to_link_local(d->drv.cfg->mac[port - 1], gid[0]);
		memcpy(gid[1], v4, 16);
		for (unsigned int i = 0; i < 2; i++) {
			if (has_v1(d))
				set_gid(d, port, n++, gid[i], true);
			set_gid(d, port, n++, gid[i], false);
		}
	}
}

const struct kgid *addr_find_gid(const struct kdev *d, uint8_t port, const uint8_t gid[16], bool v1)
{
	for (unsigned int i = 0; i < MAX_GIDS; i++) {
		const struct kgid *g = &d->gid[port - 1][i];

		if (g->valid && g->v1 == v1 && !memcmp(g->raw, gid, 16))
			return g;
	}
	return NULL;
}

int addr_check_sgid(const struct kdev *d, uint32_t port, uint32_t index)
{
	if (!kdev_port_valid(d, port) || index >= d->port[port - 1].gid_tbl_len || index >= MAX_GIDS)
		return -EINVAL;
	return d->gid[port - 1][index].valid ? 0 : -ENODATA;
}

/* Whatever its RoCE version: that is no property of an address. */
static const uint8_t *find_mac(const struct kernel *k, const uint8_t gid[16])
{
	for (unsigned int i = 0; i < k->num_devices; i++) {
		const struct kdev *d = &k->dev[i];

		for (unsigned int p = 1; p <= d->num_ports; p++) {
			if (addr_find_gid(d, p, gid, false) || addr_find_gid(d, p, gid, true))
				return d->drv.cfg->mac[p - 1];
		}
	}
	return NULL;
}

/*
 * An IPv4 destination that no adapter has is treated as on-link and not answering ARP: ETIMEDOUT. An IPv6
 * destination that is not link-local has no route: ENETUNREACH.
 */
static int unicast_mac(const struct kdev *d, const uint8_t sgid[16], const uint8_t dgid[16], uint8_t mac[6])
{
	const uint8_t *known;

	if (addr_is_v4(sgid) != addr_is_v4(dgid))
		return -EINVAL;
	known = find_mac(d->k, dgid);
	if (known)
		memcpy(mac, known, 6);
	else if (addr_is_v4(dgid))
		return -ETIMEDOUT;
	else if (!is_link_local(dgid))
		return -ENETUNREACH;
	else if (!is_eui64(dgid))
		return -ETIMEDOUT;
	else
		link_local_to_mac(dgid, mac);
	return 0;
}

int addr_resolve(const struct kdev *d, const struct ib_uverbs_ah_attr *attr, struct hca_av *av)
{
	const struct kgid *g;
	int ret;

	/* RoCE has no address without a GRH (IBTA annex A16.3). */
	if (!kdev_port_valid(d, attr->port_num) || !attr->is_global)
		return -EINVAL;
	ret = addr_check_sgid(d, attr->port_num, attr->grh.sgid_index);
	if (ret)
		return ret;
	memset(av, 0, sizeof(*av));
	memcpy(av->dgid, attr->grh.dgid, 16);
	av->sgid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	av->flow_label = attr->grh.flow_label & 0xfffff;
	av->sl = attr->sl;
	av->port = attr->port_num;
	if (addr_is_multicast(av->dgid)) {
		multicast_mac(av->dgid, av->dmac);
		return 0;
	}
	g = &d->gid[attr->port_num - 1][attr->grh.sgid_index];
	if (g->v1 && is_link_local(av->dgid)) {
		/* Without a route, as in Linux: ib_resolve_unicast_gid_dmac(). */
		link_local_to_mac(av->dgid, av->dmac);
		return 0;
	}
	av->hop_limit = DEFAULT_HOPS;
	return unicast_mac(d, g->raw, av->dgid, av->dmac);
}
