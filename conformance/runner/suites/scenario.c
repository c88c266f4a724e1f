/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "suites/scenario.h"

static struct scenario *first, **last = &first;

void scenario_add(struct scenario *scenario)
{
	*last = scenario;
	last = &scenario->next;
}

const struct scenario *scenario_find(const char *name)
{
	const struct scenario *s = first;

	while (s && strcmp(s->name, name))
		s = s->next;
	return s;
}

const char *scenario_load(const char *folder)
{
	static char pattern[4096], none[4200];
	const char *error = NULL;
	glob_t found;

	if ((size_t)snprintf(pattern, sizeof(pattern), "%s/*.so", folder) >= sizeof(pattern))
		return "the name of the folder of scenarios is too long";
	if (glob(pattern, 0, NULL, &found)) {
		snprintf(none, sizeof(none), "%s: there is no such file", pattern);
		return none;
	}
	for (size_t i = 0; i < found.gl_pathc && !error; i++)
		if (!dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL))
			error = dlerror();
	globfree(&found);
	return error;
}

static json_t *args_json(const struct scenario_arg *args)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < SCENARIO_ARGS && args[i].name; i++)
		json_object_set_new(object, args[i].name, json_integer(args[i].value));
	return object;
}

static json_t *forms_json(const struct scenario_form *forms)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < SCENARIO_FORMS && forms[i].suffix; i++)
		json_array_append_new(list, json_pack("{s:s, s:o}", "suffix", forms[i].suffix, "args",
						      args_json(forms[i].args)));
	return list;
}

/* Members without a value are left out. */
static json_t *row_json(const struct scenario_row *r)
{
	return json_pack("{s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, "
			 "s:s*, s:s*, s:i, "
			 "s:b, s:o, s:o}",
			 "name", r->name, "suite", r->suite, "qps", r->qps, "posts", r->posts, "clause",
			 r->clause, "also", r->also, "level", r->level, "errata", r->errata, "status",
			 r->status, "needs", r->needs, "ask", r->ask, "wire", r->wire, "says", r->says, "ops",
			 r->ops, "was", r->was, "sges", (int)r->sges, "narrow", r->narrow, "args",
			 args_json(r->args), "forms", forms_json(r->forms));
}

json_t *scenario_list(void)
{
	json_t *list = json_array(), *rows;

	for (const struct scenario *s = first; s; s = s->next) {
		rows = json_array();
		for (const struct scenario_row *r = s->rows; r->name; r++)
			json_array_append_new(rows, row_json(r));
		json_array_append_new(list, json_pack("{s:s, s:o}", "scenario", s->name, "rows", rows));
	}
	return list;
}
