// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "adapter.h"

#include <cmath>
#include <cstring>

#include <hcasim_core.h>

#include "trace/trace.h"

namespace hcasim
{
namespace
{

/* What Linux subtracts from an Ethernet MTU before it picks the largest RoCE MTU that fits: GRH or IP, UDP,
 * BTH, the longest extension headers and the ICRC. */
constexpr unsigned int ROCE_OVERHEAD = 40 + 8 + 12 + 4 + 28 + 4;

uint8_t roce_mtu(unsigned int ethernet_mtu)
{
	uint8_t mtu = 5; /* enum ibv_mtu: 128 << mtu bytes */

	while (mtu > 1 && (128u << mtu) + ROCE_OVERHEAD > ethernet_mtu)
		mtu--;
	return mtu;
}

hca_dcqcn dcqcn(const Profile &p)
{
	hca_dcqcn d = {};

	d.on = p.dcqcn.enable != 0;
	d.cnp_interval = hca_ps(p.dcqcn.cnp_interval);
	d.alpha_timer = hca_ps(p.dcqcn.alpha_timer);
	d.rate_timer = hca_ps(p.dcqcn.rate_timer);
	d.byte_counter = uint64_t(p.dcqcn.byte_counter);
	d.fast_recovery = uint32_t(p.dcqcn.fast_recovery);
	d.g = uint32_t(std::lround(p.dcqcn.g * 65536));
	d.additive = uint32_t(p.dcqcn.additive * 1000); /* kbit/s */
	d.hyper = uint32_t(p.dcqcn.hyper * 1000);
	d.min_rate = uint32_t(p.dcqcn.min_rate * 1000);
	return d;
}

/* Locally administered addresses, and the EUI-64 that follows from them: the same in every run. */
hca_config describe(unsigned int index, const AdapterContext &ctx)
{
	const uint8_t mac[6] = {0x02, 'h', 'c', 'a', uint8_t(index >> 8), uint8_t(index + 1)};
	const uint8_t eui[8] = {uint8_t(mac[0] ^ 2), mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
	const Profile &p = ctx.profile;
	hca_config c = {};

	snprintf(c.name, sizeof(c.name), "%s", ctx.name);
	for (uint8_t byte : eui)
		c.node_guid = c.node_guid << 8 | byte;
	c.num_ports = 1;
	memcpy(c.mac[0], mac, sizeof(mac));
	c.max_qp = p.adapter.max_qp;
	c.max_cq = p.adapter.max_cq;
	c.max_mr = p.adapter.max_mr;
	c.max_mw = p.adapter.max_mw;
	c.max_srq = p.adapter.max_srq;
	c.port_rate = uint32_t(p.wire.rate * 1000); /* Mb/s */
	c.port_mtu = roce_mtu(p.wire.mtu);
	c.max_rd_atomic = p.adapter.max_rd_atomic;
	c.acks_after_landing = p.adapter.acks_after_landing;
	c.doorbell_depth = p.fifo.doorbell;
	c.queue_reads = p.fifo.fetch_queue;
	c.posted_blocks = p.fifo.posted;
	c.fetch_depth = p.fifo.fetch;
	c.gather_depth = p.fifo.gather;
	c.tx_depth = p.fifo.tx;
	c.rx_depth = p.fifo.rx;
	c.rx_writes = p.fifo.rx_writes;
	c.cqe_writes = p.fifo.cqe_writes;
	c.dcqcn = dcqcn(p);
	c.pfc = p.wire.pfc;
	c.roce_v1 = p.adapter.roce_v1;
	return c;
}

} // namespace

Adapter::Adapter(unsigned int index, const AdapterContext &ctx)
    : index_(index), config_(describe(index, ctx)), timers_(ctx.timers), wire_(ctx.wire), trace_(ctx.trace),
      host_(ctx.host), host_ctx_(ctx.host_ctx)
{
	config_.engine = ctx.engine;
	const hca_ops ops = callbacks_for(ctx.trace);

	hca_.reset(hca_create(&config_, ctx.personality, &ops, this));
	if (!hca_)
		throw std::string(config_.name) + ": cannot make the adapter: " + strerror(errno);
	if (ctx.trace && trace_wants_events(ctx.trace))
		watch(ctx);
	build(ctx);
	int err = hca_port_set(core(), 1, true, roce_mtu(ctx.profile.wire.mtu));

	if (err)
		throw std::string(config_.name) + ": cannot set up port 1: " + strerror(-err);
}

void Adapter::build_endpoint(const AdapterContext &ctx)
{
	const std::string name = std::string(config_.name) + "_endpoint";

	if (ctx.parts)
		device_ = ctx.parts->endpoint(index_);
	if (device_)
		return;
	endpoint_ = std::make_unique<Endpoint>(name.c_str(), ctx.profile, ctx.pcie, core(), *this);
	endpoint_->watch(ctx.trace, index_);
	endpoint_->inject(ctx.fault);
	if (watch_)
		endpoint_->watch(watch_.get());
}

void Adapter::build_root(const AdapterContext &ctx)
{
	const std::string name = std::string(config_.name) + "_root";

	if (ctx.parts)
		root_ = ctx.parts->root(index_);
	own_root_ = !root_;
	if (root_)
		return;
	auto root = std::make_unique<RootPort>(name.c_str(), ctx.profile, ctx.pcie, ctx.host, ctx.host_ctx,
					       index_);

	root->watch(ctx.trace, index_);
	root->inject(ctx.fault);
	late_ = ctx.fault ? root.get() : nullptr;
	if (watch_)
		root->watch(watch_.get());
	root_ = std::move(root);
}

void Adapter::build(const AdapterContext &ctx)
{
	const std::string name = config_.name;
	const Profile &p = ctx.profile;

	build_endpoint(ctx);
	build_root(ctx);
	connect(device_ ? *device_ : *endpoint_, *root_);
	port_ = std::make_unique<Port>((name + "_port1").c_str(), p, *this, 1, ctx.wire);
	if (watch_)
		watch_->range("port_frames", 0, port_->most());
	ctx.wire.attach(port_.get());
	contexts_ = std::make_unique<Contexts>(name, p, core(), *this);
	if (watch_)
		contexts_->watch(watch_.get());
	if (p.engine.atomic)
		atomics_ = std::make_unique<AtomicUnit>((name + "_atomics").c_str(), hca_ps(p.engine.atomic),
							[this](hca_dma *dma) { translate(dma); });
	for (int s = 0; s < HCA_NUM_STAGES; s++) {
		hca_stage stage = static_cast<hca_stage>(s);

		stage_[s] = std::make_unique<StageUnit>((name + "_" + hca_stage_name(stage)).c_str(), p,
							*this, core(), stage);
	}
}

/* A deadline that is past already still takes a moment: time goes on between two firings. */
void Adapter::set_timer(hca_ps deadline)
{
	deadline_ = std::max(deadline, now_ps() + 1);
	timers_.timer_changed(deadline_);
}

void Adapter::fire_timers(hca_ps now)
{
	if (endpoint_)
		endpoint_->expire(now);
	if (late_)
		late_->expire(now);
	if (deadline_ > now)
		return;
	deadline_ = HCA_PS_NEVER;
	hca_timers(core());
	start_ready();
}

void Adapter::stage_ready(hca_stage stage)
{
	ready_since_[stage] = now_ps();
	(holding_ ? holding_->named : named_) |= 1u << stage;
}

/* A write stays in order with those of other stages; the send engine makes none. */
void Adapter::dma(hca_dma *dma)
{
	if (holding_ && !dma->write)
		holding_->dma.push_back(dma);
	else
		start_dma(dma);
}

void Adapter::start_dma(hca_dma *dma)
{
	if (atomics_ && dma->class_ == HCA_DMA_ATOMIC && !dma->write)
		atomics_->serve(dma);
	else
		translate(dma);
}

/* Device memory is translated, too, but its pages are all there. */
void Adapter::translate(hca_dma *dma)
{
	if (contexts_->translation() && dma->pasid != HCA_PASID_DEVICE)
		contexts_->translation()->dma(dma);
	else
		endpoint_->dma(dma);
}

/* A root port of others has memory of its own. */
int Adapter::peek(uint32_t pasid, uint64_t addr, void *buf, uint32_t len)
{
	const hca_dma_seg seg = {addr, len, 0};

	return own_root_ ? host_->mem_read(host_ctx_, pasid, &seg, 1, buf) : -EFAULT;
}

/* Behind the writes that it is for. */
void Adapter::msix(unsigned int vector)
{
	if (contexts_->translation())
		contexts_->translation()->msix(vector);
	else
		endpoint_->msix(vector);
}

void Adapter::transfer(hca_dma *dma)
{
	endpoint_->dma(dma);
}

void Adapter::refuse(hca_dma *dma)
{
	dma->status = -EFAULT;
	hca_dma_done(core(), dma);
	start_ready();
}

void Adapter::interrupt(unsigned int vector)
{
	endpoint_->msix(vector);
}

unsigned int Adapter::need(hca_stage stage, CacheWaiter &waiter)
{
	return contexts_->need(stage, waiter);
}

void Adapter::send(hca_packet *pkt)
{
	wire_.number(*pkt);
	if (watch_)
		watch_->saw_frame(pkt->number);
	port_->send(pkt);
}

void Adapter::step(hca_stage stage)
{
	if (watch_)
		watch_->begin();
	hca_stage_step(core(), stage);
}

void Adapter::step_held(hca_stage stage, Held &held)
{
	holding_ = &held;
	step(stage);
	holding_ = nullptr;
}

void Adapter::release(Held &held)
{
	named_ |= held.named;
	held.named = 0;
	for (hca_dma *dma : held.dma)
		start_dma(dma);
	held.dma.clear();
}

void Adapter::stepped(hca_stage stage, const hca_work &work, uint32_t cycles)
{
	if (host_->stepped)
		host_->stepped(host_ctx_, index_, stage, &work, cycles);
}

void Adapter::through(hca_stage stage, hca_ps start, const hca_work &work)
{
	if (watch_)
		watch_->step(stage, start, work);
}

void Adapter::start_ready()
{
	port_->check_room();
	if (endpoint_ && endpoint_->has_requests())
		endpoint_->take_requests();
	while (named_) {
		unsigned int stage = __builtin_ctz(named_);

		named_ &= named_ - 1;
		stage_[stage]->start();
	}
	if (watch_)
		look();
}

bool Adapter::start_all()
{
	bool any = false;

	named_ = 0;
	for (auto &stage : stage_)
		any |= stage->start();
	return any;
}

const hca_ops &Adapter::callbacks()
{
	static const hca_ops ops = [] {
		hca_ops ops = {};

		ops.now = [](void *) { return now_ps(); };
		ops.stage_ready = [](void *host, hca_stage s) {
			static_cast<Adapter *>(host)->stage_ready(s);
		};
		ops.dma = [](void *host, hca_dma *dma) { static_cast<Adapter *>(host)->dma(dma); };
		ops.peek = [](void *host, uint32_t pasid, uint64_t addr, void *buf, uint32_t len) {
			return static_cast<Adapter *>(host)->peek(pasid, addr, buf, len);
		};
		ops.tx = [](void *host, uint8_t, hca_packet *pkt) {
			static_cast<Adapter *>(host)->send(pkt);
		};
		ops.msix = [](void *host, unsigned int v) { static_cast<Adapter *>(host)->msix(v); };
		ops.timer = [](void *host, hca_ps at) { static_cast<Adapter *>(host)->set_timer(at); };
		ops.saw_wqe = [](void *host, uint32_t qpn, const hca_wr *wr, const void *, uint32_t) {
			static_cast<Adapter *>(host)->contexts_->decoded(qpn, wr->index);
		};
		ops.changed = [](void *host, hca_context what, uint32_t number) {
			static_cast<Adapter *>(host)->contexts_->changed(what, number);
		};
		return ops;
	}();

	return ops;
}

hca_ops Adapter::callbacks_for(struct trace *trace)
{
	hca_ops ops = callbacks();

	if (!trace)
		return ops;
	ops.saw_wqe = [](void *host, uint32_t qpn, const hca_wr *wr, const void *raw, uint32_t len) {
		Adapter *a = static_cast<Adapter *>(host);

		a->contexts_->decoded(qpn, wr->index);
		trace_wqe(a->trace_, now_ps(), a->index_, qpn, wr, raw, len);
		if (a->watch_)
			a->watch_->saw_work(qpn, wr->index);
	};
	ops.saw_cqe = [](void *host, uint32_t cqn, const hca_cpl *cpl, const void *raw, uint32_t len) {
		Adapter *a = static_cast<Adapter *>(host);

		trace_cqe(a->trace_, now_ps(), a->index_, cqn, cpl, raw, len);
		if (a->watch_ && cpl->op == HCASIM_CQE_OP_REQ)
			a->watch_->saw_work(cpl->qpn, cpl->wqe_index);
	};
	ops.retired = [](void *host, const engine_retired *r) {
		Adapter *a = static_cast<Adapter *>(host);

		trace_retired(a->trace_, now_ps(), a->index_, r);
	};
	if (trace_wants_events(trace))
		add_watch(ops);
	return ops;
}

/* ---- For events.log ---- */

void Adapter::add_watch(hca_ops &ops)
{
	ops.saw_step = [](void *host, hca_stage stage, const hca_seen *seen) {
		static_cast<Adapter *>(host)->watch_->saw_step(stage, *seen);
	};
	ops.saw_stall = [](void *host, uint32_t qpn, uint16_t index, hca_stall stall) {
		static_cast<Adapter *>(host)->watch_->qp_stall(
			qpn, index, stall == HCA_STALL_NONE ? nullptr : hca_stall_name(stall));
	};
	ops.saw_refused = [](void *host, const hca_refused *r) {
		const Adapter *a = static_cast<Adapter *>(host);

		trace_refused(a->trace_, now_ps(), a->index_, r);
	};
}

void Adapter::watch(const AdapterContext &ctx)
{
	watch_ = std::make_unique<Watch>(ctx.trace, index_);
	for (int i = 0; i < HCA_NUM_LEVELS; i++) {
		hca_level level = static_cast<hca_level>(i);

		watch_->range(hca_level_name(level), 0, hca_level_max(core(), level));
	}
	watch_->range("paused", 0, ctx.profile.wire.pfc ? HCA_PRIORITIES : 1);
}

/* After every call of the core. */
void Adapter::look()
{
	watch_->core(core());
	watch_->doorbells(hca_level_now(core(), HCA_LEVEL_DOORBELL), false);
	watch_->level("port_frames", port_->queued());
	watch_->level("paused", uint32_t(__builtin_popcount(port_->paused())));
	for (int i = 0; i < HCA_NUM_STAGES; i++) {
		hca_stage stage = static_cast<hca_stage>(i);
		hca_stall stall = HCA_STALL_NONE;
		const char *cause = nullptr;

		if (stage_[i]->starved())
			cause = "context";
		else if (!stage_[i]->busy())
			stall = hca_stage_stall(core(), stage);
		if (stall != HCA_STALL_NONE)
			cause = hca_stall_name(stall);
		else if (!cause && !stage_[i]->busy() && !may_run(stage) &&
			 hca_stage_pending(core(), stage, nullptr))
			cause = "port";
		watch_->stall(hca_stage_name(stage), now_ps(), cause);
	}
}

} // namespace hcasim
