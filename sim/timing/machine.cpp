// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "machine.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "adapter.h"
#include "sc_kernel.h"
#include "trace/trace.h"

using namespace hcasim;

namespace
{

constexpr unsigned int MAX_HCAS = 16;
static_assert(MAX_HCAS <= TRACE_MAX_ADAPTERS, "a trace has a name for each");

bool pending()
{
	return sc_core::sc_pending_activity();
}

hca_ps next_work()
{
	if (!pending())
		return HCA_PS_NEVER;
	return now_ps() + sc_core::sc_time_to_pending_activity(sc_core::sc_get_curr_simcontext()).value();
}

} // namespace

struct machine : public TimerWatch {
	ScKernel kernel; /* first: unmade last */
	Profile profile;
	std::unique_ptr<PcieModel> pcie;
	std::unique_ptr<Fault> fault;
	std::unique_ptr<struct trace, decltype(&trace_close)> trace{nullptr, trace_close};
	std::unique_ptr<Wire> wire;
	std::vector<std::unique_ptr<Adapter>> adapters;
	hca_ps chunk_end = 0; /* how far the SystemC kernel may run; 0: it does not run */
	bool paused = false;

	void build(const machine_config &cfg, const machine_host_ops *ops, void *ctx);
	hca_ps next_timer() const;
	void fire_timers();
	void start_ready();
	bool start_all();
	void simulate(hca_ps until, bool to_the_end);
	void run_until(hca_ps end);
	void timer_changed(hca_ps deadline) override;
};

static const hca_personality *personality_of(const machine_config &cfg, unsigned int index)
{
	return cfg.personalities ? cfg.personalities[index] : cfg.personality;
}

/* Adapters are numbered among those of their personality. */
static std::vector<std::string> names_of(const machine_config &cfg)
{
	std::vector<std::string> names;

	for (unsigned int i = 0; i < cfg.num_hcas; i++) {
		const hca_personality *mine = personality_of(cfg, i);
		unsigned int number = 0;

		for (unsigned int j = 0; j < i; j++)
			number += personality_of(cfg, j) == mine;
		names.push_back(mine->adapter + std::to_string(number));
	}
	return names;
}

static void trace_names(struct trace *t, const std::vector<std::string> &names)
{
	std::vector<const char *> texts;

	texts.reserve(names.size());
	for (const std::string &name : names)
		texts.push_back(name.c_str());
	trace_adapters(t, texts.data(), unsigned(texts.size()));
}

void machine::build(const machine_config &cfg, const machine_host_ops *ops, void *ctx)
{
	std::string err;
	char text[512];

	if (cfg.num_hcas < 1 || cfg.num_hcas > MAX_HCAS)
		throw "hcas: " + std::to_string(cfg.num_hcas) + " is out of range, 1 to " +
			std::to_string(MAX_HCAS);
	if (!cfg.profile)
		throw std::string("profile: none given");
	if (!cfg.personality && !cfg.personalities)
		throw std::string("personality: none given");
	if (!profile_load(cfg.profile, profile, err))
		throw err;
	const std::vector<std::string> names = names_of(cfg);

	pcie = std::make_unique<PcieModel>(profile);
	fault = std::make_unique<Fault>(cfg.seed);
	if (cfg.fault && !fault->parse(cfg.fault, err))
		throw err;
	wire = std::make_unique<Wire>(profile, *fault, cfg.seed);
	if (cfg.trace_dir || cfg.observer) {
		trace.reset(trace_open(cfg.trace_dir, !cfg.no_events, cfg.observer, ctx, text, sizeof(text)));
		if (!trace)
			throw std::string(text);
		wire->watch(trace.get());
		trace_names(trace.get(), names);
	}
	AdapterContext shared = {profile,         *pcie,    *wire,
				 *this,           ops,      ctx,
				 cfg.personality, nullptr,  cfg.engine,
				 trace.get(),     cfg.pcie, fault->on_pcie() ? fault.get() : nullptr};

	for (unsigned int i = 0; i < cfg.num_hcas; i++) {
		shared.personality = personality_of(cfg, i);
		shared.name = names[i].c_str();
		adapters.push_back(std::make_unique<Adapter>(i, shared));
	}
	sc_core::sc_start(sc_core::SC_ZERO_TIME); /* ends elaboration */
}

hca_ps machine::next_timer() const
{
	hca_ps first = HCA_PS_NEVER;

	for (const auto &a : adapters)
		first = std::min(first, a->deadline());
	return first;
}

void machine::fire_timers()
{
	const hca_ps now = now_ps();

	for (const auto &a : adapters)
		if (a->deadline() <= now)
			a->fire_timers(now);
}

void machine::start_ready()
{
	for (const auto &a : adapters)
		a->start_ready();
}

/* Nothing is pending as far as anybody said: a look at every stage makes sure. */
bool machine::start_all()
{
	bool any = false;

	for (const auto &a : adapters)
		any |= a->start_all();
	return any;
}

/* A timer that is due before the kernel would return: return after this time. */
void machine::timer_changed(hca_ps deadline)
{
	if (deadline < chunk_end && !paused) {
		paused = true;
		sc_core::sc_pause();
	}
}

void machine::simulate(hca_ps until, bool to_the_end)
{
	try {
		chunk_end = until;
		sc_core::sc_start(to_sc(until - now_ps()),
				  to_the_end ? sc_core::SC_RUN_TO_TIME : sc_core::SC_EXIT_ON_STARVATION);
		chunk_end = 0;
		paused = false;
	} catch (const std::exception &e) {
		fprintf(stderr, "hcasim: simulation kernel: %s\n", e.what());
		abort();
	}
}

/* One stretch of active work that no timer interrupts. */
void machine::run_until(hca_ps end)
{
	hca_ps deadline = next_timer(), next = next_work();

	if (deadline <= next)
		simulate(deadline, true);
	else
		simulate(std::min(std::max(end, next), deadline), false);
	fire_timers();
}

static void explain(char *err, size_t err_size, const std::string &what)
{
	if (err && err_size)
		snprintf(err, err_size, "%s", what.c_str());
}

struct machine *machine_create(const struct machine_config *cfg, const struct machine_host_ops *ops,
			       void *ctx, char *err, size_t err_size)
{
	std::unique_ptr<machine> m;

	try {
		m = std::make_unique<machine>();
		m->build(*cfg, ops, ctx);
		return m.release();
	} catch (const std::string &what) {
		explain(err, err_size, what);
	} catch (const std::exception &e) {
		explain(err, err_size, std::string("machine: ") + e.what());
	}
	return nullptr;
}

void machine_destroy(struct machine *m)
{
	delete m;
}

unsigned int machine_num_hcas(const struct machine *m)
{
	return m->adapters.size();
}

struct hca *machine_hca(struct machine *m, unsigned int index)
{
	return m->adapters[index]->core();
}

const struct hca_config *machine_hca_config(const struct machine *m, unsigned int index)
{
	return &m->adapters[index]->config();
}

hca_ps machine_now(const struct machine *)
{
	return now_ps();
}

struct trace *machine_trace(const struct machine *m)
{
	return m->trace.get();
}

void machine_page_fault(const struct machine *m, hca_ps *fixed, hca_ps *per_page)
{
	*fixed = hca_ps(m->profile.host.page_fault);
	*per_page = hca_ps(m->profile.host.page_fault_per_page);
}

void machine_cpu(const struct machine *m, struct machine_cpu *out)
{
	const auto &cpu = m->profile.cpu;

	*out = {hca_ps(cpu.wqe), hca_ps(cpu.store_wc), hca_ps(cpu.poll_empty), hca_ps(cpu.poll_found)};
}

void machine_mmio_write(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
			uint64_t offset, const void *data, uint32_t size, bool wc)
{
	m->adapters[hca]->root().store(cpu, bar, offset, data, size, wc);
}

bool machine_cpu_stalls(const struct machine *m, unsigned int cpu)
{
	for (const auto &a : m->adapters)
		if (a->root().stalls(cpu))
			return true;
	return false;
}

bool machine_stores_under_way(const struct machine *m, unsigned int hca)
{
	return m->adapters[hca]->root().stores_under_way();
}

void machine_mmio_read(struct machine *m, unsigned int cpu, unsigned int hca, unsigned int bar,
		       uint64_t offset, uint32_t size,
		       void (*done)(void *arg, const void *data, uint32_t size), void *arg)
{
	m->adapters[hca]->root().load(cpu, bar, offset, size, done, arg);
}

enum machine_state machine_run(struct machine *m, hca_ps budget)
{
	const hca_ps end = after(now_ps(), budget);

	m->start_ready(); /* commands of the driver half may have made work */
	m->fire_timers();
	while (pending() || m->start_all()) {
		if (!budget && next_work() == end)
			m->simulate(end, true);
		else if (now_ps() >= end)
			return MACHINE_ACTIVE;
		else
			m->run_until(end);
	}
	return m->next_timer() == HCA_PS_NEVER ? MACHINE_IDLE : MACHINE_TIMERS;
}

hca_ps machine_next_work(const struct machine *)
{
	return next_work();
}

uint64_t machine_memory_writes(const struct machine *m)
{
	uint64_t n = 0;

	for (const auto &a : m->adapters)
		n += a->root().memory_writes();
	return n;
}

hca_ps machine_next_timer(const struct machine *m)
{
	return m->next_timer();
}

void machine_advance(struct machine *m, hca_ps until)
{
	until = std::min({until, next_work(), m->next_timer()});
	if (until > now_ps())
		m->simulate(until, true);
	m->fire_timers();
}
