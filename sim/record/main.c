// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* hcasim-replay: started by `hcasim replay`. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engines/select.h"
#include "record/replay.h"

struct options {
	const char *engine, *file;
	bool print;
};

static const struct argp_option option_list[] = {
	{"engine", 'e', "NAME", 0, "send engine: c, a shared library, or lockstep: and one of these (c)", 0},
	{"print", 'p', NULL, 0, "print the events and replay nothing", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'e':
		o->engine = arg;
		break;
	case 'p':
		o->print = true;
		break;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "more than one FILE");
		o->file = arg;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no FILE");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void engines_differ(const char *report)
{
	fputs(report, stderr);
	exit(EXIT_FAILURE);
}

static bool print(const char *path, char *err, size_t err_size)
{
	struct reader *r = reader_open(path, err, err_size);
	struct event e;
	bool good = r;

	while (good && reader_next(r, &e)) {
		good = event_print(stdout, &e);
		if (!good)
			snprintf(err, err_size, "%s: event %" PRIu64 " does not have the fields of its kind",
				 path, e.number);
	}
	reader_close(r);
	return good;
}

static bool compare(const struct options *o, char *err, size_t err_size)
{
	const struct engine_choice choice = {.name = o->engine, .stop = engines_differ};
	const struct engine_ops *engine = engine_select(&choice, err, err_size);
	uint64_t events;

	if (!engine || !replay(o->file, engine, &events, err, err_size))
		return false;
	printf("%s: %" PRIu64 " events, no difference\n", o->file, events);
	return true;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		option_list, parse_option, "FILE", "Replays a record of `hcasim run --record`.",
		NULL,        NULL,         NULL};
	struct options o = {.engine = "c"};
	char err[768] = "";

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.print ? print(o.file, err, sizeof(err)) : compare(&o, err, sizeof(err)))
		return EXIT_SUCCESS;
	fprintf(stderr, "hcasim replay: %s\n", err);
	return 2;
}
