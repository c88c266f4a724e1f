// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-calibrate PROFILE ENGINE < MIXES: measures each mix on two adapters and prints a JSON object a line. A mix is
 * a line `NAME OP SIZE SGES BATCH PUSH MSS`. For `hcasim calibrate`.
 */
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>

#include <hcasim_hw.h>

#include "engines/select.h"
#include "mix.h"

static uint8_t operation(const std::string &name)
{
	for (unsigned int op = 0; op < 256; op++)
		if (hcasim_wqe_op_name(op) && hcasim_wqe_op_name(op) == name)
			return uint8_t(op);
	throw "op: '" + name + "' is not one of enum hcasim_wqe_op";
}

static Mix parse(const std::string &line)
{
	std::istringstream in(line);
	std::string op;
	Mix mix;

	in >> mix.name >> op >> mix.size >> mix.sges >> mix.batch >> mix.push >> mix.mss;
	if (!in || !mix.batch)
		throw "mix: '" + line + "' is not NAME OP SIZE SGES BATCH PUSH MSS";
	mix.op = operation(op);
	return mix;
}

static void print_stage(hca_stage stage, const StageLoad &load)
{
	const char *comma = "";

	printf("%s\"%s\": {\"counted\": %s, \"steps\": %llu, \"cycles\": %llu, \"sizes\": [",
	       stage ? ", " : "", hca_stage_name(stage), load.counted ? "true" : "false",
	       (unsigned long long)load.steps, (unsigned long long)load.cycles);
	for (const auto &[size, count] : load.sizes) {
		const auto &[bytes, items, cycles] = size;

		printf("%s[%u, %u, %u, %llu]", comma, bytes, items, cycles, (unsigned long long)count);
		comma = ", ";
	}
	printf("]}");
}

static void print(const Mix &mix, const Result &r)
{
	printf("{\"name\": \"%s\", \"latency_ps\": %llu, \"ps_per_wqe\": %.1f, \"wqes\": %u, \"stages\": {",
	       mix.name.c_str(), (unsigned long long)r.latency, r.per_wqe, r.wqes);
	for (int s = 0; s < HCA_NUM_STAGES; s++)
		print_stage(static_cast<hca_stage>(s), r.stage[s]);
	printf("}}\n");
}

/* A mix that the engine cannot do has an error for its result. */
static void run(const std::string &line, const char *profile, const engine_ops *engine)
{
	const Mix mix = parse(line);

	try {
		print(mix, measure(mix, profile, engine));
	} catch (const std::string &what) {
		printf("{\"name\": \"%s\", \"error\": \"%s\"}\n", mix.name.c_str(), what.c_str());
	}
}

int main(int argc, char **argv)
{
	struct engine_choice choice = {};
	const engine_ops *engine;
	std::string line;
	char err[500];

	if (argc != 3) {
		fprintf(stderr, "usage: hcasim-calibrate PROFILE ENGINE < MIXES\n");
		return 2;
	}
	choice.name = argv[2];
	engine = engine_select(&choice, err, sizeof(err));
	if (!engine) {
		fprintf(stderr, "hcasim-calibrate: %s\n", err);
		return 1;
	}
	try {
		while (std::getline(std::cin, line))
			run(line, argv[1], engine);
	} catch (const std::string &what) {
		fprintf(stderr, "hcasim-calibrate: %s\n", what.c_str());
		return 1;
	} catch (const std::exception &e) {
		fprintf(stderr, "hcasim-calibrate: %s\n", e.what());
		return 1;
	}
	return 0;
}
