/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a scenario is: a function, and the cells that it serves, in one place (docs/scenarios.md).
 *
 *	static void event_any(struct kit *k) { ... }
 *
 *	SCENARIO(event_any) = {
 *		{"any", SUITE("notify"), QPS("RC UC UD"), POSTS("SEND 600"), CLAUSE("ibv_req_notify_cq/NOTES/one-shot"),
 *		 SAYS("one event for a new CQE, and no second without a new request")},
 *		{},
 *	};
 *
 * Each row is one cell or several: suite/<suite>/<QP type>/<name>. A text that a row does not set is that of the row
 * above; "" sets it to nothing. `hcasim-conform-runner --list` prints all rows as JSON; the driver plans cells from
 * them (hcasim_conform/suites/).
 */
#ifndef CONFORM_SUITES_SCENARIO_H
#define CONFORM_SUITES_SCENARIO_H

#include <jansson.h>
#include <stdbool.h>

struct kit;

#define SCENARIO_ARGS  8
#define SCENARIO_FORMS 8

/* An argument of the scenario (kit_arg). */
struct scenario_arg {
	const char *name;
	long value;
};

/* A cell more for each form: its name has this suffix, and it has these arguments, too. */
struct scenario_form {
	const char *suffix;
	struct scenario_arg args[SCENARIO_ARGS];
};

/* Lists are words with spaces between them. The first group of texts is inherited from the row above. */
struct scenario_row {
	const char *name;   /* of the id; {op} and {short}: the operation in small letters, see `ops` */
	const char *suite;  /* of the id */
	const char *qps;    /* QP types as spec/wr.yaml names them: RC UC UD RAW_PACKET XRC_SEND */
	const char *posts;  /* the requests of the cell, see below */
	const char *clause; /* the sentence of the page that the cell checks, and `also` others */
	const char *also;
	const char *level;  /* SHOULD; nothing: MUST */
	const char *errata; /* XRC_SEND/NAME: only on this type */
	const char *status; /* of the completion in error that is expected */
	const char *needs;  /* capabilities as DUT files name them; {qp}: the QP type, {op}: see `ops` */
	const char *ask;    /* send_ops_flags besides SEND; "posts": the operations of the requests */
	const char *wire;   /* its faults, as for `hcasim run --fault`, or "narrow": shortest queues */
	const char *says;   /* what must be seen, for people; {ARGUMENT}: its value */

	/* a cell for each of these operations, which {op} stands for in name, posts, needs, ask and was */
	const char *ops;
	/* suite and name that the cells had before, as "notify/any": -k, --diff and DUT files find both */
	const char *was;
	unsigned int sges; /* max_send_sge that is asked for; 0: the usual one */
	bool narrow;       /* the cells exist once more, on a narrow device */
	struct scenario_arg args[SCENARIO_ARGS];
	struct scenario_form forms[SCENARIO_FORMS];
};

/*
 * Requests: "OPERATION LENGTH FLAGS, ..."; "3 x SEND 600" is three of them.
 * LENGTH: "600" is one SGE, "17+1+90" a list of three, "600+" a list of one, or of as many as pieces of at most 4,096
 * bytes make necessary; "inline 600" and so on. "most+1" behind it: one more SGE or inline byte than the QP was granted.
 * FLAGS: fence, solicited, ip_csum, unsignaled; "of N": with the buffers of request N.
 * A request that the QP type does not have is left out, unless "!" is behind its name.
 */
#define SUITE(text)  .suite = text
#define QPS(text)    .qps = text
#define POSTS(text)  .posts = text
#define CLAUSE(text) .clause = text
#define ALSO(text)   .also = text
#define LEVEL(text)  .level = text
#define ERRATA(text) .errata = text
#define STATUS(text) .status = text
#define NEEDS(text)  .needs = text
#define ASK(text)    .ask = text
#define WIRE(text)   .wire = text
#define SAYS(text)   .says = text
#define WAS(text)    .was = text
#define OPS(text)    .ops = text
#define SGES(number) .sges = number
#define NARROW       .narrow = true
#define ARGS(...)    .args = {__VA_ARGS__}
#define FORMS(...)   .forms = {__VA_ARGS__}

struct scenario {
	const char *name;
	void (*run)(struct kit *k);
	const struct scenario_row *rows; /* the last has no name */
	struct scenario *next;
};

/* Defines the rows of scenario `fn`, which is the function of that name, and makes it known. */
#define SCENARIO(fn)                                                                                         \
	extern const struct scenario_row fn##_rows[];                                                        \
	__attribute__((constructor)) static void fn##_known(void)                                            \
	{                                                                                                    \
		static struct scenario scenario = {.name = #fn, .run = fn, .rows = fn##_rows};               \
                                                                                                             \
		scenario_add(&scenario);                                                                     \
	}                                                                                                    \
	const struct scenario_row fn##_rows[]

void scenario_add(struct scenario *scenario);
/* NULL: there is none. */
const struct scenario *scenario_find(const char *name);
/* Loads the scenarios of each *.so in this folder. NULL, or why one cannot be loaded. */
const char *scenario_load(const char *folder);
/* All of them, in the order in which they became known. */
json_t *scenario_list(void);

#endif
