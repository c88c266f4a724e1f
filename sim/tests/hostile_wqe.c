/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work queue entries in the real rings of the real provider, with every field wrong in turn: one error
 * completion with the status and vendor error that spec/families/native.yaml gives, the QP in the state that IBTA
 * requires, nothing written at the peer, and no effect on other QPs. Started by `hcasim run`.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "hostile_fixture.h"

enum how { SET, ADD, XOR, FOREIGN_KEY, READONLY_KEY, GONE_KEY };

struct spoil {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
	unsigned int offset, size; /* of the field in the WQE */
	enum how how;
	uint64_t value;
	int status, vendor;
};

/* Offsets of the segments in the provider's WQEs. */
#define AT_UD     16
#define AT_REMOTE 16
#define AT_ATOMIC 32

#define FIELD(at, type, member) (at) + offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define CTRL(member)            FIELD(0, hcasim_wqe_ctrl, member)
#define UD(member)              FIELD(AT_UD, hcasim_seg_ud, member)
#define REMOTE(member)          FIELD(AT_REMOTE, hcasim_seg_remote, member)
#define DATA(at, member)        FIELD(at, hcasim_seg_data, member)

#define RC_WRITE IBV_QPT_RC, IBV_WR_RDMA_WRITE
#define RC_READ  IBV_QPT_RC, IBV_WR_RDMA_READ
#define RC_CAS   IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP
#define RC_FAA   IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD
#define RC_SEND  IBV_QPT_RC, IBV_WR_SEND
#define UC_WRITE IBV_QPT_UC, IBV_WR_RDMA_WRITE
#define UD_SEND  IBV_QPT_UD, IBV_WR_SEND

#define OP_ERR(vendor)    IBV_WC_LOC_QP_OP_ERR, HCASIM_VENDOR_ERR_##vendor
#define PROT_ERR(vendor)  IBV_WC_LOC_PROT_ERR, HCASIM_VENDOR_ERR_##vendor
#define LEN_ERR(vendor)   IBV_WC_LOC_LEN_ERR, HCASIM_VENDOR_ERR_##vendor
#define REMOTE_ERR(which) IBV_WC_REM_##which##_ERR, HCASIM_VENDOR_ERR_NONE

/* clang-format off */
static const struct spoil spoils[] = {
	{"index behind", RC_WRITE, CTRL(index), ADD, -1ull, OP_ERR(STALE_WQE)},
	{"index ahead", RC_WRITE, CTRL(index), ADD, 1, OP_ERR(STALE_WQE)},
	{"index of the last turn", RC_WRITE, CTRL(index), ADD, FIXTURE_DEPTH, OP_ERR(STALE_WQE)},
	{"index, UC", UC_WRITE, CTRL(index), XOR, 0x8000, OP_ERR(STALE_WQE)},
	{"QPN of another", RC_WRITE, CTRL(qpn_flags), XOR, 3, OP_ERR(BAD_QPN)},
	{"QPN 0", RC_WRITE, CTRL(qpn_flags), SET, HCASIM_WQE_CTRL_SIGNALED_MASK, OP_ERR(BAD_QPN)},
	{"unknown flags", RC_WRITE, CTRL(qpn_flags), XOR, 1u << 31, OP_ERR(BAD_SEGMENT)},
	{"unknown flags, UC", UC_WRITE, CTRL(qpn_flags), XOR, 1u << 29, OP_ERR(BAD_SEGMENT)},
	{"inline where SGEs stand", RC_WRITE, CTRL(qpn_flags), XOR, HCASIM_WQE_CTRL_INLINE_MASK,
		OP_ERR(BAD_SEGMENT)},
	{"inline READ", RC_READ, CTRL(qpn_flags), XOR, HCASIM_WQE_CTRL_INLINE_MASK, OP_ERR(INLINE_NOT_ALLOWED)},
	{"inline atomic", RC_CAS, CTRL(qpn_flags), XOR, HCASIM_WQE_CTRL_INLINE_MASK, OP_ERR(INLINE_NOT_ALLOWED)},
	{"size 0", RC_WRITE, CTRL(size), SET, 0, OP_ERR(BAD_SIZE)},
	{"size without the remote segment", RC_WRITE, CTRL(size), SET, 1, OP_ERR(BAD_SIZE)},
	{"size without the atomic segment", RC_CAS, CTRL(size), SET, 2, OP_ERR(BAD_SIZE)},
	{"size beyond the doorbell", RC_WRITE, CTRL(size), SET, 64, OP_ERR(BAD_SIZE)},
	{"size beyond a WQE", RC_WRITE, CTRL(size), SET, 65, OP_ERR(BAD_SIZE)},
	{"size 255", RC_WRITE, CTRL(size), SET, 255, OP_ERR(BAD_SIZE)},
	{"size 255, UC", UC_WRITE, CTRL(size), SET, 255, OP_ERR(BAD_SIZE)},
	{"opcode behind the last", RC_WRITE, CTRL(opcode), SET, HCASIM_WQE_OP_ATOMIC_WRITE + 1, OP_ERR(BAD_OPCODE)},
	{"opcode 255", RC_WRITE, CTRL(opcode), SET, 255, OP_ERR(BAD_OPCODE)},
	{"opcode TSO", RC_WRITE, CTRL(opcode), SET, HCASIM_WQE_OP_TSO, OP_ERR(BAD_OPCODE)},
	{"READ on UC", UC_WRITE, CTRL(opcode), SET, HCASIM_WQE_OP_RDMA_READ, OP_ERR(BAD_OPCODE)},
	{"WRITE on UD", UD_SEND, CTRL(opcode), SET, HCASIM_WQE_OP_RDMA_WRITE, OP_ERR(BAD_OPCODE)},
	{"atomic on UD", UD_SEND, CTRL(opcode), SET, HCASIM_WQE_OP_ATOMIC_FA, OP_ERR(BAD_OPCODE)},
	{"reserved word of the remote segment", RC_WRITE, REMOTE(reserved), SET, 1, OP_ERR(BAD_SEGMENT)},
	{"remote address before its region", RC_WRITE, REMOTE(addr), ADD, -1ull, REMOTE_ERR(ACCESS)},
	{"remote address behind its region", RC_WRITE, REMOTE(addr), ADD, FIXTURE_SIZE - 7, REMOTE_ERR(ACCESS)},
	{"remote address that wraps", RC_WRITE, REMOTE(addr), SET, -4ull, REMOTE_ERR(ACCESS)},
	{"remote address 0", RC_READ, REMOTE(addr), SET, 0, REMOTE_ERR(ACCESS)},
	{"remote address not mapped", RC_READ, REMOTE(addr), SET, 0xdead00000000, REMOTE_ERR(ACCESS)},
	{"rkey 0", RC_WRITE, REMOTE(rkey), SET, 0, REMOTE_ERR(ACCESS)},
	{"rkey of another turn", RC_WRITE, REMOTE(rkey), XOR, 0xff, REMOTE_ERR(ACCESS)},
	{"rkey with all bits", RC_READ, REMOTE(rkey), SET, ~0u, REMOTE_ERR(ACCESS)},
	{"rkey of another PD", RC_WRITE, REMOTE(rkey), FOREIGN_KEY, 1, REMOTE_ERR(ACCESS)},
	{"rkey without rights, WRITE", RC_WRITE, REMOTE(rkey), READONLY_KEY, 1, REMOTE_ERR(ACCESS)},
	{"rkey without rights, READ", RC_READ, REMOTE(rkey), READONLY_KEY, 1, REMOTE_ERR(ACCESS)},
	{"rkey without rights, atomic", RC_CAS, REMOTE(rkey), READONLY_KEY, 1, REMOTE_ERR(ACCESS)},
	{"rkey deregistered", RC_WRITE, REMOTE(rkey), GONE_KEY, 1, REMOTE_ERR(ACCESS)},
	{"atomic address not aligned", RC_FAA, REMOTE(addr), ADD, 4, REMOTE_ERR(INV_REQ)},
	{"lkey 0", RC_WRITE, DATA(32, lkey), SET, 0, PROT_ERR(BAD_LKEY)},
	{"lkey of another turn", RC_SEND, DATA(16, lkey), XOR, 1, PROT_ERR(BAD_LKEY)},
	{"lkey below the first", RC_WRITE, DATA(32, lkey), SET, 0x100, PROT_ERR(BAD_LKEY)},
	{"lkey of another PD", RC_WRITE, DATA(32, lkey), FOREIGN_KEY, 0, PROT_ERR(LKEY_PD)},
	{"lkey deregistered", RC_WRITE, DATA(32, lkey), GONE_KEY, 0, PROT_ERR(BAD_LKEY)},
	{"lkey without rights, READ", RC_READ, DATA(32, lkey), READONLY_KEY, 0, PROT_ERR(LKEY_ACCESS)},
	{"lkey without rights, atomic", RC_FAA, DATA(48, lkey), READONLY_KEY, 0, PROT_ERR(LKEY_ACCESS)},
	{"lkey, UC", UC_WRITE, DATA(32, lkey), SET, ~0u, PROT_ERR(BAD_LKEY)},
	{"lkey, UD", UD_SEND, DATA(64, lkey), SET, ~0u, PROT_ERR(BAD_LKEY)},
	{"address before its region", RC_WRITE, DATA(32, addr), ADD, -1ull, PROT_ERR(LKEY_RANGE)},
	{"address behind its region", RC_SEND, DATA(16, addr), ADD, FIXTURE_SIZE - 7, PROT_ERR(LKEY_RANGE)},
	{"address that wraps", RC_WRITE, DATA(32, addr), SET, -4ull, PROT_ERR(LKEY_RANGE)},
	{"address not mapped", RC_READ, DATA(32, addr), SET, 0xdead00000000, PROT_ERR(LKEY_RANGE)},
	{"length beyond the region", RC_WRITE, DATA(32, length), SET, FIXTURE_SIZE + 1, PROT_ERR(LKEY_RANGE)},
	{"length of 2 GiB", RC_WRITE, DATA(32, length), SET, 1u << 31, PROT_ERR(LKEY_RANGE)},
	{"length beyond a message", RC_WRITE, DATA(32, length), SET, ~0u, LEN_ERR(MSG_TOO_LONG)},
	{"length of an atomic", RC_CAS, DATA(48, length), SET, 4, LEN_ERR(BAD_SEGMENT)},
	{"length of an atomic, 16", RC_FAA, DATA(48, length), SET, 16, LEN_ERR(BAD_SEGMENT)},
	{"length beyond the MTU, UD", UD_SEND, DATA(64, length), SET, 4097, LEN_ERR(MSG_TOO_LONG)},
	{"destination QPN beyond 24 bits", UD_SEND, UD(qpn), XOR, 1u << 24, OP_ERR(BAD_SEGMENT)},
	{"flow label beyond 20 bits", UD_SEND, UD(flow_label), SET, 1u << 20, OP_ERR(BAD_SEGMENT)},
	{"SL 16", UD_SEND, UD(sl), SET, 16, OP_ERR(BAD_SEGMENT)},
	{"source GID behind the table", UD_SEND, UD(sgid_index), SET, 255, OP_ERR(BAD_SEGMENT)},
	{"port 0", UD_SEND, UD(port), SET, 0, OP_ERR(BAD_SEGMENT)},
	{"port of another", UD_SEND, UD(port), SET, 2, OP_ERR(BAD_SEGMENT)},
	{"reserved bytes of the destination", UD_SEND, UD(reserved), SET, 1, OP_ERR(BAD_SEGMENT)},
	/* Errors that the sender cannot detect: the datagram is lost. */
	{"destination QPN that is none", UD_SEND, UD(qpn), SET, 0xfffff0, IBV_WC_SUCCESS, 0},
	{"wrong Q_Key", UD_SEND, UD(qkey), XOR, 1, IBV_WC_SUCCESS, 0},
	{"destination GID that is none", UD_SEND, UD(dgid), SET, 0x1234, IBV_WC_SUCCESS, 0},
	{"destination MAC that is none", UD_SEND, UD(dmac), SET, 0x1234, IBV_WC_SUCCESS, 0},
};
/* clang-format on */

static uint64_t new_value(const struct spoil *s, uint64_t old)
{
	switch (s->how) {
	case SET:
		return s->value;
	case ADD:
		return old + s->value;
	case XOR:
		return old ^ s->value;
	case FOREIGN_KEY:
		return fixture_foreign[s->value]->rkey;
	case READONLY_KEY:
		return fixture_readonly[s->value]->lkey;
	default:
		return fixture_gone[s->value];
	}
}

static void spoil(const struct spoil *s, uint8_t *wqe)
{
	unsigned int size = s->size < 8 ? s->size : 8;
	uint64_t old = 0, value;

	memcpy(&old, wqe + s->offset, size);
	value = htole64(new_value(s, le64toh(old)));
	memcpy(wqe + s->offset, &value, size);
}

/* IBTA 10.3.1: the state that a failed send leaves behind. */
static enum ibv_qp_state state_after(const struct spoil *s)
{
	if (s->status == IBV_WC_SUCCESS)
		return IBV_QPS_RTS;
	return s->type == IBV_QPT_RC ? IBV_QPS_ERR : IBV_QPS_SQE;
}

static void spoiled(const struct spoil *s)
{
	struct ibv_sge all = {(uintptr_t)fixture_link.buf[1], FIXTURE_SIZE, fixture_link.mr[1]->lkey};
	bool fails = s->status != IBV_WC_SUCCESS;
	struct fixture r;

	fixture_fill();
	fixture_open(&r, s->type);
	if (s->op == IBV_WR_SEND)
		fixture_receive(&r, 3, &all);
	spoil(s, fixture_prepare_good(&r, s->op, 1));
	if (fails)
		fixture_prepare_good(&r, s->op, 2);
	fixture_ring(&r);
	fixture_expect(&r, 0, s->name, 1, s->status, s->vendor);
	if (fails)
		fixture_expect(&r, 0, s->name, 2, IBV_WC_WR_FLUSH_ERR, 0);
	fixture_expect_silence(&r, s->name);
	if (fixture_state(&r, 0) != state_after(s)) {
		fprintf(stderr, "\n%s: the QP is in state %d\n", s->name, fixture_state(&r, 0));
		CU_FAIL("state");
	}
	if (!fixture_untouched(1, 0) || !fixture_untouched(0, 0)) {
		fprintf(stderr, "\n%s: data was written\n", s->name);
		CU_FAIL("data");
	}
	fixture_close(&r);
}

static void every_field_of_a_send(void)
{
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++)
		spoiled(&spoils[i]);
	fixture_fresh_pair_works(IBV_QPT_RC);
	fixture_fresh_pair_works(IBV_QPT_UC);
	fixture_fresh_pair_works(IBV_QPT_UD);
}

/* ---- Receives ---- */

#define RC_RECV     IBV_QPT_RC, IBV_WR_SEND
#define UC_RECV     IBV_QPT_UC, IBV_WR_SEND
#define UD_RECV     IBV_QPT_UD, IBV_WR_SEND
#define RQE(member) FIELD(0, hcasim_rqe, member)

/* clang-format off */
static const struct spoil receives[] = {
	{"index", RC_RECV, RQE(index), ADD, 1, OP_ERR(STALE_WQE)},
	{"index of the last turn", RC_RECV, RQE(index), ADD, -(uint64_t)FIXTURE_DEPTH, OP_ERR(STALE_WQE)},
	{"index, UC", UC_RECV, RQE(index), XOR, 0x8000, OP_ERR(STALE_WQE)},
	{"index, UD", UD_RECV, RQE(index), XOR, 0x8000, OP_ERR(STALE_WQE)},
	{"more SGEs than the stride holds", RC_RECV, RQE(num_sge), SET, HCASIM_MAX_SGE, OP_ERR(BAD_RQE)},
	{"255 SGEs", RC_RECV, RQE(num_sge), SET, 255, OP_ERR(BAD_RQE)},
	{"reserved bytes", RC_RECV, RQE(reserved), SET, 1, OP_ERR(BAD_RQE)},
	{"reserved bytes, UD", UD_RECV, RQE(reserved), SET, 1, OP_ERR(BAD_RQE)},
	{"lkey 0", RC_RECV, DATA(16, lkey), SET, 0, PROT_ERR(BAD_LKEY)},
	{"lkey of another PD", RC_RECV, DATA(16, lkey), FOREIGN_KEY, 1, PROT_ERR(LKEY_PD)},
	{"lkey without rights", RC_RECV, DATA(16, lkey), READONLY_KEY, 1, PROT_ERR(LKEY_ACCESS)},
	{"lkey deregistered", UC_RECV, DATA(16, lkey), GONE_KEY, 1, PROT_ERR(BAD_LKEY)},
	{"lkey deregistered, UD", UD_RECV, DATA(16, lkey), GONE_KEY, 1, PROT_ERR(BAD_LKEY)},
	{"address behind its region", RC_RECV, DATA(16, addr), ADD, FIXTURE_SIZE, PROT_ERR(LKEY_RANGE)},
	{"address that wraps", RC_RECV, DATA(16, addr), SET, -4ull, PROT_ERR(LKEY_RANGE)},
	{"address not mapped, UD", UD_RECV, DATA(16, addr), SET, 0xdead00000000, PROT_ERR(LKEY_RANGE)},
	{"shorter than the message", RC_RECV, DATA(16, length), SET, 7, LEN_ERR(RQ_TOO_SHORT)},
	{"no SGE", RC_RECV, RQE(num_sge), SET, 0, LEN_ERR(RQ_TOO_SHORT)},
};
/* clang-format on */

/* IBTA 9.7.4.1: the requester's completion status for an RC message that the responder cannot receive. */
static int status_at_requester(const struct spoil *s)
{
	if (s->type != IBV_QPT_RC)
		return IBV_WC_SUCCESS;
	return s->status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
}

static void spoiled_receive(const struct spoil *s)
{
	struct ibv_sge sge = {(uintptr_t)fixture_link.buf[1], 64, fixture_link.mr[1]->lkey};
	struct fixture r;

	fixture_fill();
	fixture_open(&r, s->type);
	spoil(s, fixture_receive(&r, 1, &sge));
	fixture_receive(&r, 2, &sge);
	fixture_prepare_good(&r, IBV_WR_SEND, 3);
	fixture_ring(&r);
	fixture_expect(&r, 1, s->name, 1, s->status, s->vendor);
	fixture_expect(&r, 1, s->name, 2, IBV_WC_WR_FLUSH_ERR, 0);
	fixture_expect(&r, 0, s->name, 3, status_at_requester(s), 0);
	fixture_expect_silence(&r, s->name);
	CU_ASSERT_EQUAL(fixture_state(&r, 1), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(fixture_state(&r, 0), s->type == IBV_QPT_RC ? IBV_QPS_ERR : IBV_QPS_RTS);
	if (!fixture_untouched(1, 0)) {
		fprintf(stderr, "\n%s: data was written\n", s->name);
		CU_FAIL("data");
	}
	fixture_close(&r);
}

static void every_field_of_a_receive(void)
{
	for (size_t i = 0; i < sizeof(receives) / sizeof(receives[0]); i++)
		spoiled_receive(&receives[i]);
	fixture_fresh_pair_works(IBV_QPT_RC);
	fixture_fresh_pair_works(IBV_QPT_UC);
	fixture_fresh_pair_works(IBV_QPT_UD);
}

void add_wqe_suite(void)
{
	CU_pSuite s = CU_add_suite("WQEs", fixture_setup, fixture_teardown);

	CU_add_test(s, "every field of a send WQE wrong in turn", every_field_of_a_send);
	CU_add_test(s, "every field of a receive WQE wrong in turn", every_field_of_a_receive);
}

int main(void)
{
	unsigned int failed;

	if (CU_initialize_registry())
		return 1;
	add_wqe_suite();
	add_doorbell_suite();
	add_memory_suite();
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failed != 0;
}
