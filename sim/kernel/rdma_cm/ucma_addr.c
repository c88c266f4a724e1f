// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Addresses that programs pass, the adapters they belong to, and port spaces. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "kernel/rdma_cm/ucma.h"

#define FIRST_PORT 32768 /* net.ipv4.ip_local_port_range */
#define LAST_PORT  60999

static const struct sockaddr_in *in4(const struct sockaddr_storage *a)
{
	return (const struct sockaddr_in *)a;
}

static const struct sockaddr_in6 *in6(const struct sockaddr_storage *a)
{
	return (const struct sockaddr_in6 *)a;
}

static const struct addr_ib *ib(const struct sockaddr_storage *a)
{
	return (const struct addr_ib *)a;
}

size_t ua_size(const void *addr, size_t room)
{
	sa_family_t family;
	size_t size;

	memcpy(&family, addr, sizeof(family));
	size = family == AF_INET    ? sizeof(struct sockaddr_in)
	       : family == AF_INET6 ? sizeof(struct sockaddr_in6)
	       : family == AF_IB    ? sizeof(struct addr_ib)
				    : 0;
	return size <= room ? size : 0;
}

/* The kernel's connection manager treats loopback addresses like the unspecified address (cma_any_addr()). */
bool ua_any(const struct sockaddr_storage *a)
{
	static const uint8_t zero[16];

	switch (a->ss_family) {
	case AF_INET:
		return !in4(a)->sin_addr.s_addr || ntohl(in4(a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&in6(a)->sin6_addr) ||
		       IN6_IS_ADDR_LOOPBACK(&in6(a)->sin6_addr);
	case AF_IB:
		return !memcmp(ib(a)->gid, zero, sizeof(zero));
	default:
		return true;
	}
}

bool ua_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	switch (a->ss_family) {
	case AF_INET:
		return in4(a)->sin_addr.s_addr == in4(b)->sin_addr.s_addr;
	case AF_INET6:
		return IN6_ARE_ADDR_EQUAL(&in6(a)->sin6_addr, &in6(b)->sin6_addr) &&
		       (!IN6_IS_ADDR_LINKLOCAL(&in6(a)->sin6_addr) ||
			in6(a)->sin6_scope_id == in6(b)->sin6_scope_id);
	case AF_IB:
		return !memcmp(ib(a)->gid, ib(b)->gid, 16);
	default:
		return false;
	}
}

uint16_t ua_port(const struct sockaddr_storage *a)
{
	switch (a->ss_family) {
	case AF_INET:
		return ntohs(in4(a)->sin_port);
	case AF_INET6:
		return ntohs(in6(a)->sin6_port);
	case AF_IB:
		return be64toh(ib(a)->sid) & be64toh(ib(a)->sid_mask);
	default:
		return 0;
	}
}

void ua_set_port(struct sockaddr_storage *a, uint16_t port)
{
	struct addr_ib *g = (struct addr_ib *)a;

	switch (a->ss_family) {
	case AF_INET:
		((struct sockaddr_in *)a)->sin_port = htons(port);
		break;
	case AF_INET6:
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
		break;
	case AF_IB:
		g->sid = htobe64((be64toh(g->sid) & ~0xffffull) | port);
		g->sid_mask = UINT64_MAX;
		break;
	}
}

/* An IPv4 address becomes an IPv4-mapped GID (IBTA annex A17.4.5.2). */
void ua_gid(const struct sockaddr_storage *a, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (a->ss_family == AF_INET6) {
		memcpy(gid, &in6(a)->sin6_addr, 16);
	} else if (a->ss_family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &in4(a)->sin_addr, 4);
	} else if (a->ss_family == AF_IB) {
		memcpy(gid, ib(a)->gid, 16);
	}
}

static bool is_scoped(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6(a)->sin6_addr);
}

static bool is_mapped(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6(a)->sin6_addr);
}

bool ua_find(struct kernel *k, const struct sockaddr_storage *a, struct kdev **dev, uint8_t *port,
	     uint8_t *index)
{
	const struct kgid *g;
	uint8_t gid[16];

	if (ua_any(a) || is_mapped(a))
		return false;
	ua_gid(a, gid);
	for (unsigned int i = 0; i < k->num_devices; i++) {
		for (unsigned int p = 1; p <= k->dev[i].num_ports; p++) {
			if (is_scoped(a) && in6(a)->sin6_scope_id != kdev_ifindex(&k->dev[i], p))
				continue;
			g = addr_find_gid(&k->dev[i], p, gid, false); /* as cma's default_roce_mode */
			if (g) {
				*dev = &k->dev[i];
				*port = p;
				*index = addr_index(&k->dev[i], p, g);
				return true;
			}
		}
	}
	return false;
}

void ua_of_port(const struct kdev *d, uint8_t port, int family, struct sockaddr_storage *a, uint8_t *index)
{
	const struct kgid *g = d->gid[port - 1]; /* which has a RoCEv2 entry of each family */
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;

	while (!g->valid || g->v1 || addr_is_v4(g->raw) != (family == AF_INET))
		g++;
	a->ss_family = family;
	*index = addr_index(d, port, g);
	if (family == AF_INET) {
		memcpy(&((struct sockaddr_in *)a)->sin_addr, g->raw + 12, 4);
	} else {
		memcpy(&six->sin6_addr, g->raw, 16);
		six->sin6_scope_id = kdev_ifindex(d, port);
	}
}

/* ---- Port spaces ---- */

/* The port space of the id; 0: none. */
static uint16_t space(const struct ucma_id *id)
{
	uint16_t ps;

	if (id->src.ss_family != AF_IB)
		return id->ps;
	ps = be64toh(ib(&id->src)->sid) >> 16;
	switch (ps) {
	case RDMA_PS_IPOIB:
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
	case RDMA_PS_IB:
		return id->ps == RDMA_PS_IB || id->ps == ps ? ps : 0;
	default:
		return 0;
	}
}

uint64_t ua_service(const struct ucma_id *id, const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_IB)
		return be64toh(ib(a)->sid);
	return (uint64_t)id->ps << 16 | ua_port(a);
}

static int conflict(const struct ucma_id *id, const struct ucma_id *other, bool reuse)
{
	if (other == id || !other->bound || space(other) != space(id) ||
	    ua_port(&other->src) != ua_port(&id->src) || (reuse && other->reuse))
		return 0;
	if (id->afonly && other->afonly && id->src.ss_family != other->src.ss_family)
		return 0;
	if (ua_any(&id->src) || ua_any(&other->src))
		return -EADDRNOTAVAIL;
	return ua_equal(&id->src, &other->src) ? -EADDRINUSE : 0;
}

static uint64_t port_key(const struct ucma_id *id)
{
	return (uint64_t)space(id) << 16 | ua_port(&id->src);
}

int ua_check_port(struct ucma_id *id, bool reuse)
{
	struct table_node *n = table_find(&id->file->k->ucma->bound, port_key(id));
	int ret = 0;

	for (; n && !ret; n = table_next(n))
		ret = conflict(id, table_entry(n, struct ucma_id, by_port), reuse);
	return ret;
}

static void bind_port(struct ucma_id *id)
{
	id->bound = true;
	table_add(&id->file->k->ucma->bound, &id->by_port, port_key(id));
}

static int take_any_port(struct ucma_id *id)
{
	struct ucma *u = id->file->k->ucma;

	for (unsigned int i = FIRST_PORT; i <= LAST_PORT; i++) {
		u->last_port = u->last_port < FIRST_PORT || u->last_port >= LAST_PORT ? FIRST_PORT
										      : u->last_port + 1;
		ua_set_port(&id->src, u->last_port);
		if (!table_find(&u->bound, port_key(id))) {
			bind_port(id);
			return 0;
		}
	}
	ua_set_port(&id->src, 0);
	return -EADDRNOTAVAIL;
}

int ua_take_port(struct ucma_id *id)
{
	int ret;

	if (!space(id))
		return -EPROTONOSUPPORT;
	if (!ua_port(&id->src))
		return take_any_port(id);
	ret = ua_check_port(id, id->reuse);
	if (!ret)
		bind_port(id);
	return ret;
}
