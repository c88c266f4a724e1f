/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell/cell.h"

static const struct name api_names[] = {
	{"wr", API_WR},         {"post", API_POST},   {"recv", API_RECV}, {"srq", API_SRQ},
	{"writev", API_WRITEV}, {"suite", API_SUITE}, {NULL, 0},
};
static const struct name data_names[] = {
	{"none", DATA_NONE},
	{"sge", DATA_SGE},
	{"sge_list", DATA_SGE_LIST},
	{"inline", DATA_INLINE},
	{"inline_list", DATA_INLINE_LIST},
	{NULL, 0},
};
static const struct name qp_setter_names[] = {
	{"none", QPSET_NONE},
	{"ud_addr", QPSET_UD_ADDR},
	{"xrc_srqn", QPSET_XRC_SRQN},
	{NULL, 0},
};
#define EFFECT_NAME(name, text) {text, EFFECT_##name},
static const struct name effect_names[] = {CELL_EFFECTS(EFFECT_NAME){NULL, 0}};
static const struct name limit_names[] = {
	{"none", LIMIT_NONE},
	{"inline", LIMIT_INLINE},
	{"sge", LIMIT_SGE},
	{NULL, 0},
};
static const struct name create_names[] = {{"ok", CREATE_OK}, {"refused", CREATE_REFUSED}, {NULL, 0}};
static const struct name post_names[] = {
	{"ok", POST_OK}, {"refused", POST_REFUSED}, {"any", POST_ANY}, {"error", POST_ERROR}, {NULL, 0},
};

struct parse {
	char *err;
	size_t size;
	bool bad;
};

static void __attribute__((format(printf, 2, 3))) parse_error(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	if (p->bad)
		return;
	p->bad = true;
	va_start(ap, fmt);
	vsnprintf(p->err, p->size, fmt, ap);
	va_end(ap);
}

static const char *get_text(struct parse *p, json_t *obj, const char *field)
{
	const char *text = json_string_value(json_object_get(obj, field));

	if (!text)
		parse_error(p, "field '%s' is missing or is not a string", field);
	return text ? text : "";
}

static long get_enum(struct parse *p, json_t *obj, const char *field, const struct name *table)
{
	const char *text = get_text(p, obj, field);
	long value = 0;

	if (!name_value(table, text, &value))
		parse_error(p, "field '%s': '%s' is not known", field, text);
	return value;
}

static long get_enum_or(struct parse *p, json_t *obj, const char *field, const struct name *table,
			long fallback)
{
	return json_object_get(obj, field) ? get_enum(p, obj, field, table) : fallback;
}

/* An opcode of a completion, or null if there is no completion. */
static int get_wc(struct parse *p, json_t *obj, const char *field)
{
	json_t *v = json_object_get(obj, field);

	return !v || json_is_null(v) ? -1 : (int)get_enum(p, obj, field, wc_names);
}

static long get_int(struct parse *p, json_t *obj, const char *field, long fallback)
{
	json_t *v = json_object_get(obj, field);

	if (!v)
		return fallback;
	if (!json_is_integer(v))
		parse_error(p, "field '%s' is not an integer", field);
	return json_integer_value(v);
}

static uint64_t get_flags(struct parse *p, json_t *obj, const char *field, const struct name *table)
{
	json_t *list = json_object_get(obj, field), *item;
	uint64_t flags = 0;
	size_t i;
	long bit;

	if (!json_is_array(list))
		parse_error(p, "field '%s' is not a list", field);
	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);

		if (!text || !name_value(table, text, &bit))
			parse_error(p, "field '%s': '%s' is not known", field,
				    text ? text : "(not a string)");
		else
			flags |= bit;
	}
	return flags;
}

static void get_lengths(struct parse *p, json_t *obj, struct cell_wr *wr)
{
	json_t *list = json_object_get(obj, "len"), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > CELL_MAX_SGE) {
		parse_error(p, "field 'len' is not a list of at most %d lengths", CELL_MAX_SGE);
		return;
	}
	json_array_foreach(list, i, item)
	{
		if (!json_is_integer(item) || json_integer_value(item) < 0 || json_integer_value(item) > 4096)
			parse_error(p, "field 'len': an entry is not an integer of 0 to 4096");
		wr->len[wr->num_len++] = json_integer_value(item);
	}
}

static void get_wr(struct parse *p, json_t *obj, struct cell_wr *wr)
{
	wr->op = get_enum(p, obj, "op", op_names);
	wr->data = get_enum(p, obj, "data", data_names);
	wr->data_again = get_enum_or(p, obj, "data_again", data_names, DATA_NONE);
	wr->data_of = get_int(p, obj, "data_of", -1);
	wr->qp_setter = get_enum(p, obj, "qp_setter", qp_setter_names);
	wr->qp_setter_again = get_enum_or(p, obj, "qp_setter_again", qp_setter_names, QPSET_NONE);
	wr->flags = get_flags(p, obj, "flags", send_flag_names);
	wr->effect = get_enum(p, obj, "effect", effect_names);
	wr->limit = get_enum(p, obj, "limit", limit_names);
	wr->limit_delta = get_int(p, obj, "limit_delta", 0);
	wr->wc = get_wc(p, obj, "wc");
	wr->recv = get_wc(p, obj, "recv");
	wr->imm = json_is_true(json_object_get(obj, "imm"));
	wr->inv = json_is_true(json_object_get(obj, "inv"));
	get_lengths(p, obj, wr);
}

static void get_wrs(struct parse *p, json_t *line, struct cell_wr *wr, unsigned int *num)
{
	json_t *list = json_object_get(line, "wrs"), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > CELL_MAX_WR || !json_array_size(list)) {
		parse_error(p, "field 'wrs' is not a list of 1 to %d work requests", CELL_MAX_WR);
		return;
	}
	json_array_foreach(list, i, item)
	{
		get_wr(p, item, &wr[i]);
		if (wr[i].data_of >= (int)i)
			parse_error(p, "field 'data_of' names no earlier work request");
		(*num)++;
	}
}

static void get_batch(struct parse *p, json_t *line, const char *field, struct cell_batch *batch)
{
	json_t *obj = json_object_get(line, field);

	if (!obj)
		return;
	batch->api = get_enum(p, obj, "api", api_names);
	batch->post = get_enum(p, obj, "post", post_names);
	if (batch->api != API_WR && batch->api != API_POST)
		parse_error(p, "field '%s': 'api' is neither wr nor post", field);
	if (batch->post != POST_OK && batch->post != POST_REFUSED)
		parse_error(p, "field '%s': 'post' is neither ok nor refused", field);
	get_wrs(p, obj, batch->wr, &batch->num_wr);
}

static int get_errno(struct parse *p, json_t *line, const char *field)
{
	json_t *v = json_object_get(line, field);
	int err = errno_value(json_string_value(v));

	if (v && !json_is_null(v) && !err)
		parse_error(p, "field '%s' is not the name of an errno", field);
	return err;
}

/* A case of a suite: the scenario that the runner executes, and the integers that only that scenario reads. */
static void get_case(struct parse *p, json_t *line, struct cell *cell)
{
	json_t *args = json_object_get(line, "args"), *value;
	const char *key;

	cell->scenario = strdup(get_text(p, line, "scenario"));
	if (!json_is_object(args))
		parse_error(p, "field 'args' is not an object");
	json_object_foreach(args, key, value)
	{
		if (!json_is_integer(value))
			parse_error(p, "field 'args': '%s' is not an integer", key);
	}
	cell->args = json_incref(args);
	if (json_object_get(line, "status"))
		cell->status = get_enum(p, line, "status", status_names);
	if (json_array_size(json_object_get(line, "wrs")))
		get_wrs(p, line, cell->wr, &cell->num_wr);
}

static json_t *get_excuses(struct parse *p, json_t *line)
{
	json_t *excuses = json_object_get(line, "excuses"), *value;
	const char *check, *fate;
	long status;

	if (excuses && !json_is_object(excuses))
		parse_error(p, "field 'excuses' is not an object");
	json_object_foreach(excuses, check, value)
	{
		if (!json_is_string(value))
			parse_error(p, "field 'excuses': '%s' is not a string", check);
	}
	fate = json_string_value(json_object_get(excuses, "post.status"));
	if (fate && strcmp(fate, "LOST") && (!name_value(status_names, fate, &status) || !status))
		parse_error(
			p,
			"field 'excuses': 'post.status' is neither LOST nor an error of enum ibv_wc_status");
	return json_incref(excuses);
}

struct cell *cell_parse(json_t *line, char *err, size_t err_size)
{
	struct parse p = {.err = err, .size = err_size};
	struct cell *cell = calloc(1, sizeof(*cell));

	if (!cell) {
		snprintf(err, err_size, "out of memory");
		return NULL;
	}
	cell->id = strdup(get_text(&p, line, "id"));
	cell->api = get_enum(&p, line, "api", api_names);
	cell->qpt = get_enum(&p, line, "qp", qpt_names);
	cell->ask = get_flags(&p, line, "ask", send_ops_names);
	cell->ask_inline = get_int(&p, line, "ask_inline", 0);
	cell->ask_sge = get_int(&p, line, "ask_sge", 1);
	cell->timeout_ms = get_int(&p, line, "timeout_ms", 0);
	cell->excuses = get_excuses(&p, line);
	cell->abort = json_is_true(json_object_get(line, "abort"));
	cell->follow_post = json_is_true(json_object_get(line, "follow_post"));
	if (cell->api == API_SUITE) {
		get_case(&p, line, cell);
		goto out;
	}
	cell->create = get_enum(&p, line, "create", create_names);
	cell->create_errno = get_errno(&p, line, "create_errno");
	cell->post = get_enum(&p, line, "post", post_names);
	if (cell->post == POST_ERROR)
		cell->status = get_enum(&p, line, "status", status_names);
	cell->bad_wr = get_int(&p, line, "bad_wr", 0);
	cell->event = get_int(&p, line, "event", -1);
	get_wrs(&p, line, cell->wr, &cell->num_wr);
	cell->index = get_int(&p, line, "index", 0);
	if (cell->index >= cell->num_wr)
		parse_error(&p, "field 'index' names no work request");
	if (cell->bad_wr < 0 || cell->bad_wr >= (int)cell->num_wr)
		parse_error(&p, "field 'bad_wr' names no work request");
	get_batch(&p, line, "before", &cell->before);
	get_batch(&p, line, "behind", &cell->behind);
	get_batch(&p, line, "rival", &cell->rival);
out:
	if (!p.bad)
		return cell;
	cell_free(cell);
	return NULL;
}

void cell_free(struct cell *cell)
{
	if (!cell)
		return;
	free(cell->id);
	free(cell->scenario);
	json_decref(cell->args);
	json_decref(cell->excuses);
	free(cell);
}
