// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The ops of struct engine_ops, as ops of the model.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef RTL_COVERAGE
#include <string>

#include <verilated_cov.h>
#endif

#include "engine.hpp"

// Of one op. The longest walk over a window of WQEs takes a few hundred.
constexpr uint64_t MAX_CYCLES = 100000;

// ---- The model and its memory ----

engine::engine(const engine_config &config, const engine_ports &p, void *h) : cfg(config), ports(&p), host(h)
{
	context.randReset(pace.seed ? 2 : 0);
	context.randSeed((int)(pace.seed & 0x7fffffff));
	top = std::make_unique<Top>(&context, "engine");
	frames = std::make_unique<FramePath>(context, wave, pace);
	top->native_i = !strcmp(cfg.pers->name, "native");
	top->fetch_depth_i = (uint8_t)(cfg.fetch_depth < SLOTS ? cfg.fetch_depth : SLOTS);
	top->window_i = (uint8_t)cfg.window;
	top->op_valid_i = 0;
	top->ctx_ack_i = top->rec_ack_i = top->block_ack_i = top->req_ack_i = 0;
	top->rst_i = 1;
	clock();
	clock();
	top->rst_i = 0;
}

engine::~engine()
{
	wave.close();
	top->final();
#ifdef RTL_COVERAGE
	static unsigned int number;
	context.coveragep()->write(("engine." + std::to_string(number++) + ".dat").c_str());
#endif
}

void engine::clock()
{
	wave.cycle(*top);
	cycles++;
}

Context &engine::at(uint32_t place)
{
	auto &context_of = contexts_[place];

	if (!context_of)
		context_of.reset(new Context());
	return *context_of;
}

Record &engine::record(uint32_t place, uint16_t seq)
{
	auto &r = at(place).record[seq % RECORDS];

	if (!r)
		r.reset(new Record());
	return *r;
}

void engine::contexts()
{
	top->ctx_ack_i = top->ctx_valid_o && pace.ready();
	if (!top->ctx_ack_i)
		return;
	Context &c = at(top->ctx_qpn_o);
	if (top->ctx_we_o)
		c.write(*top);
	else
		c.answer(*top);
}

void engine::records()
{
	top->rec_ack_i = top->rec_valid_o && pace.ready();
	if (!top->rec_ack_i)
		return;
	Record &r = record(top->rec_qpn_o, top->rec_seq_o);
	if (top->rec_we_o)
		r.write(*top);
	else
		r.answer(*top);
}

void engine::blocks()
{
	top->block_ack_i = top->block_valid_o && pace.ready();
	if (top->block_ack_i)
		memcpy(&top->block_i, &slot[top->block_slot_o][top->block_number_o * BLOCK % HCA_WQE_MAX],
		       BLOCK);
}

void engine::retired()
{
	if (!top->retire_valid_o || !ports->retired)
		return;
	const engine_retired r = {.order = top->retire_order(),
				  .fetched = top->retire_fetched(),
				  .issued = top->retire_issued(),
				  .completed = top->retire_completed(),
				  .qpn = top->retire_qpn(),
				  .first_psn = top->retire_first_psn(),
				  .psns = top->retire_psns(),
				  .index = top->retire_index(),
				  .wqe_op = top->retire_op(),
				  .num_bb = top->retire_num_bb(),
				  .status = top->retire_status(),
				  .vendor_err = top->retire_vendor_err(),
				  .signaled = (bool)top->retire_signaled()};
	ports->retired(host, &r);
}

void engine::run(Op op)
{
	while (pace.idle()) // nothing to be done
		clock();
	const uint64_t until = cycles + MAX_CYCLES;

	busy = true;
	top->op_i = (uint8_t)op;
	top->op_valid_i = 1;
	if (op == Op::DECODE || op == Op::PACKETISE || op == Op::DECODE_WORK)
		wave.settle(*top); // these ask for a block or a record in their first cycle
	do {
		if (cycles > until) {
			fprintf(stderr, "hcasim: rtl engine: op %u of QP %u does not end\n", (unsigned int)op,
				(unsigned int)top->op_qpn_i);
			abort();
		}
		contexts();
		records();
		blocks();
		request();
		retired();
		clock();
	} while (!top->op_done_o);
	top->op_valid_i = 0;
	top->ctx_ack_i = top->rec_ack_i = top->block_ack_i = top->req_ack_i = 0;
	busy = false;
	if (op >= Op::QUERY) // they change nothing
		return;
	state_of.erase(top->result_qpn_o);
	work = {};
}

void engine::run(Op op, uint32_t qpn)
{
	const auto place = places.find(qpn);

	if (place == places.end()) // the core knows no such QP either
		return;
	top->op_qpn_i = place->second;
	run(op);
}

void engine::run_tag(Op op, uint32_t tag, bool flag)
{
	top->op_tag_i = (uint16_t)tag;
	top->op_flag_i = flag;
	run(op);
}

// ---- Ops ----

static struct engine *mutable_of(const struct engine *e)
{
	return const_cast<struct engine *>(e); // reading the model's state takes clock cycles
}

static struct engine *create(const struct engine_config *cfg, const struct engine_ports *ports, void *host)
{
	if (cfg->pers->wqebb_size != BLOCK || !cfg->window || cfg->window > MAX_WINDOW)
		return nullptr;
	return new engine(*cfg, *ports, host);
}

static void destroy(struct engine *e)
{
	delete e;
}

static void put_address(Top &top, const hca_av &av)
{
	top.attr_dgid(from_bytes(av.dgid));
	top.attr_dmac(from_bytes(av.dmac));
	top.attr_sgid_index(av.sgid_index);
	top.attr_hop_limit(av.hop_limit);
	top.attr_traffic_class(av.traffic_class);
	top.attr_sl(av.sl);
	top.attr_av_port(av.port);
	top.attr_flow_label(av.flow_label);
}

// The model expects that ports have no bits beyond their width.
static void put_attributes(Top &top, const struct engine_qp &c)
{
	top.attr_qp_type(c.type);
	top.attr_state(c.state & 7);
	top.attr_pasid(c.ring.pasid);
	top.attr_ring(c.ring.addr);
	top.attr_entries((uint16_t)c.ring.entries);
	top.attr_pdn(c.pdn);
	top.attr_max_inline((uint16_t)(c.max_inline < UINT16_MAX ? c.max_inline : UINT16_MAX));
	top.attr_mtu_log(c.mtu ? (uint8_t)__builtin_ctz(c.mtu) : 0);
	top.attr_port(c.port & 3);
	top.attr_timeout(c.timeout & 31);
	top.attr_retry_cnt(c.retry_cnt);
	top.attr_rnr_retry(c.rnr_retry);
	top.attr_max_rd_atomic(c.max_rd_atomic);
	top.attr_qkey(c.qkey);
	top.attr_dest_qpn(c.dest_qpn & HCASIM_PSN_MASK);
	top.attr_udp_sport(c.udp_sport);
	top.attr_paused(c.paused);
	put_address(top, c.av);
	top.set_state_i = c.set_state;
	top.set_psn_i = c.set_psn;
	top.psn_i = c.sq_psn & HCASIM_PSN_MASK;
}

static bool take_place(struct engine &e, uint32_t qpn)
{
	uint16_t place = (uint16_t)e.places.size();

	if (e.free_places.empty() && e.places.size() == QPS)
		return false;
	if (!e.free_places.empty()) {
		place = e.free_places.back();
		e.free_places.pop_back();
	}
	e.places[qpn] = place;
	return true;
}

static int qp_create(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	if (ctx->ring.entries > HCASIM_MAX_SQ_WQEBB)
		return -EOPNOTSUPP;
	if (!take_place(*e, qpn))
		return -ENOMEM;
	put_attributes(*e->top, *ctx);
	e->top->attr_qpn(qpn);
	e->run(Op::CREATE, qpn);
	return 0;
}

static void qp_set(struct engine *e, uint32_t qpn, const struct engine_qp *ctx)
{
	put_attributes(*e->top, *ctx);
	e->top->attr_qpn(qpn);
	e->run(Op::SET, qpn);
}

static void qp_reset(struct engine *e, uint32_t qpn)
{
	e->run(Op::RESET, qpn);
}

static void qp_destroy(struct engine *e, uint32_t qpn)
{
	e->run(Op::DESTROY, qpn);
	e->free_places.push_back(e->places[qpn]);
	e->places.erase(qpn);
}

// From inside the port `failed`: the model has the QP in ERR already.
static void error(struct engine *e, uint32_t qpn)
{
	if (!e->busy)
		e->run(Op::ERROR, qpn);
}

static void query(const struct engine *ce, uint32_t qpn, struct engine_query *out)
{
	struct engine *e = mutable_of(ce);

	e->run(Op::QUERY, qpn);
	out->sq_psn = e->top->state_next_psn();
	out->draining = e->top->result_ok_o;
}

static void port_set(struct engine *e, uint8_t port, uint32_t mtu)
{
	e->top->op_port_i = port - 1;
	e->top->op_mtu_i = (uint16_t)mtu;
	e->run(Op::PORT_SET);
}

static void doorbell(struct engine *e, uint32_t qpn, uint16_t pi)
{
	e->top->op_index_i = pi;
	e->run(Op::DOORBELL, qpn);
}

static void push(struct engine *e, uint32_t qpn, uint16_t index, const void *wqe, uint32_t len)
{
	e->top->op_index_i = index;
	e->top->op_blocks_i = (uint8_t)((len + BLOCK - 1) / BLOCK);
	e->run(Op::PUSH, qpn);
	if (e->top->result_ok_o)
		memcpy(e->slot[e->top->result_slot_o].data(), wqe, len);
}

static void read_done(struct engine *e, uint32_t tag, const void *data, uint32_t len, int status)
{
	e->run_tag(Op::READ_DONE, tag, status);
	if (!status)
		memcpy(e->slot[e->top->result_slot_o].data(), data, len);
}

static void written(struct engine *e, uint32_t tag, int status)
{
	e->run_tag(Op::WRITTEN, tag, status);
}

static void pages(struct engine *e, uint32_t tag, bool mapped)
{
	e->run_tag(Op::PAGES, tag, mapped);
}

static bool leave(struct engine *e, uint32_t tag, bool failed)
{
	e->run_tag(Op::LEAVE, tag, failed);
	return e->top->result_ok_o;
}

static void released(struct engine *e, uint32_t tag)
{
	e->run_tag(Op::RELEASED, tag, false);
}

static void response(struct engine *e, uint32_t qpn, const struct engine_response *r)
{
	Top &top = *e->top;

	top.response_psn(r->psn & HCASIM_PSN_MASK);
	top.response_data(r->data);
	top.response_atomic(r->atomic);
	top.response_last(r->end);
	top.response_payload_len(r->payload_len);
	top.response_kind(r->aeth_kind & 3); // without an AETH it is anything
	top.response_value(r->aeth_value);
	e->run(Op::RESPONSE, qpn);
}

static void timer(struct engine *e, uint32_t qpn)
{
	e->run(Op::TIMER, qpn);
}

static bool completion(const struct engine *ce, uint32_t qpn, struct engine_completion *out)
{
	struct engine *e = mutable_of(ce);
	const Top &top = *e->top;

	e->run(Op::COMPLETION, qpn);
	if (!top.result_ok_o || !out)
		return top.result_ok_o;
	*out = {};
	out->wqe_op = top.wqe_op();
	out->num_bb = top.wqe_num_bb();
	out->wqe_index = top.wqe_index();
	out->status = top.wqe_failed() ? top.wqe_status() : (uint8_t)HCASIM_CQE_STATUS_OK;
	out->vendor_err = top.wqe_failed() ? top.wqe_vendor_err() : (uint8_t)HCASIM_VENDOR_ERR_NONE;
	out->byte_count = top.result_read_o;
	return true;
}

static void completion_taken(struct engine *e, uint32_t qpn)
{
	e->run(Op::TAKEN, qpn);
}

// ---- Stages ----

static bool ready(const struct engine *e, enum hca_stage stage)
{
	if (stage == HCA_STAGE_FETCH)
		return e->top->fetch_o;
	if (stage == HCA_STAGE_DECODE)
		return e->top->decode_o;
	return e->top->packetise_o && e->ports->packet_room(e->host);
}

static bool pending(const struct engine *ce, enum hca_stage stage, struct hca_work *work)
{
	struct engine *e = mutable_of(ce);

	if (!ready(e, stage))
		return false;
	if (e->work[stage].known) {
		*work = e->work[stage].work;
		return true;
	}
	e->run(stage == HCA_STAGE_FETCH    ? Op::FETCH_WORK
	       : stage == HCA_STAGE_DECODE ? Op::DECODE_WORK
					   : Op::PACKETISE_WORK);
	work->bytes = e->top->result_bytes_o;
	work->items = e->top->result_items_o;
	work->qpn = e->top->result_qpn_o;
	e->work[stage] = {true, *work};
	return true;
}

static uint32_t step(struct engine *e, enum hca_stage stage)
{
	const uint64_t before = e->cycles;

	e->run(stage == HCA_STAGE_FETCH ? Op::FETCH : stage == HCA_STAGE_DECODE ? Op::DECODE : Op::PACKETISE);
	e->step_cycles = (uint32_t)(e->cycles - before);
	return e->top->result_qpn_o;
}

static uint32_t frame(struct engine *e, const struct engine_frame *f, uint8_t *out)
{
	const uint32_t len = e->frames->build(*f, out);

	e->step_cycles = e->frames->frame_cycles;
	return len;
}

// ---- Observation ----

static void counters(const struct engine *e, struct engine_counters *out)
{
	const Top &top = *e->top;

	*out = {top.wqes_o,          top.retransmissions_o, top.rnr_naks_o,
		top.sequence_naks_o, top.implied_naks_o,    top.timeouts_o};
}

static void state(const struct engine *ce, uint32_t qpn, struct engine_state *out)
{
	struct engine *e = mutable_of(ce);
	const Top &top = *e->top;

	if (e->state_of.count(qpn)) {
		*out = e->state_of[qpn];
		return;
	}
	e->run(Op::STATE, qpn);
	memset(out, 0, sizeof(*out));
	out->qp_state = top.qp_state_o;
	out->pi = top.state_pi();
	out->fetched = top.state_fetched();
	out->retired = top.state_retired();
	out->wqes = (uint16_t)(top.state_tail() - top.state_head());
	out->has_cur = top.state_cur() != top.state_tail();
	out->has_ack = top.state_ack() != top.state_tail();
	out->cur_index = top.result_cur_o;
	out->ack_index = top.result_ack_o;
	out->cur_pkt = top.state_cur_pkt();
	out->una_psn = top.state_una_psn();
	out->next_psn = top.state_next_psn();
	out->rd_out = top.state_rd_out();
	out->rd_incomplete = top.state_rd_incomplete();
	out->retries = top.state_retries();
	out->rnr_retries = top.state_rnr_retries();
	out->rnr_wait = top.state_rnr_wait();
	out->fault = top.state_fault();
	out->fetching = top.state_fetching();
	out->paging = top.state_paging();
	e->state_of[qpn] = *out;
}

static uint32_t cycles(const struct engine *e)
{
	return e->step_cycles;
}

static int wave(struct engine *e, uint32_t cycles, const char *path)
{
	return path ? e->wave.open(cycles, path, *e->top, e->frames->top()) : e->wave.close();
}

void rtl_engine_random(uint32_t seed, unsigned int percent)
{
	Pace::set(seed, percent);
}

void rtl_engine_idle(bool idle)
{
	Pace::idles = idle;
}

uint64_t rtl_engine_cycles(const struct engine *e)
{
	return e->cycles + e->frames->cycles;
}

void rtl_engine_cache(const struct engine *e, uint64_t *hits, uint64_t *misses)
{
	*hits = e->top->cache_hits_o;
	*misses = e->top->cache_misses_o;
}

const struct engine_ops rtl_engine = {
	.name = "rtl",
	.create = create,
	.destroy = destroy,
	.qp_create = qp_create,
	.qp_set = qp_set,
	.qp_reset = qp_reset,
	.qp_destroy = qp_destroy,
	.error = error,
	.query = query,
	.port_set = port_set,
	.doorbell = doorbell,
	.push = push,
	.read_done = read_done,
	.written = written,
	.pages = pages,
	.leave = leave,
	.released = released,
	.response = response,
	.timer = timer,
	.completion = completion,
	.completion_taken = completion_taken,
	.pending = pending,
	.step = step,
	.counters = counters,
	.state = state,
	.frame = frame,
	.since = nullptr,
	.cycles = cycles,
	.wave = wave,
	.ready = nullptr,
};
