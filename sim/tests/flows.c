// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flows of mlx5dv on two adapters: `roce` leads an RC pair's packets through tables of DEVX, `header` changes headers of
 * raw frames, `leave` ends with many actions, one of them in use.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "hcasim_mlx5.h"
#include "link.h"

#define PREP(layout, field, v) htobe32(HCASIM_FIELD_PREP(HCASIM_MLX5_##layout##_##field##_MASK, v))
#define TYPE(name)             MLX5DV_FLOW_TABLE_TYPE_##name
#define LEVEL                  200
#define WRITES                 3
#define LEFT                   3000 /* more than half of what there can be */
#define MATCH_SIZE             0x180

static struct link l;

/* ---- Objects of DEVX ---- */

static struct mlx5dv_devx_obj *make(int end, uint16_t opcode, void *req, size_t size, uint32_t *number)
{
	struct hcasim_mlx5_cmd_in head = {.opcode = htobe16(opcode)};
	uint32_t out[16] = {0};
	struct mlx5dv_devx_obj *obj;

	memcpy(req, &head, 8);
	obj = mlx5dv_devx_obj_create(l.ctx[end], req, size, out, sizeof(out));
	CHECK(obj);
	if (number)
		*number = ntohl(out[2]);
	return obj;
}

struct place { /* a table with one group */
	struct mlx5dv_devx_obj *table, *group, *counter;
	uint32_t table_id, group_id, counter_id;
	uint8_t type;
};

static void make_place(struct place *p, int end, uint8_t type)
{
	struct hcasim_mlx5_cmd_alloc_flow_counter one = {.bulk = 0};
	struct hcasim_mlx5_cmd_create_flow_table table = {
		.type = PREP(CMD_CREATE_FLOW_TABLE, TABLE_TYPE, type),
		.context = PREP(CMD_CREATE_FLOW_TABLE, LEVEL, LEVEL)};
	struct hcasim_mlx5_cmd_create_flow_group group = {
		.type = PREP(CMD_CREATE_FLOW_GROUP, TABLE_TYPE, type)};

	p->type = type;
	p->counter = make(end, HCASIM_MLX5_CMD_ALLOC_FLOW_COUNTER, &one, sizeof(one), &p->counter_id);
	p->table = make(end, HCASIM_MLX5_CMD_CREATE_FLOW_TABLE, &table, sizeof(table), &p->table_id);
	group.table = PREP(CMD_CREATE_FLOW_GROUP, TABLE_ID, p->table_id);
	p->group = make(end, HCASIM_MLX5_CMD_CREATE_FLOW_GROUP, &group, sizeof(group), &p->group_id);
}

/* The only entry, which counts. */
static struct mlx5dv_devx_obj *make_entry(const struct place *p, int end, uint32_t action)
{
	struct {
		struct hcasim_mlx5_cmd_set_fte fte;
		uint8_t reserved[HCASIM_MLX5_SET_FTE_LISTS - sizeof(struct hcasim_mlx5_cmd_set_fte)];
		struct hcasim_mlx5_fte_counter counter;
	} req = {
		.fte = {.type = PREP(CMD_SET_FTE, TABLE_TYPE, p->type),
			.table = PREP(CMD_SET_FTE, TABLE_ID, p->table_id),
			.group_id = htobe32(p->group_id),
			.actions = PREP(CMD_SET_FTE, ACTION, action | HCASIM_MLX5_FLOW_ACTION_COUNT),
			.counters = PREP(CMD_SET_FTE, FLOW_COUNTER_LIST_SIZE, 1)},
		.counter = {.flow_counter_id = htobe32(p->counter_id)},
	};

	return make(end, HCASIM_MLX5_CMD_SET_FLOW_TABLE_ENTRY, &req, sizeof(req), NULL);
}

static uint64_t packets(const struct place *p)
{
	struct hcasim_mlx5_cmd_query_flow_counter req = {.flow_counter_id = htobe32(p->counter_id)};
	const struct hcasim_mlx5_cmd_in head = {.opcode = htobe16(HCASIM_MLX5_CMD_QUERY_FLOW_COUNTER)};
	uint64_t out[4] = {0}; /* head, packets, octets */

	memcpy(&req, &head, 8);
	CHECK(!(errno = mlx5dv_devx_obj_query(p->counter, &req, sizeof(req), out, sizeof(out))));
	return be64toh(out[2]);
}

static void end_obj(struct mlx5dv_devx_obj *obj)
{
	CHECK(!(errno = mlx5dv_devx_obj_destroy(obj)));
}

/* ---- Flows ---- */

/* All that there is on the tables of a type. */
static struct mlx5dv_flow_matcher *match_all(int end, enum mlx5dv_flow_table_type type)
{
	struct {
		struct mlx5dv_flow_match_parameters p;
		uint8_t mask[MATCH_SIZE];
	} all = {.p.match_sz = MATCH_SIZE};
	struct mlx5dv_flow_matcher_attr attr = {.type = IBV_FLOW_ATTR_NORMAL,
						.match_mask = &all.p,
						.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
						.ft_type = type};
	struct mlx5dv_flow_matcher *m = mlx5dv_create_flow_matcher(l.ctx[end], &attr);

	CHECK(m);
	return m;
}

static struct ibv_flow *try_flow(struct mlx5dv_flow_matcher *m, struct mlx5dv_flow_action_attr *actions,
				 size_t num)
{
	struct {
		struct mlx5dv_flow_match_parameters p;
		uint8_t value[MATCH_SIZE];
	} all = {.p.match_sz = MATCH_SIZE};

	return mlx5dv_create_flow(m, &all.p, num, actions);
}

/* ---- RoCE packets ---- */

static void write_through(struct pair *p, enum ibv_wc_status expected)
{
	pair_post_write(p, 1, 64);
	CHECK(link_wait(p->cq[0]).status == expected);
}

/* An entry lets the packets pass, and another one stops them. */
static void through(int end, enum mlx5dv_flow_table_type ft, uint8_t type)
{
	struct mlx5dv_flow_action_attr lead = {.type = MLX5DV_FLOW_ACTION_DEST_DEVX};
	struct mlx5dv_flow_matcher *m = match_all(end, ft);
	struct mlx5dv_devx_obj *entry;
	struct ibv_flow *flow;
	struct place place;
	struct pair p;
	uint64_t before;

	pair_open(&p, &l);
	make_place(&place, end, type);
	entry = make_entry(&place, end, HCASIM_MLX5_FLOW_ACTION_ALLOW);
	lead.obj = place.table;
	CHECK((flow = try_flow(m, &lead, 1)));
	memset(l.buf[0], 0x11, 64);
	for (int i = 0; i < WRITES; i++)
		write_through(&p, IBV_WC_SUCCESS);
	CHECK(packets(&place) == WRITES && !memcmp(l.buf[0], l.buf[1], 64));
	end_obj(entry);
	entry = make_entry(&place, end, HCASIM_MLX5_FLOW_ACTION_DROP);
	before = packets(&place);
	memset(l.buf[0], 0x22, 64);
	write_through(&p, IBV_WC_RETRY_EXC_ERR);
	CHECK(l.buf[1][0] == 0x11 && link_state(p.qp[0]) == IBV_QPS_ERR);
	CHECK(packets(&place) - before > 1); /* the request, and its repetitions */
	CHECK(!(errno = ibv_destroy_flow(flow)));
	end_obj(entry);
	end_obj(place.group);
	end_obj(place.table);
	end_obj(place.counter);
	CHECK(!(errno = mlx5dv_destroy_flow_matcher(m)));
	pair_close(&p);
	pair_open(&p, &l);
	write_through(&p, IBV_WC_SUCCESS);
	CHECK(l.buf[1][0] == 0x22);
	pair_close(&p);
}

static void roce(void)
{
	through(1, TYPE(RDMA_RX), HCASIM_MLX5_FLOW_TABLE_RDMA_RX);
	through(0, TYPE(RDMA_TX), HCASIM_MLX5_FLOW_TABLE_RDMA_TX);
}

/* ---- Headers ---- */

static uint64_t action(uint32_t type, uint32_t field, uint32_t offset, uint32_t length, uint32_t data)
{
	const struct hcasim_mlx5_action_in a = {
		.field = PREP(ACTION_IN, ACTION_TYPE, type) | PREP(ACTION_IN, FIELD, field) |
			 PREP(ACTION_IN, OFFSET, offset) | PREP(ACTION_IN, LENGTH, length),
		.data = htobe32(data)};
	uint64_t v;

	memcpy(&v, &a, sizeof(v));
	return v;
}

#define FIELD(name)           HCASIM_MLX5_HEADER_FIELD_##name
#define SET(name, at, len, v) action(HCASIM_MLX5_HEADER_ACTION_SET, FIELD(name), at, len, v)
#define ADD(name, v)          action(HCASIM_MLX5_HEADER_ACTION_ADD, FIELD(name), 0, 0, v)
#define COPY(from, to, len)                                                                                  \
	action(HCASIM_MLX5_HEADER_ACTION_COPY, FIELD(from), 0, len,                                          \
	       HCASIM_FIELD_PREP(HCASIM_MLX5_COPY_ACTION_IN_DST_FIELD_MASK, (uint32_t)FIELD(to)))

static struct ibv_flow_action *changes(int end, uint64_t *list, size_t num, enum mlx5dv_flow_table_type type)
{
	return mlx5dv_create_flow_action_modify_header(l.ctx[end], num * sizeof(*list), list, type);
}

static void refused(uint64_t one, int error)
{
	CHECK(!changes(0, &one, 1, TYPE(NIC_TX)) && errno == error);
}

static void refusals(void)
{
	uint64_t many[HCASIM_MLX5_MAX_MODIFY_ACTIONS + 1], ttl = ADD(OUT_IP_TTL, 1);

	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = ttl;
	refused(action(HCASIM_MLX5_HEADER_ACTION_SET, 0x49, 0, 8, 1), EINVAL); /* a register */
	refused(action(HCASIM_MLX5_HEADER_ACTION_ADD, 0, 0, 0, 1), EINVAL);
	refused(action(HCASIM_MLX5_HEADER_ACTION_COPY + 1, FIELD(OUT_IP_TTL), 0, 8, 1), EINVAL);
	refused(SET(OUT_IP_TTL, 0, 0, 1), EINVAL); /* 32 bits */
	refused(SET(OUT_IP_TTL, 1, 8, 1), EINVAL);
	refused(COPY(OUT_UDP_SPORT, OUT_IP_TTL, 16), EINVAL);
	CHECK(!changes(0, many, HCASIM_MLX5_MAX_MODIFY_ACTIONS + 1, TYPE(NIC_TX)) && errno == EOPNOTSUPP);
	CHECK(!changes(0, many, 1, TYPE(RDMA_TX)) && errno == EOPNOTSUPP);
	CHECK(!changes(0, many, 1, TYPE(FDB)) && errno == EOPNOTSUPP);
	CHECK(!changes(0, many, 1, (enum mlx5dv_flow_table_type)99) && errno == EINVAL);
	CHECK(!mlx5dv_create_flow_action_modify_header(l.ctx[0], 12, many, TYPE(NIC_TX)) && errno == EINVAL);
}

#define L3      14
#define L4      34
#define PAYLOAD 100
#define FRAME   (L4 + 8 + PAYLOAD)

static uint16_t sum(uint32_t start, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		start += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	start = (start >> 16) + (start & 0xffff);
	return (uint16_t)(start + (start >> 16));
}

static uint16_t udp_sum(const uint8_t *p)
{
	return sum((uint32_t)sum(0, p + L3 + 12, 8) + IPPROTO_UDP + 8 + PAYLOAD, p + L4, 8 + PAYLOAD);
}

static void put_sum(uint8_t *at, uint16_t of)
{
	const uint16_t v = htons((uint16_t)~of);

	memcpy(at, &v, sizeof(v));
}

static void make_frame(uint8_t *p)
{
	static const uint8_t head[] = {0xff, 0xff, 0xff, 0xff,        0xff, 0xff, 2, 1, 2,  3,           4,
				       5,    8,    0, /* Ethernet */
				       0x45, 0,    0,    FRAME - L3,  0,    0,    0, 0, 64, IPPROTO_UDP, 0,
				       0,    10,   0,    0,           1,    10,   0, 0, 2,  0x12,        0x34,
				       0x56, 0x78, 0,    8 + PAYLOAD, 0,    0};

	memcpy(p, head, sizeof(head));
	for (int i = sizeof(head); i < FRAME; i++)
		p[i] = (uint8_t)(i * 3);
	put_sum(p + L3 + 10, sum(0, p + L3, 20));
	put_sum(p + L4 + 6, udp_sum(p));
}

struct raw {
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
};

static void open_raw(struct raw *r)
{
	for (int end = 0; end < 2; end++) {
		r->cq[end] = link_create_cq(&l, end, 32);
		r->qp[end] = link_create_single(&l, end, IBV_QPT_RAW_PACKET, r->cq[end],
						(struct ibv_qp_cap){16, 16, 1, 1, 0}, IBV_QPS_RTS);
	}
}

static void close_raw(const struct raw *r)
{
	for (int end = 0; end < 2; end++) {
		CHECK(!(errno = ibv_destroy_qp(r->qp[end])));
		CHECK(!(errno = ibv_destroy_cq(r->cq[end])));
	}
}

/* Sends the frame; what comes is in the other buffer. */
static const uint8_t *exchange(const struct raw *r)
{
	struct ibv_sge to = {(uintptr_t)l.buf[1], 1024, l.mr[1]->lkey},
		       from = {(uintptr_t)l.buf[0], FRAME, l.mr[0]->lkey};
	struct ibv_recv_wr recv = {.sg_list = &to, .num_sge = 1}, *bad;
	struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_wc wc;

	make_frame((uint8_t *)l.buf[0]);
	CHECK(!(errno = ibv_post_recv(r->qp[1], &recv, &bad)));
	link_post(r->qp[0], &send);
	CHECK(link_wait(r->cq[0]).status == IBV_WC_SUCCESS);
	wc = link_wait(r->cq[1]);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == FRAME);
	return (const uint8_t *)l.buf[1];
}

/* The frame of make_frame(), but for these. */
static void expect(const uint8_t *got, uint8_t smac, uint8_t dscp, uint8_t ttl, uint8_t source,
		   uint16_t dport)
{
	uint8_t p[FRAME];

	make_frame(p);
	p[11] = smac;
	p[L3 + 1] = (uint8_t)(dscp << 2);
	p[L3 + 8] = ttl;
	p[L3 + 15] = source;
	p[L4 + 2] = (uint8_t)(dport >> 8);
	p[L4 + 3] = (uint8_t)dport;
	memset(p + L3 + 10, 0, 2);
	memset(p + L4 + 6, 0, 2);
	put_sum(p + L3 + 10, sum(0, p + L3, 20));
	put_sum(p + L4 + 6, udp_sum(p));
	CHECK(!memcmp(got, p, FRAME));
}

static void header(void)
{
	uint64_t out[] = {ADD(OUT_IP_TTL, 0xff), SET(OUT_SIPV4, 0, 8, 99),
			  COPY(OUT_UDP_SPORT, OUT_UDP_DPORT, 16), SET(OUT_SMAC_15_0, 0, 8, 0x77)},
		 in[] = {SET(OUT_IP_DSCP, 0, 6, 46), ADD(OUT_IP_TTL, 10), SET(OUT_TCP_DPORT, 0, 16, 1)};
	struct mlx5dv_flow_action_attr tx[] = {{.type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION},
					       {.type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION}},
				       rx[] = {{.type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION},
					       {.type = MLX5DV_FLOW_ACTION_DEST_IBV_QP}};
	struct mlx5dv_flow_matcher *m[2];
	struct ibv_flow *flow[2];
	struct raw r;

	refusals();
	open_raw(&r);
	m[0] = match_all(0, TYPE(NIC_TX));
	m[1] = match_all(1, TYPE(NIC_RX));
	CHECK((tx[0].action = tx[1].action = changes(0, out, 4, TYPE(NIC_TX))));
	CHECK((rx[0].action = changes(1, in, 3, TYPE(NIC_RX))));
	rx[1].qp = r.qp[1];
	CHECK(!try_flow(m[0], tx, 2) && errno == EINVAL); /* two of a kind */
	CHECK((flow[1] = try_flow(m[1], rx, 2)));
	expect(exchange(&r), 5, 46, 74, 1, 0x5678);
	CHECK((flow[0] = try_flow(m[0], tx, 1)));
	expect(exchange(&r), 0x77, 46, 73, 99, 0x1234);
	CHECK(ibv_destroy_flow_action(tx[0].action) == EBUSY);
	CHECK(!(errno = ibv_destroy_flow(flow[0])));
	CHECK(!(errno = ibv_destroy_flow_action(tx[0].action)));
	expect(exchange(&r), 5, 46, 74, 1, 0x5678);
	CHECK((tx[0].action = changes(1, out, 4, TYPE(NIC_TX))));
	tx[1] = rx[1];
	CHECK(!try_flow(m[1], tx, 2) && errno == EINVAL); /* an action of other tables */
	CHECK(!(errno = ibv_destroy_flow(flow[1])));
	CHECK(!(errno = ibv_destroy_flow_action(tx[0].action)));
	CHECK(!(errno = ibv_destroy_flow_action(rx[0].action)));
	for (int end = 0; end < 2; end++)
		CHECK(!(errno = mlx5dv_destroy_flow_matcher(m[end])));
	close_raw(&r);
}

/* If those of a program that has ended were still there, there would not be so many for the next one. */
static void leave(void)
{
	uint64_t ttl = ADD(OUT_IP_TTL, 1);
	uint8_t head[50] = {0};
	struct mlx5dv_flow_action_attr use = {.type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION};

	for (int i = 0; i < LEFT; i++) {
		CHECK((use.action = changes(0, &ttl, 1, TYPE(NIC_TX))));
		CHECK(mlx5dv_create_flow_action_packet_reformat(
			l.ctx[0], sizeof(head), head, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL,
			TYPE(NIC_TX)));
	}
	CHECK(try_flow(match_all(0, TYPE(NIC_TX)), &use, 1));
	_Exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	link_open(&l, 65536);
	if (!strcmp(what, "roce"))
		roce();
	else if (!strcmp(what, "header"))
		header();
	else if (!strcmp(what, "leave"))
		leave();
	else
		return 2;
	link_close(&l);
	return 0;
}
