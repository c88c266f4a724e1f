// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "timing/tests/suite.h"

#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "profile/figures.h"

using namespace hcasim;

static const char DEFAULT[] = PROFILE_DIR "/connectx3.yaml";

static std::string slurp(const char *path)
{
	std::ifstream in(path);

	return {std::istreambuf_iterator<char>(in), {}};
}

static bool load_text(const std::string &text, std::string &err)
{
	char path[] = "profile-test-XXXXXX";
	int fd = mkstemp(path);
	Profile p;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_FATAL(write(fd, text.data(), text.size()) == ssize_t(text.size()));
	close(fd);
	bool ok = profile_load(path, p, err);

	unlink(path);
	return ok;
}

/* The default profile with one piece of text replaced must be refused with these words. */
static void refused(const std::string &from, const std::string &to, std::initializer_list<const char *> words)
{
	std::string text = slurp(DEFAULT), err;
	size_t at = text.find(from);

	CU_ASSERT_FATAL(at != std::string::npos);
	text.replace(at, from.size(), to);
	CU_ASSERT_FALSE(load_text(text, err));
	CU_ASSERT(contains(err, "profile-test-"));
	for (const char *word : words)
		CU_ASSERT(contains(err, word));
}

static void shipped_profiles_load()
{
	DIR *dir = opendir(PROFILE_DIR);
	unsigned int n = 0;

	CU_ASSERT_FATAL(dir != nullptr);
	while (dirent *e = readdir(dir)) {
		std::string name = e->d_name, err;
		Profile p;

		if (name.size() < 6 || name.substr(name.size() - 5) != ".yaml")
			continue;
		n++;
		CU_ASSERT(profile_load((PROFILE_DIR "/" + name).c_str(), p, err));
		CU_ASSERT_EQUAL(p.name + ".yaml", name);
	}
	closedir(dir);
	CU_ASSERT(n >= 2);
}

static void values_and_units()
{
	Profile p;
	std::string err;

	CU_ASSERT_FATAL(profile_load(DEFAULT, p, err));
	CU_ASSERT_EQUAL(p.pcie.raw_rate, 63.015);
	CU_ASSERT_EQUAL(p.pcie.mps, 256);
	CU_ASSERT_EQUAL(p.root.store_latency, 50000); /* 50 ns in ps */
	CU_ASSERT_EQUAL(p.wire.rate, 40);
	CU_ASSERT(p.engine.stages[HCA_STAGE_TX].width > 0);
}

static void unknown_keys()
{
	refused("  mps:", "  mpx:", {"pcie.mpx", "unknown key"});
	refused("pcie:", "pci:", {"'pci'", "unknown key"});
	refused("{value: 256, unit: B", "{value: 256, size: 1, unit: B", {"pcie.mps", "unknown key 'size'"});
	refused("    decode:", "    decoder:", {"engine.stages.decoder", "unknown key"});
}

static void missing_keys()
{
	refused("  rcb: {value: 64, unit: B", "  # rcb: {value: 64, unit: B", {"no key 'pcie.rcb'"});
	refused("{value: 256, unit: B", "{value: 256", {"pcie.mps", "no 'unit'"});
	refused("{value: 256, unit", "{unit", {"pcie.mps", "no 'value'"});
	refused("name: connectx3", "", {"no key 'name'"});
	refused("source: \"IEEE 802.3\"", "source: \"\"", {"wire.fcs", "source is empty"});
}

static void bad_values()
{
	refused("{value: 256, unit: B", "{value: 250, unit: B", {"pcie.mps", "250", "power of two"});
	refused("{value: 256, unit: B", "{value: 8192, unit: B",
		{"pcie.mps", "8192", "out of range", "4096"});
	refused("{value: 256, unit: B", "{value: 256x, unit: B", {"pcie.mps", "256x", "not a number"});
	refused("{value: 256, unit: B", "{value: nan, unit: B", {"pcie.mps", "nan", "not a number"});
	refused("{value: 64, unit: reads", "{value: 6.5, unit: reads", {"pcie.tags", "6.5", "whole"});
	refused("unit: Gb/s", "unit: GB/s", {"pcie.raw_rate", "GB/s", "Gb/s"});
	refused("{value: 256, unit: B", "{value: [1], unit: B", {"pcie.mps", "single value"});
	refused("  mps: {value: 256, unit: B", "  mps: 256 #", {"pcie.mps", "{value, unit, source}"});
	refused("{value: 256, unit: B", "{value: 256, value: 256, unit: B",
		{"pcie.mps", "'value' is given twice"});
}

/* Each stage of the core has its figures, under its own name. */
static void stages()
{
	Profile p;
	const std::vector<Figure> figures = profile_figures(p);

	for (int s = 0; s < HCA_NUM_STAGES; s++) {
		const std::string key = std::string("engine.stages.") + hca_stage_name(hca_stage(s));
		const Figure *f = figure_find(figures, key + ".fixed");

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_PTR_EQUAL(f->place, &p.engine.stages[s].fixed);
	}
}

static void set_figures()
{
	Profile p;
	std::string err;

	CU_ASSERT_FATAL(profile_load(DEFAULT, p, err));
	CU_ASSERT(profile_set(p, {"pcie.mps=128", "pcie.latency=0.5", "pcie.mps=512"}, err));
	CU_ASSERT_EQUAL(p.pcie.mps, 512);
	CU_ASSERT_EQUAL(p.pcie.latency, 500);
	CU_ASSERT_EQUAL(p.source["pcie.mps"], "--set pcie.mps=512");
	CU_ASSERT(contains(p.source["pcie.mrrs"], "common setting"));
	CU_ASSERT_FALSE(profile_set(p, {"pcie.mps=250"}, err));
	CU_ASSERT(contains(err, "connectx3") && contains(err, "'pcie.mps=250'"));
	CU_ASSERT_FALSE(profile_set(p, {"pcie.mpx=128"}, err));
	CU_ASSERT(contains(err, "unknown key 'pcie.mpx'; the closest one is 'pcie.mps'"));
}

/* Figures that are valid one by one. */
static void contradictions()
{
	Profile p;
	std::string err;

	CU_ASSERT_FATAL(profile_load(DEFAULT, p, err));
	CU_ASSERT_FALSE(profile_set(p, {"pcie.posted_data=128"}, err));
	CU_ASSERT(contains(err, "pcie.mps: value 256 is larger than pcie.posted_data, 128 B"));
	CU_ASSERT(profile_set(p, {"pcie.mps=128"}, err));
	CU_ASSERT_FALSE(profile_set(p, {"pcie.skip_size=64", "pcie.skip_interval=64"}, err));
	CU_ASSERT(contains(err, "pcie.ack_limit") && contains(err, "leave no bandwidth"));
	refused("posted_data: {value: 16384", "posted_data: {value: 128",
		{"pcie.mps", "256", "pcie.posted_data"});
}

/* What is printed is the same profile again, whatever its texts have in them. */
static void text_of_a_profile()
{
	Profile p, again;
	std::string err;
	char path[] = "profile-test-XXXXXX";
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0 && profile_load(DEFAULT, p, err));
	CU_ASSERT(profile_set(p, {"pcie.latency=0.001", "wire.propagation=100000000"}, err));
	p.source["pcie.mps"] = "a \"b\" \\ c\n\td: {e}";
	const std::string text = profile_text(p);

	CU_ASSERT(contains(text, "latency: {value: 0.001, unit: ns"));
	CU_ASSERT(contains(text, "propagation: {value: 100000000, unit: ns"));
	CU_ASSERT_FATAL(write(fd, text.data(), text.size()) == ssize_t(text.size()));
	close(fd);
	CU_ASSERT(profile_load(path, again, err));
	CU_ASSERT_EQUAL(profile_text(again), text);
	CU_ASSERT(again.source == p.source);
	unlink(path);
}

static void not_a_profile()
{
	std::string err;
	Profile p;

	CU_ASSERT_FALSE(profile_load("no/such/profile.yaml", p, err));
	CU_ASSERT(contains(err, "no/such/profile.yaml") && contains(err, "No such file"));
	CU_ASSERT_FALSE(load_text("", err));
	CU_ASSERT(contains(err, "empty"));
	CU_ASSERT_FALSE(load_text("pcie: {", err));
	CU_ASSERT(contains(err, "profile-test-"));
	CU_ASSERT_FALSE(load_text("[1, 2]", err));
	CU_ASSERT(contains(err, "must be a mapping"));
	CU_ASSERT_FALSE(load_text(std::string("\x01\x00\xff\xfe", 4), err));
}

/* A figure that the profile does not have is as another one, or a number; one that it has is not. */
static void defaults()
{
	Profile p;
	std::string err;

	CU_ASSERT_FATAL(profile_load(DEFAULT, p, err));
	const StageFigures &tx = p.engine.stages[HCA_STAGE_TX];

	CU_ASSERT(tx.interval == tx.fixed && tx.interval_per_item == tx.per_item);
	CU_ASSERT(tx.interval_width == tx.width && tx.units == 1);
	CU_ASSERT(profile_set(p, {"engine.stages.tx.fixed=77", "engine.stages.tx.width=3"}, err));
	CU_ASSERT(tx.interval == 77 && tx.interval_width == 3);
	CU_ASSERT(contains(profile_text(p), "# interval: {value: 77, unit: cycles, source: \"as fixed\"}"));
	CU_ASSERT(contains(profile_text(p), "# units: {value: 1, unit: units, source: \"default\"}"));
	CU_ASSERT(profile_set(p, {"engine.stages.tx.interval=5", "engine.stages.tx.fixed=78"}, err));
	CU_ASSERT(tx.interval == 5 && tx.fixed == 78);
	CU_ASSERT(contains(profile_text(p), "      interval: {value: 5, unit: cycles, source: \"--set"));
}

int main()
{
	return run_suite("profile", {{"shipped profiles load", shipped_profiles_load},
				     {"values and units", values_and_units},
				     {"unknown keys", unknown_keys},
				     {"missing keys", missing_keys},
				     {"bad values", bad_values},
				     {"stages", stages},
				     {"set figures", set_figures},
				     {"defaults", defaults},
				     {"contradictions", contradictions},
				     {"text of a profile", text_of_a_profile},
				     {"not a profile", not_a_profile}});
}
