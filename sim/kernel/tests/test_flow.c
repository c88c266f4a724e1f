// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flow steering and multicast groups: what the commands refuse, and which objects keep others in use. */
#include <arpa/inet.h>

#include "harness.h"

#define EX_CREATE (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_FLOW)

struct flow_cmd {
	struct ib_uverbs_create_flow c;
	uint8_t specs[512];
};

static void ready(uint8_t type)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(make_pd(), 0);
	CHECK_ERR(make_cq(16, -1), 0);
	CHECK_ERR(make_qp(type), 0);
}

static struct flow_cmd start(void)
{
	return (struct flow_cmd){.c = {.qp_handle = w.qp, .flow_attr = {.port = 1}}};
}

static void add(struct flow_cmd *f, const void *spec, uint16_t size)
{
	memcpy(f->specs + f->c.flow_attr.size, spec, size);
	f->c.flow_attr.size += size;
	f->c.flow_attr.num_of_specs++;
}

static int create(const struct flow_cmd *f, size_t specs)
{
	struct ib_uverbs_create_flow_resp resp = {0};
	int ret = do_write_ex(EX_CREATE, f, sizeof(f->c) + specs, NULL, 0, &resp, sizeof(resp), NULL, 0);

	w.flow = resp.flow_handle;
	return ret;
}

static const struct ib_uverbs_flow_spec_eth eth = {.type = 0x20, .size = sizeof(eth)};
static const struct ib_uverbs_flow_spec_ipv4 ipv4 = {.type = 0x30, .size = sizeof(ipv4)};
static const struct ib_uverbs_flow_spec_ipv6 ipv6 = {.type = 0x31, .size = sizeof(ipv6)};
static const struct ib_uverbs_flow_spec_tcp_udp udp = {.type = 0x41, .size = sizeof(udp)};

static int with(const void *a, uint16_t a_size, const void *b, uint16_t b_size)
{
	struct flow_cmd f = start();

	add(&f, a, a_size);
	if (b)
		add(&f, b, b_size);
	return create(&f, f.c.flow_attr.size);
}

static void specs(void)
{
	struct ib_uverbs_flow_spec_action_tag tag = {.type = 0x1000, .size = sizeof(tag), .tag_id = 0xffffff};
	struct ib_uverbs_flow_spec_ipv6 six = ipv6;
	struct ib_uverbs_flow_spec_eth e = eth;

	ready(HCASIM_QPT_RAW_PACKET);
	CHECK_ERR(with(&eth, sizeof(eth), &ipv4, sizeof(ipv4)), 0);
	CHECK_ERR(with(&ipv6, sizeof(ipv6), &udp, sizeof(udp)), 0);
	CHECK_ERR(with(&ipv4, sizeof(ipv4), &ipv6, sizeof(ipv6)), -EINVAL);
	CHECK_ERR(with(&udp, sizeof(udp), &udp, sizeof(udp)), -EINVAL);
	six.mask.reserved = 1;
	CHECK_ERR(with(&six, sizeof(six), NULL, 0), -EINVAL);
	six = ipv6;
	six.val.flow_label = htonl(1 << 20);
	CHECK_ERR(with(&six, sizeof(six), NULL, 0), -EINVAL);
	e.reserved = 1;
	CHECK_ERR(with(&e, sizeof(e), NULL, 0), -EINVAL);
	e = eth;
	e.size = 4;
	CHECK_ERR(with(&e, sizeof(e), NULL, 0), -EINVAL);
	e.size = sizeof(e) + 8;
	CHECK_ERR(with(&e, sizeof(e), NULL, 0), -EINVAL);
	e.size = sizeof(e);
	CHECK_ERR(with(&eth, sizeof(eth), &tag, sizeof(tag)), -EOPNOTSUPP); /* a native CQE has none */
	tag.tag_id = 1 << 24;
	CHECK_ERR(with(&tag, sizeof(tag), NULL, 0), -EINVAL);
	tag = (struct ib_uverbs_flow_spec_action_tag){.type = 0x1000, .size = sizeof(tag), .reserved1 = 1};
	CHECK_ERR(with(&tag, sizeof(tag), NULL, 0), -EINVAL);
	e.type = 0x1000; /* a tag of another size */
	CHECK_ERR(with(&e, sizeof(e), NULL, 0), -EINVAL);
	e.type = 0x34; /* ESP */
	CHECK_ERR(with(&e, sizeof(e), NULL, 0), -EOPNOTSUPP);
	e.type = 0x120; /* inner headers of a tunnel */
	CHECK_ERR(with(&e, sizeof(e), NULL, 0), -EOPNOTSUPP);
	file_close();
}

/* Filters of other lengths, from older and newer programs. */
static void lengths(void)
{
	struct {
		struct ib_uverbs_flow_spec_hdr hdr;
		uint8_t filters[2 * 16];
	} s = {.hdr = {.type = 0x30}}; /* IPv4: 12 bytes in our version */

	ready(HCASIM_QPT_RAW_PACKET);
	for (s.hdr.size = sizeof(s.hdr); s.hdr.size <= sizeof(s); s.hdr.size += 8)
		CHECK_ERR(with(&s, s.hdr.size, NULL, 0), 0);
	s.hdr.size = sizeof(s.hdr) + 2 * 6;
	CHECK_ERR(with(&s, s.hdr.size, NULL, 0), -EINVAL);
	s.hdr.size = sizeof(s);
	s.filters[15] = 1; /* the value of an unknown field, then its mask */
	CHECK_ERR(with(&s, s.hdr.size, NULL, 0), 0);
	s.filters[31] = 1;
	CHECK_ERR(with(&s, s.hdr.size, NULL, 0), -EINVAL);
	file_close();
}

static int attr_with(uint32_t type, uint32_t flags, uint8_t port, uint8_t reserved, uint32_t comp_mask)
{
	struct flow_cmd f = start();

	f.c.comp_mask = comp_mask;
	f.c.flow_attr.type = type;
	f.c.flow_attr.flags = flags;
	f.c.flow_attr.port = port;
	f.c.flow_attr.reserved[1] = reserved;
	return create(&f, 0);
}

static void attributes(void)
{
	struct flow_cmd f;

	ready(HCASIM_QPT_RAW_PACKET);
	for (uint32_t type = 0; type < 4; type++)
		CHECK_ERR(attr_with(type, 0, 1, 0, 0), 0);
	CHECK_ERR(attr_with(4, 0, 1, 0, 0), -EOPNOTSUPP);
	CHECK_ERR(attr_with(0, 1u << 1, 1, 0, 0), 0);           /* DONT_TRAP */
	CHECK_ERR(attr_with(1, 1u << 1, 1, 0, 0), -EINVAL);     /* on a default flow */
	CHECK_ERR(attr_with(0, 1u << 2, 1, 0, 0), -EOPNOTSUPP); /* EGRESS */
	CHECK_ERR(attr_with(0, 1u << 3, 1, 0, 0), -EINVAL);
	CHECK_ERR(attr_with(0, 0, 0, 0, 0), -EINVAL);
	CHECK_ERR(attr_with(0, 0, 2, 0, 0), -EINVAL);
	CHECK_ERR(attr_with(0, 0, 1, 1, 0), -EINVAL);
	CHECK_ERR(attr_with(0, 0, 1, 0, 1), -EINVAL);
	f = start();
	f.c.qp_handle = 99;
	CHECK_ERR(create(&f, 0), -ENOENT);
	f = start();
	f.c.flow_attr.num_of_specs = 11;
	CHECK_ERR(create(&f, 0), -EINVAL);
	f = start();
	add(&f, &eth, sizeof(eth));
	CHECK_ERR(create(&f, 0), -EINVAL); /* the specs are missing */
	f.c.flow_attr.type = 1;
	CHECK_ERR(create(&f, sizeof(eth)), -EINVAL);
	f.c.flow_attr.type = 0;
	f.c.flow_attr.size += 8;
	CHECK_ERR(create(&f, sizeof(eth) + 8), -EINVAL); /* bytes after the last spec */
	file_close();
	ready(HCASIM_QPT_RC);
	CHECK_ERR(make_flow(), -EINVAL);
	file_close();
	ready(HCASIM_QPT_UD);
	CHECK_ERR(make_flow(), -EOPNOTSUPP);
	file_close();
}

static void lifetime(void)
{
	struct ib_uverbs_destroy_qp_resp resp;

	ready(HCASIM_QPT_RAW_PACKET);
	CHECK_ERR(make_flow(), 0);
	CHECK_ERR(destroy_qp(w.qp, &resp), -EBUSY);
	CHECK_ERR(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, w.pd), -EBUSY);
	file_close(); /* with both flows alive */
	ready(HCASIM_QPT_RAW_PACKET);
	CHECK_ERR(destroy_qp(w.qp, &resp), 0);
	file_close();
}

static int group(uint32_t cmd, const uint8_t gid[16], uint16_t lid)
{
	struct ib_uverbs_attach_mcast c = {.qp_handle = w.qp, .mlid = lid};

	memcpy(c.gid, gid, 16);
	return do_write(cmd, &c, sizeof(c), NULL, 0, NULL, 0, NULL, 0);
}

static void groups(void)
{
	static const uint8_t v6[16] = {0xff, 0x0e, [15] = 1}, v4[16] = {[10] = 0xff, 0xff, 239, 1, 2, 3},
			     one[16] = {0xfe, 0x80, [15] = 1};
	struct ib_uverbs_destroy_qp_resp resp;
	const uint32_t in = IB_USER_VERBS_CMD_ATTACH_MCAST, leave = IB_USER_VERBS_CMD_DETACH_MCAST;

	ready(HCASIM_QPT_UD);
	CHECK_ERR(group(leave, v6, 0), -EINVAL);
	CHECK_ERR(group(in, one, 0), -EINVAL); /* not a multicast GID */
	CHECK_ERR(group(in, v6, 0), 0);
	CHECK_ERR(group(in, v6, 0), 0);
	CHECK_ERR(group(in, v4, 0xc001), 0);
	CHECK_ERR(group(leave, v4, 0), -EINVAL);
	CHECK_ERR(destroy_qp(w.qp, &resp), -EBUSY);
	CHECK_ERR(group(leave, v4, 0xc001), 0);
	CHECK_ERR(group(leave, v6, 0), 0);
	CHECK_ERR(group(leave, v6, 0), -EINVAL);
	CHECK_ERR(group(in, v6, 1), 0); /* with another LID, which has no meaning */
	CHECK_ERR(group(in, v6, 2), 0);
	CHECK_ERR(group(leave, v6, 1), 0);
	CHECK_ERR(group(leave, v6, 1), -EINVAL);
	CHECK_ERR(destroy_qp(w.qp, &resp), -EBUSY);
	file_close(); /* while the QP is in the group */
	ready(HCASIM_QPT_RC);
	CHECK_ERR(group(in, v6, 0), -EINVAL);
	file_close();
}

void add_flow_suite(void)
{
	CU_pSuite s = CU_add_suite("flows and groups", world_init, world_exit);

	CU_add_test(s, "flow specifications", specs);
	CU_add_test(s, "lengths of filters", lengths);
	CU_add_test(s, "flow attributes", attributes);
	CU_add_test(s, "what a flow holds", lifetime);
	CU_add_test(s, "multicast groups", groups);
}
