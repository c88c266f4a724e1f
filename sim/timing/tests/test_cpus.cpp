// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Several CPUs store to one adapter: buffers of their own, lines that they share. */
#include "suite.h"

#include <string>
#include <vector>

#include "link_bench.h"
#include "timing/cpus.h"
#include "timing/sc_kernel.h"

using namespace hcasim;

namespace
{

constexpr unsigned int UAR = 2, DM = 4;
constexpr hca_ps AGE = 50000, SHARED = 30000;

/* What leaves, as text: "offset+size" of a write, "?offset" of a load. */
struct Bench : CpuSink {
	ScKernel kernel;
	Cpus cpus;
	std::vector<std::string> out;
	bool full = false;

	explicit Bench(unsigned int buffers = 4, hca_ps shared = 0) : cpus({buffers, AGE, shared}, *this)
	{
		sc_core::sc_start(sc_core::SC_ZERO_TIME);
	}
	void wc_write(unsigned int, uint64_t offset, const void *, uint32_t size) override
	{
		out.push_back(std::to_string(offset) + "+" + std::to_string(size));
	}
	bool room() const override
	{
		return !full;
	}
	void read(const CpuAccess &load) override
	{
		out.push_back("?" + std::to_string(load.offset));
	}
	bool store(unsigned int cpu, uint64_t offset, bool wc = true, unsigned int bar = UAR)
	{
		const uint64_t data = offset;

		return cpus.access(cpu, {bar, offset, 8, wc, nullptr, nullptr}, &data);
	}
	bool load(unsigned int cpu, uint64_t offset)
	{
		return cpus.access(cpu,
				   {UAR, offset, 8, false, [](void *, const void *, uint32_t) {}, nullptr},
				   nullptr);
	}
	void pass(hca_ps time)
	{
		sc_core::sc_start(to_sc(time));
		cpus.proceed(now_ps());
	}
	bool left(const std::vector<std::string> &expected) const
	{
		return out == expected;
	}
};

/* Stores to two lines in turns, by as many CPUs, which have so many buffers each. */
std::vector<std::string> in_turns(unsigned int cpus, unsigned int buffers)
{
	Bench b(buffers);

	for (uint64_t i = 0; i < 16; i++)
		b.store(cpus == 2 ? i % 2 : 0, (i % 2 ? 0x1000 : 0) + i / 2 * 8);
	b.pass(AGE);
	return b.out;
}

void buffers_of_their_own()
{
	const std::vector<std::string> whole = {"0+64", "4096+64"};

	CU_ASSERT(in_turns(2, 1) == whole);
	CU_ASSERT_EQUAL(in_turns(1, 1).size(), 16); /* each store takes the buffer from the one before */
	CU_ASSERT(in_turns(1, 2) == whole);
}

/* The lines of a CPU leave because of its own uncached stores and loads, and not because of others'. */
void fences_are_of_one_cpu()
{
	Bench b;

	b.store(0, 0x00);
	b.store(1, 0x40);
	b.store(1, 0x80, false);
	CU_ASSERT(b.left({"64+8", "128+8"}));
	b.store(1, 0x40);
	b.load(0, 0xc0);
	CU_ASSERT(b.left({"64+8", "128+8", "0+8", "?192"}));
	b.pass(AGE);
	CU_ASSERT(b.left({"64+8", "128+8", "0+8", "?192", "64+8"}));
}

/* The oldest line of all leaves first by age. */
void age()
{
	Bench b;

	b.store(1, 0x40);
	b.pass(10);
	b.store(0, 0x00);
	b.pass(10);
	b.store(1, 0x80);
	CU_ASSERT_EQUAL(b.cpus.next(), AGE);
	b.pass(AGE - 20);
	CU_ASSERT(b.left({"64+8"}));
	CU_ASSERT_EQUAL(b.cpus.next(), AGE + 10);
	b.pass(20);
	CU_ASSERT(b.left({"64+8", "0+8", "128+8"}));
	CU_ASSERT_EQUAL(b.cpus.next(), HCA_PS_NEVER);
}

/* A store to a line that another CPU has: it leaves first, and what the CPU had before; younger lines stay. */
void same_line()
{
	Bench b;

	b.store(0, 0x00);
	b.store(0, 0x40);
	b.store(0, 0x80);
	b.store(1, 0x48);
	CU_ASSERT(b.left({"0+8", "64+8"}));
	b.store(1, 0x80, false); /* after CPU 1's own line */
	CU_ASSERT(b.left({"0+8", "64+8", "128+8", "72+8", "128+8"}));
}

/* A copy to device memory, and another CPU's doorbell. */
void another_bar()
{
	Bench b;

	b.store(0, 0x00, true, DM);
	b.store(1, 0x40);
	CU_ASSERT(b.left({"0+8"}));
}

/* A store costs the time of the line if another CPU stored to it last, and no other access costs it. */
void contention()
{
	for (hca_ps figure : {SHARED, 2 * SHARED}) {
		Bench b(4, figure);

		CU_ASSERT(b.store(0, 0x00, false) && b.store(1, 0x40, false)); /* nobody had them */
		CU_ASSERT(b.store(0, 0x08, false));                            /* its own */
		CU_ASSERT(b.load(0, 0x40));
		CU_ASSERT_FALSE(b.store(0, 0x48, false));
		CU_ASSERT_TRUE(b.cpus.shares_line());
		CU_ASSERT_EQUAL(b.cpus.next(), figure);
		CU_ASSERT_FALSE(b.store(0, 0x80, false)); /* the CPU stalls */
		CU_ASSERT(b.store(1, 0xc0, false));       /* others do not */
		CU_ASSERT_EQUAL(b.cpus.stalled(), 2);
		b.out.clear();
		b.pass(figure - 1);
		CU_ASSERT(b.left({}));
		b.pass(1);
		CU_ASSERT(b.left({"72+8", "128+8"}));
		CU_ASSERT_FALSE(b.cpus.shares_line());
		CU_ASSERT(b.store(0, 0x40, false)); /* now it is this CPU's */
		CU_ASSERT_FALSE(b.store(1, 0x40, true));
		b.pass(figure);
		CU_ASSERT_EQUAL(b.cpus.stalled(), 0);
	}
}

/* Many CPUs want one line at once: it goes from one to the next, and each way takes its time. */
void contention_of_many()
{
	for (unsigned int cpus : {4, 8})
		for (hca_ps figure : {SHARED, 2 * SHARED}) {
			Bench b(4, figure);
			hca_ps apart = 0;

			for (unsigned int cpu = 0; cpu < cpus; cpu++)
				CU_ASSERT_EQUAL(b.store(cpu, 8 * cpu, false), cpu == 0);
			for (unsigned int cpu = 1; cpu < cpus; cpu++) {
				CU_ASSERT_EQUAL(b.cpus.next(), cpu * figure);
				b.pass(figure);
				CU_ASSERT_EQUAL(b.cpus.stalled(), cpus - 1 - cpu);
				CU_ASSERT_EQUAL(b.cpus.stalled(cpu), 0);
				CU_ASSERT_EQUAL(b.out.size(), cpu + 1);
			}
			/* Nobody wants it meanwhile. */
			b.pass(figure);
			apart = now_ps();
			CU_ASSERT_FALSE(b.store(0, 0, false));
			CU_ASSERT_EQUAL(b.cpus.next(), apart + figure);
		}
}

/* CPUs that stall take turns, and each keeps its order. */
void turns()
{
	Bench b;

	b.full = true;
	for (uint64_t i = 0; i < 3; i++)
		for (unsigned int cpu = 0; cpu < 2; cpu++)
			CU_ASSERT_FALSE(b.store(cpu, 0x1000 * cpu + 0x40 * i, false));
	CU_ASSERT_FALSE(b.cpus.shares_line());
	b.full = false;
	b.pass(0);
	CU_ASSERT(b.left({"4096+8", "0+8", "4160+8", "64+8", "4224+8", "128+8"}));
}

/* Simulated time of 10 doorbells each of two CPUs, on one line or on two. */
hca_ps time_of(const Profile &p, uint64_t distance)
{
	LinkBench b(p);
	const uint64_t db = 0;

	for (unsigned int i = 0; i < 20; i++)
		b.root->store(i % 2, UAR, 0x1000 + i % 2 * distance, &db, sizeof(db), false);
	b.run();
	CU_ASSERT_EQUAL(b.root->stalled(), 0);
	return now_ps();
}

void on_the_link()
{
	Profile p = link_profile();
	const hca_ps usual = time_of(p, 0), apart = time_of(p, 0x1000);

	CU_ASSERT_EQUAL(usual, apart);
	p.root.shared_line = 1000000;
	const hca_ps once = time_of(p, 0);

	CU_ASSERT_EQUAL(time_of(p, 0x1000), apart);
	p.root.shared_line *= 2;
	CU_ASSERT_EQUAL(time_of(p, 0) - once, 19 * 1000000); /* each store but the first takes the line */
	CU_ASSERT_EQUAL(time_of(p, 0x1000), apart);
}

} // namespace

int main()
{
	return run_suite("cpus", {{"buffers of their own", buffers_of_their_own},
				  {"fences are of one CPU", fences_are_of_one_cpu},
				  {"age", age},
				  {"same line", same_line},
				  {"another BAR", another_bar},
				  {"contention", contention},
				  {"contention of many", contention_of_many},
				  {"turns", turns},
				  {"on the link", on_the_link}});
}
