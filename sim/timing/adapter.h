/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One adapter: the core, its stages' clocks, its PCIe link and its ports; and the core's callbacks. */
#ifndef HCASIM_TIMING_ADAPTER_H
#define HCASIM_TIMING_ADAPTER_H

#include <memory>
#include <vector>

#include "atomic_unit.h"
#include "endpoint.h"
#include "memory/contexts.h"
#include "port.h"
#include "root_port.h"
#include "stage_unit.h"
#include "watch.h"
#include "wire.h"

namespace hcasim
{

/* Notified by its adapters when their earliest timer changes. */
class TimerWatch
{
      public:
	virtual ~TimerWatch() = default;
	virtual void timer_changed(hca_ps deadline) = 0;
};

struct AdapterContext { /* what all adapters of a machine share */
	const Profile &profile;
	const PcieModel &pcie;
	Wire &wire;
	TimerWatch &timers;
	const machine_host_ops *host;
	void *host_ctx;
	const hca_personality *personality;
	const char *name;
	const engine_ops *engine;
	struct trace *trace;
	pcie_parts *parts; /* or NULL */
	Fault *fault;      /* of PCIe, or NULL */
};

class Adapter : public StageHost, public DmaPort
{
	const unsigned int index_;
	hca_config config_;
	TimerWatch &timers_;
	Wire &wire_;
	struct trace *trace_;
	const machine_host_ops *const host_;
	void *const host_ctx_;
	struct Destroy {
		void operator()(hca *h) const
		{
			hca_destroy(h);
		}
	};
	std::unique_ptr<Watch> watch_; /* NULL: nobody wants events */
	/* Declared first: destroyed last, after everything that calls it. */
	std::unique_ptr<hca, Destroy> hca_;
	std::unique_ptr<Endpoint> endpoint_; /* NULL: a device of others has its place */
	std::unique_ptr<PciePort> device_;
	std::unique_ptr<PcieHost> root_;
	bool own_root_ = false;
	RootPort *late_ = nullptr; /* it may have completions that come late; NULL: it has none */
	std::unique_ptr<Port> port_;
	std::unique_ptr<Contexts> contexts_;
	std::unique_ptr<AtomicUnit> atomics_; /* NULL: it takes no time */
	std::unique_ptr<StageUnit> stage_[HCA_NUM_STAGES];
	hca_ps deadline_ = HCA_PS_NEVER;
	uint32_t named_ = 0; /* bits by enum hca_stage */
	hca_ps ready_since_[HCA_NUM_STAGES] = {};
	Held *holding_ = nullptr; /* the step that is being done; NULL: what it hands out leaves at once */

	void build(const AdapterContext &ctx);
	void build_endpoint(const AdapterContext &ctx);
	void build_root(const AdapterContext &ctx);
	void transfer(hca_dma *dma) override;
	void refuse(hca_dma *dma) override;
	void interrupt(unsigned int vector) override;
	void start_dma(hca_dma *dma);
	void translate(hca_dma *dma);
	int peek(uint32_t pasid, uint64_t addr, void *buf, uint32_t len);
	void msix(unsigned int vector);
	void set_timer(hca_ps deadline);
	void dma(hca_dma *dma);
	void send(hca_packet *pkt);
	static const hca_ops &callbacks();
	static hca_ops callbacks_for(struct trace *trace);
	static void add_watch(hca_ops &ops);
	void watch(const AdapterContext &ctx);
	void look();

      public:
	/* Throws std::string if the core refuses the configuration. */
	Adapter(unsigned int index, const AdapterContext &ctx);

	unsigned int index() const
	{
		return index_;
	}
	hca *core()
	{
		return hca_.get();
	}
	const hca_config &config() const
	{
		return config_;
	}
	PcieHost &root()
	{
		return *root_;
	}
	hca_ps deadline() const
	{
		const hca_ps own = endpoint_ ? std::min(deadline_, endpoint_->deadline()) : deadline_;

		return late_ ? std::min(own, late_->deadline()) : own;
	}
	void fire_timers(hca_ps now);
	/* Starts the stages that the core named since; after every call into the core, and not inside one. */
	void start_ready() override;
	/* Starts every idle stage that has work, named or not; true if there was one. */
	bool start_all();

	bool may_run(hca_stage stage) const override
	{
		return stage != HCA_STAGE_TX || port_->room();
	}
	hca_ps ready_since(hca_stage stage) const override
	{
		return ready_since_[stage];
	}
	void stage_ready(hca_stage stage);
	unsigned int need(hca_stage stage, CacheWaiter &waiter) override;
	void step(hca_stage stage) override;
	void step_held(hca_stage stage, Held &held) override;
	void release(Held &held) override;
	void stepped(hca_stage stage, const hca_work &work, uint32_t cycles) override;
	void through(hca_stage stage, hca_ps start, const hca_work &work) override;
};

} // namespace hcasim
#endif
