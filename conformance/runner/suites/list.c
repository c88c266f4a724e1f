/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lists with a bad request at any place: what the matrix judges of one posting holds for them, too. */
#include "kit.h"

static void as(struct kit *k, enum api api)
{
	struct cell cell = *k->cell;

	cell.api = api;
	cell.create = CREATE_OK;
	cell.post = POST_REFUSED;
	cell.bad_wr = kit_arg(k, "bad", 0);
	cell.event = -1;
	run_cell(k->r, &cell, k->res);
}

static void bad_send(struct kit *k)
{
	as(k, API_POST);
}

static void bad_recv(struct kit *k)
{
	as(k, API_RECV);
}

static void bad_srq_recv(struct kit *k)
{
	as(k, API_SRQ);
}

const struct scenario list_scenarios[] = {
	{"bad_send", bad_send},
	{"bad_recv", bad_recv},
	{"bad_srq_recv", bad_srq_recv},
	{NULL, NULL},
};
