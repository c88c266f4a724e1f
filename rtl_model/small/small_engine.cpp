// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * struct engine_ops for hcasim_small.sv: each op is a command, and the model is clocked until it is ready again. The
 * wrapper keeps the QPs' contexts for what it does not pass to the model (addresses, keys' protection domains).
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <verilated.h>
#include <verilated_fst_c.h>

#include "Vhcasim_small.h"
#include "core/engine.h"

#include <hcasim_verbs.h>
#include <hcasim_wire.h>

namespace
{

constexpr uint32_t QPS = 256;
constexpr uint32_t BLOCK = 64;
constexpr hca_ps ACK_TIMEOUT_UNIT = 4096000; /* IBTA 9.7.6.1.3: 4.096 us */

struct Slot {
	bool used = false;
	uint32_t qpn = 0;
	engine_qp ctx = {};
};

/* Tags: those of reads and packets are separate numbers. */
uint32_t tag_of(uint32_t slot, uint32_t epoch, uint32_t seq)
{
	return epoch << 16 | seq << 8 | slot;
}

} // namespace

struct engine {
	VerilatedContext context; /* first: destroyed last */
	Vhcasim_small model{&context};
	const hca_personality *pers;
	const engine_ports *ports;
	void *host;
	Slot slot[QPS];
	piece pieces[ENGINE_MAX_PIECES];
	uint32_t npieces = 0;
	uint32_t cycles = 0; /* of the last op */
	engine_counters counters = {};
	std::unique_ptr<VerilatedFstC> wave;
	std::string wave_path;
	uint32_t wave_cycles = 0, wave_at = 0;

	void tick();
	void serve();
	uint8_t request();
	uint8_t request_rest();
	engine_lookup lookup(hca_sge *sge);
	bool read(Slot &s);
	void saw(const Slot &s);
	bool packet(const Slot &s);
	void timer(const Slot &s);
	void open_wave();
};

/* ---- Clock ---- */

void engine::tick()
{
	if (wave && ++wave_at > wave_cycles) {
		wave->close();
		rename(wave_path.c_str(), (wave_path + ".before").c_str());
		open_wave();
	}
	model.clk_i = 0;
	model.eval();
	if (wave)
		wave->dump(context.time());
	context.timeInc(1);
	model.clk_i = 1;
	model.eval();
	if (wave)
		wave->dump(context.time());
	context.timeInc(1);
	cycles++;
}

void engine::open_wave()
{
	wave = std::make_unique<VerilatedFstC>();
	model.trace(wave.get(), 99);
	wave->open(wave_path.c_str());
	wave_at = 0;
}

/* A command with its inputs set; `input` is its bit. */
#define COMMAND(e, input, qp)                                                                                \
	do {                                                                                                 \
		(e)->model.qp_i = (uint8_t)(qp);                                                             \
		(e)->model.input = 1;                                                                        \
		(e)->cycles = 0;                                                                             \
		(e)->tick();                                                                                 \
		(e)->model.input = 0;                                                                        \
		(e)->serve();                                                                                \
	} while (0)

void engine::serve()
{
	while (!model.ready_o) {
		model.error_code_i = request();
		model.done_i = 1;
		tick();
		model.done_i = 0;
	}
}

/* ---- What the model asks for ---- */

engine_lookup engine::lookup(hca_sge *sge)
{
	const Slot &s = slot[model.req_qp_o];
	const uint32_t *word = model.sge_o.data();

	for (uint32_t i = 0; i < model.num_sge_o; i++, word += 4)
		sge[i] = {word[0] | (uint64_t)word[1] << 32, word[2], word[3]};
	return {s.ctx.pdn, 0, sge, model.num_sge_o, 0, UINT64_MAX};
}

bool engine::read(Slot &s)
{
	const uint32_t at = model.index_o & (s.ctx.ring.entries - 1);
	const hca_dma_seg seg = {s.ctx.ring.addr + (uint64_t)at * BLOCK, BLOCK, 0};

	return ports->read(host, s.qpn, tag_of(model.req_qp_o, model.req_epoch_o, 0), s.ctx.ring.pasid, &seg,
			   1);
}

/* For observers only: the engine itself decodes in RTL. */
void engine::saw(const Slot &s)
{
	hca_sge sge[ENGINE_MAX_PIECES];
	uint8_t raw[HCA_WQE_MAX] = {}, status;
	hca_wr wr = {};

	wr.sge = sge;
	memcpy(raw, model.block_o.data(), BLOCK);
	pers->decode_wqe(raw, BLOCK, s.ctx.type, s.qpn, model.index_o, &wr, sge, ENGINE_MAX_PIECES, &status);
	counters.wqes++;
	ports->saw_wqe(host, s.qpn, &wr, raw, BLOCK);
}

bool engine::packet(const Slot &s)
{
	const uint32_t *block = model.block_o.data();
	engine_packet p = {};

	p.qpn = s.qpn;
	p.spec.opcode = model.opcode_o;
	p.spec.port = s.ctx.port;
	p.spec.av = &s.ctx.av;
	p.spec.sport = s.ctx.udp_sport;
	p.spec.dqpn = s.ctx.dest_qpn;
	p.spec.psn = model.psn_o;
	p.spec.sqpn = s.qpn;
	p.spec.se = model.solicited_o;
	p.spec.ackreq = model.ackreq_o;
	p.spec.va = block[4] | (uint64_t)block[5] << 32; /* seg_remote, if the opcode has a RETH */
	p.spec.rkey = block[6];
	p.spec.dmalen = model.msg_length_o;
	p.spec.payload_len = model.length_o;
	if (model.inline_o) {
		p.head = (const uint8_t *)model.sge_o.data() + sizeof(uint32_t);
		p.head_len = model.length_o;
	} else if (model.length_o) {
		p.piece = pieces;
		p.npieces = npieces;
	}
	return ports->packet(host, tag_of(model.req_qp_o, model.req_epoch_o, model.req_seq_o), &p);
}

void engine::timer(const Slot &s)
{
	hca_ps at = HCA_PS_NEVER;

	if (model.timer_rnr_o) {
		counters.rnr_naks++;
		at = ports->now(host) + hcasim_rnr_timer_ns(model.timer_code_o) * 1000ull;
	} else if (!model.timer_stop_o && s.ctx.timeout) {
		at = ports->now(host) + (ACK_TIMEOUT_UNIT << s.ctx.timeout);
	}
	ports->timer(host, s.qpn, at);
}

/* Executes the request of this cycle, if there is one; returns the vendor error. */
uint8_t engine::request()
{
	hca_sge sge[3];

	if (model.check_o) {
		const engine_lookup all = lookup(sge);

		return ports->lookup(host, &all, nullptr, nullptr);
	}
	if (model.lookup_o) {
		engine_lookup part = lookup(sge);

		part.off = model.offset_o;
		part.len = model.length_o;
		return ports->lookup(host, &part, pieces, &npieces);
	}
	return request_rest();
}

uint8_t engine::request_rest()
{
	Slot &s = slot[model.req_qp_o];

	if (model.read_o)
		return !read(s);
	if (model.packet_o)
		return !packet(s);
	if (model.saw_o)
		saw(s);
	else if (model.timer_o)
		timer(s);
	else if (model.failure_o)
		ports->failed(host, s.qpn, HCASIM_QPS_ERR);
	else if (model.drained_o)
		ports->drained(host, s.qpn);
	return 0;
}

/* ---- Ops ---- */

namespace
{

uint32_t slot_of(uint32_t qpn)
{
	return qpn % QPS;
}

struct engine *create(const struct engine_config *cfg, const struct engine_ports *ports, void *host)
{
	struct engine *e = new (std::nothrow) engine;

	if (!e)
		return nullptr;
	e->pers = cfg->pers;
	e->ports = ports;
	e->host = host;
	e->context.traceEverOn(true);
	e->model.rst_i = 1;
	e->tick();
	e->model.rst_i = 0;
	e->serve(); /* until all QPs are cleared */
	return e;
}

void destroy(struct engine *e)
{
	if (e->wave)
		e->wave->close();
	e->model.final();
	delete e;
}

void qp_set(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	e->slot[slot_of(qpn)].ctx = *ctx;
	e->model.rc_i = ctx->type == HCASIM_QPT_RC;
	e->model.paused_i = ctx->paused;
	e->model.state_i = ctx->state;
	e->model.set_state_i = ctx->set_state;
	e->model.set_psn_i = ctx->set_psn;
	e->model.psn_i = ctx->sq_psn & HCASIM_PSN_MASK;
	e->model.mtu_log2_i = ctx->mtu ? (uint8_t)__builtin_ctz(ctx->mtu) : 8;
	e->model.entries_i = (uint16_t)ctx->ring.entries;
	e->model.max_inline_i = (uint16_t)ctx->max_inline;
	e->model.retry_cnt_i = ctx->retry_cnt;
	e->model.rnr_retry_i = ctx->rnr_retry;
	COMMAND(e, set_i, slot_of(qpn));
}

/* A slot for each QPN of the same low bits: the second one has no memory. */
int qp_create(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	Slot &s = e->slot[slot_of(qpn)];

	if (s.used)
		return -ENOMEM;
	s.used = true;
	s.qpn = qpn;
	qp_set(e, qpn, ctx);
	return 0;
}

void qp_reset(struct engine *e, uint32_t qpn)
{
	COMMAND(e, reset_i, slot_of(qpn));
}

void qp_destroy(struct engine *e, uint32_t qpn)
{
	qp_reset(e, qpn);
	e->slot[slot_of(qpn)].used = false;
}

/* During a request the model has already moved the QP to ERR. */
void error(struct engine *e, uint32_t qpn)
{
	if (e->model.ready_o)
		COMMAND(e, error_i, slot_of(qpn));
}

void port_set(struct engine *, uint8_t, uint32_t)
{
}

void doorbell(struct engine *e, uint32_t qpn, uint16_t pi)
{
	e->model.index_i = pi;
	COMMAND(e, doorbell_i, slot_of(qpn));
}

/* The pushed bytes are also in the ring, from where they are read. */
void push(struct engine *e, uint32_t qpn, uint16_t index, const void *, uint32_t len)
{
	doorbell(e, qpn, (uint16_t)(index + (len + BLOCK - 1) / BLOCK));
}

void read_done(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status)
{
	e->model.epoch_i = (uint8_t)(tag >> 16);
	e->model.failed_i = status != 0;
	if (!status)
		memcpy(e->model.block_i.data(), data, len < BLOCK ? len : BLOCK);
	COMMAND(e, fetched_i, tag & 0xff);
}

/* No results and no page requests: it has no READs, and no on-demand paging. */
void written(struct engine *, uint32_t, int)
{
}

void pages(struct engine *, uint32_t, bool)
{
}

bool leave(struct engine *e, uint32_t tag, bool failed)
{
	e->model.epoch_i = (uint8_t)(tag >> 16);
	e->model.seq_i = (uint8_t)(tag >> 8);
	e->model.failed_i = failed;
	COMMAND(e, leave_i, tag & 0xff);
	return e->model.leave_ok_o;
}

void released(struct engine *, uint32_t)
{
}

void response(struct engine *e, uint32_t qpn, const struct engine_response *r)
{
	if (r->data)
		return;
	e->model.psn_i = r->psn;
	e->model.aeth_kind_i = r->aeth_kind;
	e->model.aeth_value_i = r->aeth_value;
	e->counters.sequence_naks +=
		r->aeth_kind == HCASIM_AETH_KIND_NAK && r->aeth_value == HCASIM_NAK_PSN_SEQ;
	COMMAND(e, response_i, slot_of(qpn));
}

void timer(struct engine *e, uint32_t qpn)
{
	COMMAND(e, expired_i, slot_of(qpn));
}

/* ---- Questions ---- */

void ask(const struct engine *ce, uint32_t qpn)
{
	struct engine *e = const_cast<struct engine *>(ce);

	e->model.query_qp_i = (uint8_t)slot_of(qpn);
	e->model.eval();
}

bool completion(const struct engine *e, uint32_t qpn, struct engine_completion *out)
{
	ask(e, qpn);
	if (!e->model.completion_o)
		return false;
	if (out)
		*out = {e->model.cpl_op_o,
			e->model.cpl_num_bb_o,
			e->model.cpl_status_o,
			e->model.cpl_vendor_o,
			e->model.cpl_index_o,
			0,
			0};
	return true;
}

void completion_taken(struct engine *e, uint32_t qpn)
{
	COMMAND(e, taken_i, slot_of(qpn));
}

bool pending(const struct engine *e, enum hca_stage stage, struct hca_work *work)
{
	const Vhcasim_small &m = e->model;
	const bool has[] = {bool(m.fetch_o), bool(m.decode_o), m.send_o && e->ports->packet_room(e->host)};
	const uint32_t qp[] = {m.fetch_qp_o, m.decode_qp_o, m.send_qp_o};
	const int i = stage - HCA_STAGE_FETCH;

	if (has[i])
		*work = {BLOCK, 1, e->slot[qp[i]].qpn};
	return has[i];
}

uint32_t step(struct engine *e, enum hca_stage stage)
{
	uint32_t qp;

	if (stage == HCA_STAGE_FETCH) {
		qp = e->model.fetch_qp_o;
		COMMAND(e, fetch_i, qp);
	} else if (stage == HCA_STAGE_DECODE) {
		qp = e->model.decode_qp_o;
		COMMAND(e, decode_i, qp);
	} else {
		qp = e->model.send_qp_o;
		COMMAND(e, send_i, qp);
	}
	return e->slot[qp].qpn;
}

void counters(const struct engine *e, struct engine_counters *out)
{
	*out = e->counters;
}

void query(const struct engine *e, uint32_t qpn, struct engine_query *out)
{
	ask(e, qpn);
	out->sq_psn = e->model.next_psn_o;
	out->draining = e->model.draining_o;
}

void state(const struct engine *e, uint32_t qpn, struct engine_state *out)
{
	const Vhcasim_small &m = e->model;

	ask(e, qpn);
	*out = {};
	out->qp_state = m.qp_state_o;
	out->una_psn = m.una_psn_o;
	out->next_psn = m.next_psn_o;
	out->retired = m.cpl_index_o;
}

uint32_t cycles(const struct engine *e)
{
	return e->cycles;
}

int wave(struct engine *e, uint32_t cycles, const char *path)
{
	if (e->wave)
		e->wave->close();
	e->wave = nullptr;
	if (!path)
		return 0;
	e->wave_path = path;
	e->wave_cycles = cycles;
	e->open_wave();
	return e->wave->isOpen() ? 0 : -EIO;
}

constexpr engine_ops make_ops()
{
	engine_ops ops = {};

	ops.name = "rtl:small";
	ops.create = create;
	ops.destroy = destroy;
	ops.qp_create = qp_create;
	ops.qp_set = qp_set;
	ops.qp_reset = qp_reset;
	ops.qp_destroy = qp_destroy;
	ops.error = error;
	ops.query = query;
	ops.port_set = port_set;
	ops.doorbell = doorbell;
	ops.push = push;
	ops.read_done = read_done;
	ops.written = written;
	ops.pages = pages;
	ops.leave = leave;
	ops.released = released;
	ops.response = response;
	ops.timer = timer;
	ops.completion = completion;
	ops.completion_taken = completion_taken;
	ops.pending = pending;
	ops.step = step;
	ops.counters = counters;
	ops.state = state;
	ops.cycles = cycles;
	ops.wave = wave;
	return ops;
}

constexpr engine_ops ops = make_ops();

} // namespace

ENGINE_PLUGIN(&ops);
