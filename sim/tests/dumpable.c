// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program that is not dumpable, so that no process of its user may read its memory: `hcasim-dumpable before|after|never`.
 * It sets that before it opens the device, or before it posts. Its data arrives, and prctl() says what it has set.
 */
#include <sys/prctl.h>

#include "link.h"

#define BYTES 3000u

static void set_now(const char *when, const char *now)
{
	if (!strcmp(when, now))
		CHECK(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
	const char *when = argc == 2 ? argv[1] : "never";
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	struct link l;
	struct pair p;

	set_now(when, "before");
	link_open(&l, BYTES);
	pair_open(&p, &l);
	set_now(when, "after");
	memset(l.buf[0], 7, BYTES);
	pair_post_write(&p, 1, BYTES);
	CHECK(link_wait(p.cq[0]).status == IBV_WC_SUCCESS);
	CHECK(!memcmp(l.buf[0], l.buf[1], BYTES));
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == (strcmp(when, "never") ? 0 : dumpable));
	CHECK(!prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_SET_DUMPABLE, 7, 0, 0, 0) == -1 && errno == EINVAL);
	pair_close(&p);
	link_close(&l);
	printf("dumpable: %d\n", dumpable);
	return 0;
}
