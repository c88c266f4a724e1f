/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include "suites/kit.h"

void run_suite_cell(struct runner *r, const struct cell *cell, struct result *res)
{
	const struct scenario *s = scenario_find(cell->scenario);
	struct kit kit = {.r = r, .cell = cell, .res = res, .l = &r->link};

	link_destroy(kit.l); /* of an earlier cell */
	made_begin();
	kit.wrong = (unsigned int)kit_arg(&kit, "wrong", 0);
	if (s && kit_family(&kit))
		s->run(&kit);
	else if (!s)
		fault(&res->verdict, "the runner has no scenario '%s'", cell->scenario);
	kit_unmake(&kit);
	made_end(&(int){0});
	if (kit.wrong > kit.checks)
		fault(&res->verdict, "check %u is to be wrong, the scenario has %u", kit.wrong, kit.checks);
}
