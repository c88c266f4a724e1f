// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <cerrno>
#include <memory>

#include <hcasim_hw.h>

#include "devices/family.h"
#include "devices/driver.h"
#include "link.h"

namespace
{

constexpr uint32_t WQES = 240, WARM = WQES / 4; /* receives are posted once */
constexpr hca_ps STEP = 1000;                   /* how exactly the time of a CQE is seen */
constexpr hca_ps LIMIT = 100000000000;          /* 0.1 s: no mix takes as long */

class Bench
{
	Result &result_;
	struct machine *m_;

	static void stepped(void *ctx, unsigned int hca, hca_stage stage, const hca_work *w, uint32_t cycles)
	{
		StageLoad &load = static_cast<Bench *>(ctx)->result_.stage[stage];

		if (hca)
			return;
		load.steps++;
		load.cycles += cycles;
		load.sizes[{w->bytes, w->items, cycles}]++;
	}
	static const machine_host_ops *host()
	{
		static const machine_host_ops ops = {
			[](void *, uint32_t, const hca_dma_seg *, uint32_t, void *) { return -EFAULT; },
			[](void *, uint32_t, const hca_dma_seg *, uint32_t, const void *) { return -EFAULT; },
			nullptr,
			nullptr,
			[](void *, unsigned int, unsigned int) {},
			stepped};

		return &ops;
	}

      public:
	Bench(Result &result, const char *profile, const engine_ops *engine) : result_(result)
	{
		machine_config cfg = {};
		char err[300] = "";

		cfg.num_hcas = 2;
		cfg.profile = profile;
		cfg.personality = device_family(DEVICE_FAMILY_DEFAULT)->personality;
		cfg.engine = engine;
		m_ = machine_create(&cfg, host(), this, err, sizeof(err));
		if (!m_)
			throw std::string(err);
	}
	~Bench()
	{
		machine_destroy(m_);
	}
	Bench(const Bench &) = delete;
	Bench &operator=(const Bench &) = delete;

	struct machine *machine()
	{
		return m_;
	}
	/* Time at which the end has `n` more completions. */
	hca_ps wait(End &end, uint32_t n)
	{
		const hca_ps limit = machine_now(m_) + LIMIT;

		for (uint32_t came = 0; came < n; came += end.poll()) {
			if (machine_now(m_) > limit)
				throw std::string("a WQE does not end");
			if (machine_run(m_, STEP) != MACHINE_ACTIVE)
				machine_advance(m_, machine_now(m_) + STEP);
		}
		return machine_now(m_);
	}
};

} // namespace

/* One WQE by itself, the last of a few: the first one finds nothing in the adapter's caches. */
static hca_ps latency(const Mix &mix, Bench &bench, End &from, End &to)
{
	hca_ps took = 0;

	for (int i = 0; i < 3; i++) {
		const hca_ps start = machine_now(bench.machine());

		from.post(mix, to, true);
		took = bench.wait(from, 1) - start;
	}
	return took;
}

Result measure(const Mix &mix, const char *profile, const engine_ops *engine)
{
	const bool raw = mix.op == HCASIM_WQE_OP_TSO;
	Result result;
	Bench bench(result, profile, engine);
	End from(bench.machine(), 0, raw), to(bench.machine(), 1, raw);
	hca_ps warm;

	from.connect(to);
	to.connect(from);
	to.receive(End::RQES);
	result.latency = latency(mix, bench, from, to);
	for (int s = 0; s < HCA_NUM_STAGES; s++) {
		result.stage[s] = {};
		result.stage[s].counted =
			hca_stage_counted(machine_hca(bench.machine(), 0), static_cast<hca_stage>(s));
	}
	for (uint32_t i = 1; i <= WQES; i++)
		from.post(mix, to, i % mix.batch == 0 || i == WQES);
	warm = bench.wait(from, WARM);
	result.per_wqe = double(bench.wait(from, WQES - WARM) - warm) / (WQES - WARM);
	result.wqes = WQES;
	return result;
}
