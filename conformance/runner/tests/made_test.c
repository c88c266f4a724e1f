/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a scenario has made ends with it, the last first; a failure is named. */
#include <errno.h>
#include <string.h>

#include "link/made.h"
#include "suites.h"

static char ended[8];

static int end(void *object)
{
	const char letter[] = {*(const char *)object, 0};

	strcat(ended, letter);
	return letter[0] == 'x' ? EBUSY : letter[0] == 'y' ? EINVAL : 0;
}

static const char *make_and_end(char *letters, int *err)
{
	*ended = 0;
	*err = 0;
	made_begin();
	for (char *c = letters; *c; c++)
		made_later(end, *c == 'x' ? "end of x" : "end", c);
	return made_end(err);
}

static void reverse(void)
{
	char letters[] = "abc";
	int err;

	CU_ASSERT_PTR_NULL(make_and_end(letters, &err));
	CU_ASSERT_STRING_EQUAL(ended, "cba");
	CU_ASSERT_PTR_NULL(made_end(&err)); /* nothing is left */
	CU_ASSERT_STRING_EQUAL(ended, "cba");
}

static void failures(void)
{
	char letters[] = "ayxb";
	int err;

	CU_ASSERT_STRING_EQUAL(make_and_end(letters, &err), "end of x");
	CU_ASSERT_EQUAL(err, EBUSY);
	CU_ASSERT_STRING_EQUAL(ended, "bxya"); /* the others end all the same */
}

static void forgotten(void)
{
	char letters[] = "abc";
	int err;

	*ended = 0;
	made_begin();
	made_later(end, "end", &letters[0]);
	made_later(end, "end", &letters[1]);
	made_later(end, "end", &letters[2]);
	made_forget(&letters[1]);
	made_forget(&letters[1]);
	CU_ASSERT_PTR_NULL(made_end(&err));
	CU_ASSERT_STRING_EQUAL(ended, "ca");
}

static void outside(void)
{
	char letter = 'a';
	int err;

	*ended = 0;
	made_later(end, "end", &letter);
	made_begin();
	CU_ASSERT_PTR_NULL(made_end(&err));
	CU_ASSERT_STRING_EQUAL(ended, "");
}

static void memory(void)
{
	uint8_t *zeros;
	int err;

	made_begin();
	zeros = made_zeroed(3, 5);
	CU_ASSERT_PTR_NOT_NULL_FATAL(zeros);
	CU_ASSERT_EQUAL(zeros[0] | zeros[14], 0);
	made_free(made_zeroed(1, 1));
	CU_ASSERT_PTR_NULL(made_end(&err)); /* a sanitizer reports what is not freed, or twice */
}

CU_TestInfo made_tests[] = {
	{"the last ends first", reverse},           {"a failure is named, and stops nothing", failures},
	{"what has ended is forgotten", forgotten}, {"nothing is recorded outside a scenario", outside},
	{"memory is zero and freed", memory},       CU_TEST_INFO_NULL,
};
