// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "suite.h"

#include <vector>

#include "timing/fault.h"

using namespace hcasim;

static std::vector<unsigned int> fates(uint64_t seed, const char *spec, unsigned int n)
{
	std::vector<unsigned int> out;
	std::string err;
	Fault f(seed);

	CU_ASSERT(f.parse(spec, err));
	for (unsigned int i = 0; i < n; i++) {
		Fault::Fate fate = f.fate(64 + i % 1000);

		out.push_back(fate.lost | fate.doubled << 1 | fate.late << 2 | fate.flip << 3);
	}
	return out;
}

static void repeatable_by_seed()
{
	const char spec[] = "loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1";

	CU_ASSERT(fates(1, spec, 5000) == fates(1, spec, 5000));
	CU_ASSERT(fates(1, spec, 5000) != fates(2, spec, 5000));
}

static void rates()
{
	unsigned int lost = 0, doubled = 0, late = 0, flipped = 0;

	for (unsigned int fate : fates(7, "loss=0.5,dup=0.1,reorder=0,corrupt=1", 10000)) {
		lost += fate & 1;
		doubled += fate >> 1 & 1;
		late += fate >> 2 & 1;
		flipped += fate >> 3 != 0;
	}
	CU_ASSERT(lost > 4800 && lost < 5200);
	CU_ASSERT(doubled > 880 && doubled < 1120);
	CU_ASSERT_EQUAL(late, 0);
	CU_ASSERT_EQUAL(flipped, 10000);
}

static void one_kind_does_not_shift_another()
{
	auto alone = fates(3, "loss=0.1", 2000), both = fates(3, "loss=0.1,corrupt=0.5", 2000);

	for (size_t i = 0; i < alone.size(); i++)
		CU_ASSERT_EQUAL(alone[i] & 1, both[i] & 1);
}

static void flips_stay_inside_the_frame()
{
	std::string err;
	Fault f(1);

	CU_ASSERT(f.parse("corrupt=1", err));
	for (uint32_t len = 15; len < 3000; len++) {
		uint32_t bit = f.fate(len).flip;

		CU_ASSERT(bit >= 14 * 8 && bit < len * 8);
	}
	CU_ASSERT_EQUAL(f.fate(14).flip, 0);
}

/* Their kinds draw from numbers of their own. */
static void pcie_rates()
{
	unsigned int of[5] = {}, loads = 0, stores = 0;
	std::string err;
	Fault f(7);

	CU_ASSERT_FALSE(f.on_pcie());
	CU_ASSERT(f.parse(
		"read_ur=0.2,read_poison=0.1,read_lost=0.1,load_ur=0.5,read_late=0.1,store_poison=0.3", err));
	CU_ASSERT(f.on_pcie() && !f.active());
	for (int i = 0; i < 10000; i++) {
		of[static_cast<int>(f.read())]++;
		loads += f.load_unsupported();
		stores += f.store_poisoned();
	}
	CU_ASSERT(of[4] > 800 && of[4] < 1000);  /* those that are not lost, */
	CU_ASSERT(of[1] > 1480 && of[1] < 1760); /* nor late, */
	CU_ASSERT(of[2] > 550 && of[2] < 750);   /* nor refused */
	CU_ASSERT(of[3] > 900 && of[3] < 1100);
	CU_ASSERT(loads > 4800 && loads < 5200);
	CU_ASSERT(stores > 2850 && stores < 3150);
	CU_ASSERT(fates(3, "loss=0.1", 2000) == fates(3, "loss=0.1,read_ur=0.5", 2000));
}

static void bad_specs()
{
	const struct {
		const char *spec, *part;
	} bad[] = {{"lost=0.1", "'lost'"},  {"loss", "'loss'"},
		   {"loss=", "loss="},      {"loss=2", "'2'"},
		   {"loss=-0.1", "'-0.1'"}, {"loss=x", "'x'"},
		   {"loss=0.1,", "''"},     {"", "''"},
		   {"loss=nan", "'nan'"},   {"dup=0.1,loss=0.1z", "'0.1z'"},
		   {"dup=1,dap=1", "'dap'"}};

	for (const auto &b : bad) {
		std::string err;
		Fault f(1);

		CU_ASSERT_FALSE(f.parse(b.spec, err));
		CU_ASSERT(contains(err, b.part));
	}
}

int main()
{
	return run_suite("fault", {{"repeatable by seed", repeatable_by_seed},
				   {"rates", rates},
				   {"one kind does not shift another", one_kind_does_not_shift_another},
				   {"flips stay inside the frame", flips_stay_inside_the_frame},
				   {"rates on PCIe", pcie_rates},
				   {"bad specifications", bad_specs}});
}
