/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * hcasim-conform-runner: executes cells on a verbs device and reports what was observed.
 *
 * Input, one JSON object a line: first {"dut": ...} (schema of the DUT file), then cells (cell.h), or
 * {"query": true}, which is answered by {"reported": ...} (query.h). {"error": ...} says why no cell is run; its
 * member "wrong" is true if there is no such device.
 * With --list it prints the scenarios (suites/scenario.h) and ends.
 * With --peer it serves the responder's end to a runner in another process (remote/wire.h).
 * Output, one JSON object a line: {"begin": id} before and {"end": id, ...} after each cell, so that
 * the reader knows during which cell the process ended; before the first {"ready": true}, if the first line
 * has "ready". Exit status: 0 all cells passed, 1 some did not, 2 bad input or no device, 3 a peer process
 * that failed at its end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <CUnit/TestDB.h>

#include "judge/watchdog.h"
#include "remote/agent.h"
#include "remote/remote.h"
#include "link/query.h"
#include "run.h"
#include "suites/scenario.h"

#define PEER_ENDED_BADLY 3

static struct runner runner;
static struct cell **cells;
static size_t num_cells, next_cell;
static FILE *out;
static bool brief; /* a cell that passes has no list of calls */
static bool fresh; /* each cell creates its own QPs */
static bool tells; /* when it is ready for the first cell */

static void emit(json_t *line)
{
	json_dumpf(line, out, JSON_COMPACT);
	fputc('\n', out);
	fflush(out);
	json_decref(line);
}

static int refuse(const char *where, const char *what, bool wrong)
{
	fprintf(stderr, "hcasim-conform-runner: %s: %s\n", where, what);
	emit(json_pack("{s:s+++, s:b}", "error", where, ": ", what, "", "wrong", wrong));
	return -1;
}

static int complain(const char *where, const char *what)
{
	return refuse(where, what, false);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

static json_t *faults(const struct verdict *v)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < v->num && i < VERDICT_MAX; i++)
		json_array_append_new(list, json_string(v->fault[i]));
	return list;
}

/* What the checks saw, in the order in which they saw it; the excused come with `true`. */
static json_t *observations(const struct verdict *v)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < v->num_observed; i++) {
		const struct observation *o = &v->observed[i];

		json_array_append_new(list, json_pack("[s, s, b]", o->check, o->value, o->excused));
	}
	return list;
}

/* Fault injection for the driver's tests: crashes or hangs as a faulty provider would make this process do. */
static void inject(const char *id)
{
	const char *crash = getenv("HCASIM_CONFORM_TEST_CRASH"), *hang = getenv("HCASIM_CONFORM_TEST_HANG");

	if (crash && !strcmp(crash, id))
		abort();
	while (hang && !strcmp(hang, id))
		pause();
}

static json_t *clock_value(int64_t ns)
{
	return ns < 0 ? json_null() : json_integer(ns);
}

/* The address of an end on the wire; NULL if the wire is not recorded. */
static json_t *address(const struct end *end)
{
	char text[33];

	if (!runner.dut.tap)
		return NULL;
	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", end->gid.raw[i]);
	return json_pack("{s:s, s:s, s:b}", "dev", end->device, "gid", text, "roce_v1", end->roce_v1);
}

static void test_cell(void)
{
	const struct cell *cell = cells[next_cell++];
	struct result res = {.log.calls = json_array(), .log.posts = runner.dut.tap ? json_array() : NULL};
	int64_t begin = dut_clock(&runner.dut);
	uint64_t start = now_us();
	const char *broken;

	emit(json_pack("{s:s}", "begin", cell->id));
	inject(cell->id);
	run_cell(&runner, cell, &res);
	if (fresh)
		link_destroy(&runner.link);
	broken = remote_broken();
	if (broken) { /* all other faults are consequences of this one */
		res.verdict.num = res.verdict.num_observed = 0;
		fault(&res.verdict, "%s", broken);
	}
	if (brief && !res.verdict.num)
		json_array_clear(res.log.calls);
	emit(json_pack(
		"{s:s, s:b, s:s, s:o, s:s?, s:o, s:I, s:[o, o], s:[I, I], s:o*, s:o*, s:o*, s:o*, s:o}",
		"end", cell->id, "pass", !res.verdict.num, "seen", res.seen, "faults", faults(&res.verdict),
		"errno", res.err ? errno_name(res.err) : NULL, "calls", res.log.calls, "us",
		(json_int_t)(now_us() - start), "clock", clock_value(begin),
		clock_value(dut_clock(&runner.dut)), "qpn", (json_int_t)res.log.qpn[0],
		(json_int_t)res.log.qpn[1], "posts", res.log.posts, "from", address(&runner.dut.requester),
		"to", address(&runner.dut.responder), "late", watchdog_lost() ? json_true() : NULL,
		"observed", observations(&res.verdict)));
	if (broken) /* another runner, with a new peer, runs the remaining cells */
		_exit(1);
	CU_assertImplementation(!res.verdict.num, __LINE__, res.verdict.fault[0], "main.c", cell->id,
				CU_FALSE);
}

static int add_cell(json_t *line, size_t number)
{
	char err[256], where[32];
	struct cell *cell = cell_parse(line, err, sizeof(err));
	struct cell **grown;

	snprintf(where, sizeof(where), "line %zu", number);
	if (!cell)
		return complain(where, err);
	grown = realloc(cells, (num_cells + 1) * sizeof(*cells));
	if (!grown) {
		cell_free(cell);
		return complain(where, "out of memory");
	}
	cells = grown;
	cells[num_cells++] = cell;
	return 0;
}

static int read_first(json_t *line, json_t *dut)
{
	char err[512];
	int ret;

	runner.run_seed = json_integer_value(json_object_get(line, "seed"));
	brief = json_is_true(json_object_get(line, "brief"));
	fresh = json_is_true(json_object_get(line, "fresh"));
	tells = json_is_true(json_object_get(line, "ready"));
	ret = dut_open(&runner.dut, dut, err, sizeof(err));
	return ret ? refuse("device under test", err, ret == DUT_WRONG) : 0;
}

static int read_line(const char *text, size_t number)
{
	char where[32];
	json_error_t jerr;
	json_t *line = json_loads(text, 0, &jerr), *dut;
	int ret = 0;

	snprintf(where, sizeof(where), "line %zu", number);
	if (!line)
		return complain(where, jerr.text);
	dut = json_object_get(line, "dut");
	if (number == 1 && !dut)
		ret = complain(where, "the first line has no 'dut'");
	else if (number == 1)
		ret = read_first(line, dut);
	else if (json_object_get(line, "query"))
		emit(json_pack("{s:o}", "reported", query_dut(&runner.dut)));
	else
		ret = add_cell(line, number);
	json_decref(line);
	return ret;
}

static int read_input(FILE *in)
{
	char *text = NULL;
	size_t size = 0, number = 0;
	int ret = 0;

	while (!ret && getline(&text, &size, in) > 0)
		ret = read_line(text, ++number);
	free(text);
	if (!number)
		ret = complain("input", "is empty");
	return ret;
}

static int run_cells(void)
{
	CU_pSuite suite;
	int failures;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	suite = CU_add_suite("cells", NULL, NULL);
	CU_set_error_action(CUEA_IGNORE);
	for (size_t i = 0; i < num_cells; i++)
		CU_add_test(suite, cells[i]->id, test_cell);
	if (tells)
		emit(json_pack("{s:b}", "ready", 1));
	CU_run_all_tests();
	failures = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}

/* Frees everything; reports a peer process that ends with an error. */
static int clean_up(int ret)
{
	char err[512];

	link_destroy(&runner.link);
	if (dut_close(&runner.dut, err, sizeof(err))) {
		fprintf(stderr, "hcasim-conform-runner: %s\n", err);
		ret = ret > 2 ? ret : PEER_ENDED_BADLY;
	}
	for (size_t i = 0; i < num_cells; i++)
		cell_free(cells[i]);
	free(cells);
	return ret;
}

/* Those of others (docs/add-a-scenario.md). */
static bool load_scenarios(void)
{
	const char *folder = getenv("HCASIM_SCENARIOS"), *error = folder ? scenario_load(folder) : NULL;

	if (error)
		fprintf(stderr, "hcasim-conform-runner: %s\n", error);
	return !error;
}

static int list_scenarios(void)
{
	json_t *list = scenario_list();
	int ret = json_dumpf(list, stdout, JSON_COMPACT);

	json_decref(list);
	return ret || puts("") == EOF ? 2 : 0;
}

int main(int argc, char **argv)
{
	bool peer = argc == 2 && !strcmp(argv[1], "--peer");
	FILE *in;
	int ret = 2;

	if (peer)
		return agent_main();
	if (!load_scenarios())
		return 2;
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list_scenarios();
	in = argc > 1 ? fopen(argv[1], "r") : stdin;
	/* only results go to the real stdout, nothing that a library prints; a peer process does not inherit it */
	out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w");
	dup2(STDERR_FILENO, STDOUT_FILENO);
	if (!in || !out) {
		perror(argc > 1 ? argv[1] : "hcasim-conform-runner");
		return 2;
	}
	if (!read_input(in))
		ret = run_cells();
	ret = clean_up(ret);
	fclose(out);
	if (in != stdin)
		fclose(in);
	return ret;
}
