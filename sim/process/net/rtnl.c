// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rtnetlink(7) of the simulated interfaces: links and addresses are listed, links are set up and down. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>

#include "process/preload/preload.h"
#include "process/net/netif.h"
#include "process/net/netlink.h"

#define IFF_LOWER_UP_BIT (1u << 16) /* <linux/if.h>, which <net/if.h> excludes */
#define TX_QUEUE_LEN     1000

/* ---- Messages -------------------------------------------------------------------------------------- */

static void *put(struct netlink_answer *a, size_t len)
{
	size_t room = a->room;
	char *data = a->data;

	while (room < a->len + NLMSG_ALIGN(len))
		room = room ? 2 * room : 4096;
	if (room != a->room)
		data = realloc(data, room);
	if (!data) {
		a->failed = true;
		return NULL;
	}
	a->data = data;
	a->room = room;
	data += a->len;
	memset(data, 0, NLMSG_ALIGN(len));
	a->len += NLMSG_ALIGN(len);
	return data;
}

/* Starts a message; returns its offset, for end(). */
static size_t start(struct netlink_answer *a, unsigned int type, bool multi, const void *payload, size_t len)
{
	size_t at = a->len;
	struct nlmsghdr *h = put(a, NLMSG_LENGTH(len));

	if (!h)
		return at;
	*h = (struct nlmsghdr){.nlmsg_type = (uint16_t)type,
			       .nlmsg_flags = multi ? NLM_F_MULTI : 0,
			       .nlmsg_seq = a->seq,
			       .nlmsg_pid = a->port};
	memcpy(NLMSG_DATA(h), payload, len);
	return at;
}

static void end(struct netlink_answer *a, size_t at)
{
	uint32_t len = (uint32_t)(a->len - at);

	if (!a->failed)
		memcpy(a->data + at, &len, sizeof(len)); /* nlmsg_len comes first */
}

static void attr(struct netlink_answer *a, unsigned int type, const void *value, size_t len)
{
	struct rtattr *r = put(a, RTA_LENGTH(len));

	if (!r)
		return;
	r->rta_type = (uint16_t)type;
	r->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(r), value, len);
}

static void attr_u32(struct netlink_answer *a, unsigned int type, uint32_t value)
{
	attr(a, type, &value, sizeof(value));
}

static void attr_u8(struct netlink_answer *a, unsigned int type, uint8_t value)
{
	attr(a, type, &value, sizeof(value));
}

static void attr_text(struct netlink_answer *a, unsigned int type, const char *text)
{
	attr(a, type, text, strlen(text) + 1);
}

static void tell_link(struct netlink_answer *a, const struct netif *n, bool multi)
{
	static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const struct rtnl_link_stats64 stats;
	const bool up = n->flags & IFF_UP;
	struct ifinfomsg info = {.ifi_type = ARPHRD_ETHER,
				 .ifi_index = (int)n->index,
				 .ifi_flags = n->flags | (up ? IFF_LOWER_UP_BIT : 0)};
	size_t at = start(a, RTM_NEWLINK, multi, &info, sizeof(info));

	attr_text(a, IFLA_IFNAME, n->name);
	attr_u32(a, IFLA_TXQLEN, TX_QUEUE_LEN);
	attr_u8(a, IFLA_OPERSTATE, up ? 6 : 2); /* IF_OPER_UP, IF_OPER_DOWN */
	attr_u8(a, IFLA_LINKMODE, 0);
	attr_u32(a, IFLA_MTU, n->mtu);
	attr_u32(a, IFLA_GROUP, 0);
	attr_u32(a, IFLA_PROMISCUITY, 0);
	attr_u32(a, IFLA_NUM_TX_QUEUES, 1);
	attr_u32(a, IFLA_NUM_RX_QUEUES, 1);
	attr_u8(a, IFLA_CARRIER, up);
	attr_text(a, IFLA_QDISC, "mq");
	attr(a, IFLA_ADDRESS, n->mac, sizeof(n->mac));
	attr(a, IFLA_BROADCAST, broadcast, sizeof(broadcast));
	attr(a, IFLA_PERM_ADDRESS, n->mac, sizeof(n->mac));
	attr(a, IFLA_STATS64, &stats, sizeof(stats));
	attr_text(a, IFLA_PARENT_DEV_NAME, n->bus);
	attr_text(a, IFLA_PARENT_DEV_BUS_NAME, "pci");
	end(a, at);
}

static void tell_address(struct netlink_answer *a, const struct netif *n, const struct in6_addr *addr)
{
	static const struct ifa_cacheinfo forever = {.ifa_prefered = UINT32_MAX, .ifa_valid = UINT32_MAX};
	const bool v4 = IN6_IS_ADDR_V4MAPPED(addr);
	struct ifaddrmsg info = {.ifa_family = v4 ? AF_INET : AF_INET6,
				 .ifa_prefixlen = (uint8_t)netif_prefix(addr),
				 .ifa_flags = IFA_F_PERMANENT,
				 .ifa_scope = IN6_IS_ADDR_LINKLOCAL(addr) ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
				 .ifa_index = n->index};
	size_t at = start(a, RTM_NEWADDR, true, &info, sizeof(info));
	uint32_t four;

	if (v4) {
		memcpy(&four, addr->s6_addr + 12, sizeof(four));
		attr_u32(a, IFA_ADDRESS, four);
		attr_u32(a, IFA_LOCAL, four);
		attr_u32(a, IFA_BROADCAST, four | ~htonl(~0u << (32 - info.ifa_prefixlen)));
		attr_text(a, IFA_LABEL, n->name);
	} else {
		attr(a, IFA_ADDRESS, addr, sizeof(*addr));
	}
	attr_u32(a, IFA_FLAGS, IFA_F_PERMANENT);
	attr(a, IFA_CACHEINFO, &forever, sizeof(forever));
	end(a, at);
}

/* The end of a dump. */
static void tell_done(struct netlink_answer *a)
{
	const int none = 0;

	end(a, start(a, NLMSG_DONE, true, &none, sizeof(none)));
}

/* An error, -errno, or with 0 the acknowledgement of `req`. */
static enum verdict tell_error(struct netlink_answer *a, const struct nlmsghdr *req, int error)
{
	struct nlmsgerr e = {.error = error, .msg = *req};

	end(a, start(a, NLMSG_ERROR, false, &e, sizeof(e)));
	return NETLINK_OWN;
}

/* ---- Requests -------------------------------------------------------------------------------------- */

/* The attribute `type` behind a header of `head` bytes; NULL: none. */
static const struct rtattr *find(const struct nlmsghdr *req, size_t head, unsigned int type)
{
	size_t len = NLMSG_LENGTH(head);
	const struct rtattr *r = (const struct rtattr *)((const char *)req + NLMSG_ALIGN(len));
	int left = (int)req->nlmsg_len - (int)NLMSG_ALIGN(len);

	for (; RTA_OK(r, left); r = RTA_NEXT(r, left))
		if ((r->rta_type & NLA_TYPE_MASK) == type)
			return r;
	return NULL;
}

static bool carries(const struct nlmsghdr *req, size_t size)
{
	return req->nlmsg_len >= NLMSG_LENGTH(size);
}

static bool is_dump(const struct nlmsghdr *req)
{
	return (req->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
}

/* Our interface that a request names, by number or by name. */
static bool named(const struct nlmsghdr *req, struct netif *n)
{
	const struct ifinfomsg *info = NLMSG_DATA(req);
	const struct rtattr *r = find(req, sizeof(*info), IFLA_IFNAME);
	char name[IF_NAMESIZE] = "";

	if (!carries(req, sizeof(*info)))
		return false;
	if (info->ifi_index)
		return netif_numbered((unsigned int)info->ifi_index, n);
	r = r ? r : find(req, sizeof(*info), IFLA_ALT_IFNAME);
	if (!r || RTA_PAYLOAD(r) > sizeof(name))
		return false;
	memcpy(name, RTA_DATA(r), RTA_PAYLOAD(r));
	return !name[IF_NAMESIZE - 1] && netif_named(name, n);
}

static enum verdict get_link(const struct nlmsghdr *req, struct netlink_answer *a)
{
	const struct rtgenmsg *any = NLMSG_DATA(req);
	struct netif list[NETIF_MAX], one;

	if (!is_dump(req)) {
		if (!named(req, &one))
			return NETLINK_PASS;
		tell_link(a, &one, false);
		return req->nlmsg_flags & NLM_F_ACK ? tell_error(a, req, 0) : NETLINK_OWN;
	}
	/* Our interfaces are not in a bridge and of no virtual kind. */
	if (!carries(req, sizeof(*any)) || any->rtgen_family == AF_BRIDGE ||
	    find(req, sizeof(struct ifinfomsg), IFLA_MASTER) ||
	    find(req, sizeof(struct ifinfomsg), IFLA_LINKINFO))
		return NETLINK_PASS;
	for (unsigned int i = 0, n = netif_list(list); i < n; i++)
		tell_link(a, &list[i], true);
	return NETLINK_ADD;
}

/* Of one family after the other, as Linux does; `family` 0: of both. */
static void tell_addresses(struct netlink_answer *a, const struct netif *list, unsigned int num,
			   unsigned int family)
{
	for (unsigned int f = 0; f < 2; f++)
		for (unsigned int i = 0; i < num && family != (f ? AF_INET : AF_INET6); i++)
			for (unsigned int n = 0; n < list[i].num_addrs; n++)
				if (IN6_IS_ADDR_V4MAPPED(&list[i].addr[n]) == !f)
					tell_address(a, &list[i], &list[i].addr[n]);
}

static enum verdict get_addr(const struct nlmsghdr *req, struct netlink_answer *a)
{
	const struct ifaddrmsg *info = NLMSG_DATA(req);
	/* Programs may send only a family. */
	const unsigned int index = carries(req, sizeof(*info)) ? info->ifa_index : 0;
	struct netif list[NETIF_MAX];

	if (!is_dump(req) || !carries(req, sizeof(struct rtgenmsg)) ||
	    (info->ifa_family && info->ifa_family != AF_INET && info->ifa_family != AF_INET6))
		return NETLINK_PASS;
	if (!index) {
		tell_addresses(a, list, netif_list(list), info->ifa_family);
		return NETLINK_ADD;
	}
	if (!netif_numbered(index, list))
		return NETLINK_PASS;
	tell_addresses(a, list, 1, info->ifa_family);
	tell_done(a);
	return NETLINK_OWN;
}

/* Only up and down can be set. */
static enum verdict set_link(const struct nlmsghdr *req, struct netlink_answer *a)
{
	const struct ifinfomsg *info = NLMSG_DATA(req);
	unsigned int left = req->nlmsg_len - NLMSG_LENGTH(sizeof(*info));
	const struct rtattr *r;
	struct netif n;
	int state;

	if (!named(req, &n))
		return NETLINK_PASS;
	r = (const struct rtattr *)((const char *)info + NLMSG_ALIGN(sizeof(*info)));
	for (; RTA_OK(r, left); r = RTA_NEXT(r, left))
		if (r->rta_type != IFLA_IFNAME)
			return tell_error(a, req, -EOPNOTSUPP);
	if (info->ifi_change & ~(unsigned int)IFF_UP)
		return tell_error(a, req, -EOPNOTSUPP);
	state = info->ifi_change ? netdev_link(n.name, true, info->ifi_flags & IFF_UP) : 0;
	return tell_error(a, req, state < 0 ? state : 0);
}

static enum verdict refuse(const struct nlmsghdr *req, struct netlink_answer *a, bool ours)
{
	return ours ? tell_error(a, req, -EOPNOTSUPP) : NETLINK_PASS;
}

enum verdict rtnl_request(const struct nlmsghdr *req, struct netlink_answer *a)
{
	const struct ifaddrmsg *info = NLMSG_DATA(req);
	struct netif n;

	switch (req->nlmsg_type) {
	case RTM_GETLINK:
		return get_link(req, a);
	case RTM_GETADDR:
		return get_addr(req, a);
	case RTM_NEWLINK:
	case RTM_SETLINK:
		return set_link(req, a);
	case RTM_DELLINK:
		return refuse(req, a, named(req, &n));
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return refuse(req, a, carries(req, sizeof(*info)) && netif_numbered(info->ifa_index, &n));
	default:
		return NETLINK_PASS;
	}
}

/* Without the family, as before Linux 5.6, ethtool(8) uses SIOCETHTOOL, which the simulated interfaces support. */
enum verdict genl_request(const struct nlmsghdr *req, struct netlink_answer *a)
{
	const struct genlmsghdr *genl = NLMSG_DATA(req);
	const struct rtattr *r;

	if (req->nlmsg_type != GENL_ID_CTRL || !carries(req, GENL_HDRLEN) || genl->cmd != CTRL_CMD_GETFAMILY)
		return NETLINK_PASS;
	r = find(req, GENL_HDRLEN, CTRL_ATTR_FAMILY_NAME);
	if (!r || RTA_PAYLOAD(r) != sizeof("ethtool") ||
	    memcmp(RTA_DATA(r), "ethtool", sizeof("ethtool")) != 0)
		return NETLINK_PASS;
	return tell_error(a, req, -ENOENT);
}
