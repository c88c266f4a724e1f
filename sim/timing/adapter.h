/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One adapter: the core, its stages' clocks, its PCIe link and its ports; and the core's callbacks. */
#ifndef HCASIM_TIMING_ADAPTER_H
#define HCASIM_TIMING_ADAPTER_H

#include <memory>

#include "endpoint.h"
#include "port.h"
#include "root_port.h"
#include "stage_unit.h"
#include "wire.h"

namespace hcasim
{

/* Told by its adapters when their earliest timer changes. */
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
	struct trace *trace;
};

class Adapter
{
	const unsigned int index_;
	hca_config config_;
	TimerWatch &timers_;
	struct trace *trace_;
	struct Destroy {
		void operator()(hca *h) const
		{
			hca_destroy(h);
		}
	};
	/* Declared first: destroyed last, after everything that calls it. */
	std::unique_ptr<hca, Destroy> hca_;
	std::unique_ptr<Endpoint> endpoint_;
	std::unique_ptr<RootPort> root_;
	std::unique_ptr<PcieDirection> up_, down_;
	std::unique_ptr<Port> port_;
	std::unique_ptr<StageUnit> stage_[HCA_NUM_STAGES];
	hca_ps deadline_ = HCA_PS_NEVER;
	bool ready_ = false;

	void build(const AdapterContext &ctx);
	void set_timer(hca_ps deadline);
	static const hca_ops &callbacks(bool traced);

      public:
	/* Throws std::string if the core refuses the configuration. */
	Adapter(unsigned int index, const AdapterContext &ctx);
	~Adapter();

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
	RootPort &root()
	{
		return *root_;
	}
	hca_ps deadline() const
	{
		return deadline_;
	}
	void fire_timers();
	/* Wakes stages that have work and sleep; true if there were any. */
	bool wake_stalled();

	/* For the stages. */
	bool may_run(hca_stage stage) const
	{
		return stage != HCA_STAGE_TX || port_->room();
	}
	void stepped(hca_stage stage);
	void stage_ready(hca_stage stage)
	{
		if (ready_)
			stage_[stage]->wake();
	}
};

} // namespace hcasim
#endif
