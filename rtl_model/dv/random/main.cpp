// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// rtl_random[_small] [--rules|--rare|--tags] [FIRST [COUNT [WQES [BINS]]]]: WQES (500) random WQEs with each of COUNT seeds (100) from
// FIRST (1) on, through the C engine and the RTL engine in lockstep. It ends with the first seed that fails, and says how to
// repeat that. File BINS gets what was met. --rules: the RTL engine on both sides, so that only its assertions can find
// something. --tags: so, too, and it runs out of tags. --rare: also what a host and a peer do seldom: idle cycles, late answers,
// keys that go, other decoders. rtl_random_small: with an engine of 4 fetch buffers, and windows of 1 to 40 WQEs.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "machine.hpp"
#include "rtl_engine.h"

static char again[128]; // what is printed on a failure

// Options. RULES and TAGS: the RTL engine on both sides, so that only its assertions can find something.
enum class Mode { LOCKSTEP, RULES, RARE, TAGS };
static const char *const options[] = {"", "--rules ", "--rare ", "--tags "};
static Mode mode;

static void aborted(int)
{
	const ssize_t n = write(STDERR_FILENO, again, strlen(again)); // an assertion of the RTL

	_exit(n > 0 ? 1 : 2);
}

static bool number(const char *text, uint32_t *out)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	*out = (uint32_t)v;
	return *text >= '0' && *text <= '9' && !*end && v && v <= UINT32_MAX;
}

static void show(const char *report)
{
	fprintf(stderr, "%s\n", report);
}

static bool run(uint32_t seed, uint32_t wqes, Bins &bins, uint64_t &all, uint64_t &frames)
{
	snprintf(again, sizeof(again), "FAILED: repeat it with: rtl_random%s %s%u 1 %u\n",
		 RTL_SLOTS < 32 ? "_small" : "", options[(int)mode], seed, wqes);
	Machine machine(seed, bins, mode == Mode::RARE, mode == Mode::TAGS);
	const bool same = machine.run(wqes);

	all += machine.wqes;
	frames += machine.frames;
	if (!same)
		fputs(again, stderr);
	return same;
}

static void write_bins(const char *path, const Bins &bins)
{
	FILE *out = fopen(path, "w");

	if (!out) {
		perror(path);
		exit(2);
	}
	printf("%u bins were not met\n", bins.write(out));
	fclose(out);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"FIRST", "COUNT", "WQES"};
	uint32_t arg[] = {1, 100, 500};
	const auto start = std::chrono::steady_clock::now();
	uint32_t seeds = 0;
	bool same = true;
	uint64_t wqes = 0, frames = 0;
	Bins bins;

	for (const Mode each : {Mode::RULES, Mode::RARE, Mode::TAGS})
		if (argc > 1 && std::string(options[(int)each]) == std::string(argv[1]) + " ")
			mode = each;
	argc -= mode != Mode::LOCKSTEP;
	argv += mode != Mode::LOCKSTEP;
	for (int i = 1; i < argc && i != 4; i++)
		if (i > 4 || !number(argv[i], &arg[i - 1])) {
			fprintf(stderr, "%s: '%s' is no number for %s\n", argv[0], argv[i],
				i > 4 ? "anything" : names[i - 1]);
			return 2;
		}
	signal(SIGABRT, aborted);
	lockstep_config.second = &rtl_engine;
	rtl_engine_idle(mode == Mode::RARE);
	if (mode == Mode::RULES || mode == Mode::TAGS)
		lockstep_config.first = &rtl_engine;
	lockstep_config.stop = show;
	while (same && seeds < arg[1])
		same = run(arg[0] + seeds++, arg[2], bins, wqes, frames);
	const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
	printf("%llu WQEs with seeds %u to %u: %llu ops, %llu port calls, %llu frames, %s difference; %.0f "
	       "s\n",
	       (unsigned long long)wqes, arg[0], arg[0] + seeds - 1, (unsigned long long)lockstep_report.ops,
	       (unsigned long long)lockstep_report.port_calls, (unsigned long long)frames, same ? "no" : "a",
	       took.count());
	if (argc > 4)
		write_bins(argv[4], bins);
	return same ? 0 : 1;
}
