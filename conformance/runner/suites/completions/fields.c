/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Each field of an extended CQ asked for alone: its function gives the value that it has with all the others, and that
 * struct ibv_wc has.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "link/link_modify.h"
#include "suites/objects/own.h"

#define BYTES 77
#define IMM   0x1a2b3c4d
#define GUARD 256

/* A value that changes from message to message, or is not known, is compared with nothing. */
enum known { SAME, LENGTH, IMMEDIATE, NUMBER, TIME };

static uint64_t read_byte_len(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_byte_len(cq);
}

static uint64_t read_imm(struct ibv_cq_ex *cq)
{
	return be32toh(ibv_wc_read_imm_data(cq));
}

static uint64_t read_qp_num(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_qp_num(cq);
}

static uint64_t read_src_qp(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_src_qp(cq);
}

static uint64_t read_slid(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_slid(cq);
}

static uint64_t read_sl(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_sl(cq);
}

static uint64_t read_path_bits(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_dlid_path_bits(cq);
}

static uint64_t read_ticks(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_completion_ts(cq);
}

static uint64_t read_wallclock(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_completion_wallclock_ns(cq);
}

static uint64_t read_cvlan(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_cvlan(cq);
}

static uint64_t read_flow_tag(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_flow_tag(cq);
}

static const struct field {
	const char *name;
	uint64_t flag;
	uint64_t (*read)(struct ibv_cq_ex *cq);
	enum known known;
} fields[] = {
	{"byte_len", IBV_WC_EX_WITH_BYTE_LEN, read_byte_len, LENGTH},
	{"imm_data", IBV_WC_EX_WITH_IMM, read_imm, IMMEDIATE},
	{"qp_num", IBV_WC_EX_WITH_QP_NUM, read_qp_num, NUMBER},
	{"src_qp", IBV_WC_EX_WITH_SRC_QP, read_src_qp, NUMBER},
	{"slid", IBV_WC_EX_WITH_SLID, read_slid, SAME},
	{"sl", IBV_WC_EX_WITH_SL, read_sl, SAME},
	{"dlid_path_bits", IBV_WC_EX_WITH_DLID_PATH_BITS, read_path_bits, SAME},
	{"completion_ts", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, read_ticks, TIME},
	{"completion_wallclock_ns", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, read_wallclock, TIME},
	{"cvlan", IBV_WC_EX_WITH_CVLAN, read_cvlan, SAME},
	{"flow_tag", IBV_WC_EX_WITH_FLOW_TAG, read_flow_tag, SAME},
};
#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

struct alone {
	struct kit *k;
	struct own o;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *mem;
	uint64_t value[NUM_FIELDS]; /* with all fields asked for */
	uint64_t plain;             /* those whose value ibv_poll_cq() has given */
	uint64_t sent_at;           /* raw clock when the datagram was not sent yet */
	uint64_t clock_bits;        /* of the raw clock and of time stamps; 0: no clock */
};

static uint64_t raw_clock(const struct alone *a)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	if (ibv_query_rt_values_ex(a->k->r->dut.requester.ctx, &v))
		KIT_FAULT(a->k, "ibv_query_rt_values_ex failed");
	return (uint64_t)v.raw_clock.tv_sec * 1000000000u + (uint64_t)v.raw_clock.tv_nsec;
}

static uint64_t clock_bits(struct kit *k)
{
	struct ibv_device_attr_ex attr;
	int ret = ibv_query_device_ex(k->r->dut.requester.ctx, NULL, &attr);

	return ret || !k->r->dut.requester.clock_khz ? 0 : attr.completion_timestamp_mask;
}

/* The time of a completion is between two readings of the raw clock. */
static void judge_time(struct alone *a, uint64_t got)
{
	const uint64_t bits = a->clock_bits, after = bits ? raw_clock(a) : 0;

	if (bits && (((got - a->sent_at) & bits) > bits / 2 || ((after - got) & bits) > bits / 2))
		KIT_FAULT(
			a->k,
			"completion_ts is %llu, the raw clock was %llu before the message and %llu after it",
			(unsigned long long)got, (unsigned long long)a->sent_at, (unsigned long long)after);
}

static bool send_datagram(struct alone *a)
{
	const uint32_t sent = BYTES + (uint32_t)kit_arg(a->k, "more", 0);
	struct ibv_sge from = {(uintptr_t)a->mem, sent, a->mr->lkey};
	struct ibv_sge to = {(uintptr_t)a->mem + GUARD, LINK_GRH_LEN + 2 * BYTES, a->mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 0xf1e1d, .sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = kit_wr(0xf1e1d0, IBV_WR_SEND_WITH_IMM, &from), *bad;
	int ret = ibv_post_recv(a->o.qp, &recv, &bad_recv);

	a->sent_at = a->clock_bits ? raw_clock(a) : 0;
	wr.imm_data = htobe32(IMM);
	wr.wr.ud.ah = a->ah;
	wr.wr.ud.remote_qpn = a->o.qp->qp_num;
	wr.wr.ud.remote_qkey = a->o.known.qkey;
	ret = ret ? ret : ibv_post_send(a->o.qp, &wr, &bad);
	return KIT_MUST(a->k, !ret, "posting failed with %s", errno_name(ret));
}

static void judge(struct alone *a, const struct field *f, bool all)
{
	const uint64_t got = f->read((struct ibv_cq_ex *)a->o.recv_cq);
	uint64_t *value = &a->value[f - fields], want = *value;

	switch (f->known) {
	case LENGTH:
		want = LINK_GRH_LEN + BYTES;
		break;
	case IMMEDIATE:
		want = IMM;
		break;
	case NUMBER:
		want = a->o.qp->qp_num;
		break;
	case TIME: /* each message comes after that with all fields */
		KIT_CHECK(a->k, all ? got > 0 : got > want, "%s is %llu, and was %llu before", f->name,
			  (unsigned long long)got, (unsigned long long)want);
		*value = got;
		if (f->flag == IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
			judge_time(a, got);
		return;
	case SAME:
		want = all && !(a->plain & f->flag) ? got : want;
		break;
	}
	*value = got;
	KIT_CHECK(a->k, got == want, "%s is 0x%llx, expected 0x%llx", f->name, (unsigned long long)got,
		  (unsigned long long)want);
}

/* Polls the receive and reads these fields, and those that need not be asked for. */
static void read_fields(struct alone *a, uint64_t flags, bool all)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)a->o.recv_cq; /* begins with a struct ibv_cq */
	struct watchdog w = watchdog(a->k->r->dut.timeout_ms);
	struct ibv_poll_cq_attr attr = {0};
	struct kit *k = a->k;
	int ret;

	do
		ret = ibv_start_poll(cq, &attr);
	while (ret == ENOENT && !watchdog_expired(&w));
	KIT_CHECK(k, !ret, "the datagram did not come");
	if (cq->status || cq->wr_id != 0xf1e1d || ibv_wc_read_opcode(cq) != IBV_WC_RECV ||
	    ibv_wc_read_vendor_err(cq) || !(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM))
		KIT_FAULT(k, "status, wr_id, opcode, vendor_err or wc_flags are not those of the datagram");
	for (size_t i = 0; i < NUM_FIELDS && KIT_GOOD(k); i++)
		if (flags & fields[i].flag)
			judge(a, &fields[i], all);
	ibv_end_poll(cq);
}

/* A CQ with these fields. False: the device does not have them. */
static bool create(struct alone *a, uint64_t flags, const char *name)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 4, .wc_flags = flags};
	struct ibv_cq_ex *cq;

	log_call(&a->k->res->log, "/* ibv_create_cq_ex(ctx, attr): wc_flags 0x%llx */",
		 (unsigned long long)flags);
	errno = 0;
	cq = ibv_create_cq_ex(a->k->r->dut.requester.ctx, &attr);
	if (!cq && (errno == EOPNOTSUPP || errno == EINVAL) && !(flags & IBV_WC_STANDARD_FLAGS))
		seen(a->k->res, "no %s; ", name);
	else if (!cq)
		KIT_FAULT(a->k, "ibv_create_cq_ex with %s alone failed with %s", name, errno_name(errno));
	a->o.recv_cq = cq ? ibv_cq_ex_to_cq(cq) : NULL;
	return cq;
}

/* A QP that sends itself a datagram, whose receive completes in such a CQ. */
static bool ask(struct alone *a, uint64_t flags, const char *name)
{
	const bool all = flags & (flags - 1);
	bool has;

	a->o = (struct own){.init.qp_type = IBV_QPT_UD, .to_itself = true};
	a->o.send_cq = ibv_create_cq(a->k->r->dut.requester.ctx, 4, NULL, NULL, 0);
	has = create(a, flags, name);
	if (has && own_create_qp(a->k, &a->o) && own_reach(a->k, &a->o, IBV_QPS_RTS) && send_datagram(a))
		read_fields(a, flags, all);
	own_destroy(&a->o);
	return has;
}

static void take_plain(struct alone *a, const struct ibv_wc *wc)
{
	const uint64_t value[][2] = {{IBV_WC_EX_WITH_SLID, wc->slid},
				     {IBV_WC_EX_WITH_SL, wc->sl},
				     {IBV_WC_EX_WITH_DLID_PATH_BITS, wc->dlid_path_bits}};

	for (size_t i = 0; i < NUM_FIELDS; i++)
		for (size_t j = 0; j < sizeof(value) / sizeof(value[0]); j++)
			if (fields[i].flag == value[j][0]) {
				a->value[i] = value[j][1];
				a->plain |= fields[i].flag;
			}
}

/* The same datagram by ibv_poll_cq(). */
static void ask_plain(struct alone *a)
{
	const struct link l = {.dut = &a->k->r->dut};
	struct ibv_context *ctx = a->k->r->dut.requester.ctx;
	struct ibv_wc wc;

	a->o = (struct own){.init.qp_type = IBV_QPT_UD, .to_itself = true};
	a->o.send_cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	a->o.recv_cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	if (!a->o.send_cq || !a->o.recv_cq)
		KIT_FAULT(a->k, "ibv_create_cq failed with %s", errno_name(errno));
	else if (own_create_qp(a->k, &a->o) && own_reach(a->k, &a->o, IBV_QPS_RTS) && send_datagram(a) &&
		 kit_wait(a->k, (struct link *)&l, a->o.recv_cq, &wc))
		take_plain(a, &wc);
	own_destroy(&a->o);
}

static void fields_alone(struct kit *k)
{
	struct end *end = &k->r->dut.requester;
	struct alone a = {.k = k, .mem = end_alloc(end->pd, 4096)};
	struct ibv_ah_attr av;
	uint64_t has = 0;

	link_address(end, end, &av);
	a.clock_bits = clock_bits(k);
	a.ah = ibv_create_ah(end->pd, &av);
	a.mr = a.mem ? ibv_reg_mr(end->pd, a.mem, 4096, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!a.ah || !a.mr)
		KIT_FAULT(k, "address handle or memory: %s", errno_name(errno));
	/* what the device has; then all of that at once, for comparison; then each again */
	for (size_t i = 0; i < NUM_FIELDS && KIT_GOOD(k); i++) {
		if (create(&a, fields[i].flag, fields[i].name)) {
			has |= fields[i].flag;
			ibv_destroy_cq(a.o.recv_cq);
		}
	}
	a.o = (struct own){0};
	if (KIT_GOOD(k))
		ask_plain(&a);
	if (KIT_GOOD(k) && has & (has - 1))
		ask(&a, has, "all fields");
	for (size_t i = 0; i < NUM_FIELDS && KIT_GOOD(k); i++)
		if (has & fields[i].flag)
			ask(&a, fields[i].flag, fields[i].name);
}

SCENARIO(fields_alone) = {
	{"fields-alone", SUITE("cq"), QPS("RC"), ARGS({"more", 0}),
	 CLAUSE("ibv_create_cq_ex/DESCRIPTION/wc_flags"),
	 SAYS("a CQ with one flag of wc_flags gives the value that a CQ with all flags and "
	      "ibv_poll_cq() give, and what needs no flag")},
	{},
};

/* ---- Long messages ---- */

#define LONGEST 0x20000

/* The next entry of the receives' CQ is of a message of this length. */
static void read_length(struct kit *k, struct ibv_cq_ex *cq, uint32_t len)
{
	struct watchdog w = watchdog(k->r->dut.timeout_ms);
	struct ibv_poll_cq_attr attr = {0};
	int ret;

	do
		ret = ibv_start_poll(cq, &attr);
	while (ret == ENOENT && !watchdog_expired(&w));
	KIT_CHECK(k, !ret, "the message of %u bytes did not come", len);
	if (cq->status)
		KIT_FAULT(k, "the message of %u bytes ended with %s", len,
			  value_name(status_names, cq->status));
	else if (ibv_wc_read_byte_len(cq) != len)
		KIT_FAULT(k, "ibv_wc_read_byte_len() is %u, expected %u", ibv_wc_read_byte_len(cq), len);
	ibv_end_poll(cq);
}

static void carry_length(struct kit *k, struct own *o, struct ibv_mr *mr, uint32_t len)
{
	struct ibv_sge from = {(uintptr_t)mr->addr, len, mr->lkey};
	struct ibv_sge to = {(uintptr_t)mr->addr + LONGEST, LONGEST, mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = len, .sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = kit_wr(len, IBV_WR_SEND, &from), *bad;
	struct watchdog w = watchdog(k->r->dut.timeout_ms);
	struct ibv_wc wc;
	int ret = ibv_post_recv(o->qp, &recv, &bad_recv);

	ret = ret ? ret : ibv_post_send(o->qp, &wr, &bad);
	KIT_CHECK(k, !ret, "posting failed with %s", errno_name(ret));
	read_length(k, (struct ibv_cq_ex *)o->recv_cq, len);
	do
		ret = ibv_poll_cq(o->send_cq, 1, &wc);
	while (!ret && !watchdog_expired(&w));
	KIT_CHECK(k, ret == 1 && wc.status == IBV_WC_SUCCESS, "the SEND of %u bytes did not succeed", len);
}

/* Lengths at the borders of bytes and words, by a CQ that is asked for the length alone. */
static void field_lengths(struct kit *k)
{
	static const uint32_t lengths[] = {0, 1, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x10001, 0x1ffff};
	struct end *end = &k->r->dut.requester;
	struct ibv_cq_init_attr_ex attr = {.cqe = 4, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
	struct own o = {.init.qp_type = IBV_QPT_RC, .to_itself = true};
	void *mem = end_alloc(end->pd, 2 * LONGEST);
	struct ibv_mr *mr = mem ? ibv_reg_mr(end->pd, mem, 2 * LONGEST, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_cq_ex *cq = ibv_create_cq_ex(end->ctx, &attr);

	o.send_cq = ibv_create_cq(end->ctx, 4, NULL, NULL, 0);
	o.recv_cq = cq ? ibv_cq_ex_to_cq(cq) : NULL;
	if (!mr || !o.send_cq || !o.recv_cq)
		KIT_FAULT(k, "memory or CQs: %s", errno_name(errno));
	else if (own_create_qp(k, &o) && own_reach(k, &o, IBV_QPS_RTS))
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && KIT_GOOD(k); i++)
			carry_length(k, &o, mr, lengths[i]);
}

SCENARIO(field_lengths) = {
	{"lengths", SUITE("cq"), QPS("RC"), CLAUSE("ibv_create_cq_ex/DESCRIPTION/wc_flags"),
	 SAYS("ibv_wc_read_byte_len() is the length of the message, also where that needs 9, 16 and 17 "
	      "bits")},
	{},
};
