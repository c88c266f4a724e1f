/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The watchdog counts processor time of a thread, not elapsed time. */
#include <time.h>
#include <unistd.h>

#include "judge/watchdog.h"
#include "suites.h"

#define MS 5

static void sleeps(void)
{
	struct timespec pause = {.tv_nsec = 10 * MS * 1000000};
	struct watchdog p = watchdog(MS);

	nanosleep(&pause, NULL); /* the measured interval: wall time passes, this thread uses no processor */
	CU_ASSERT_FALSE(watchdog_expired(&p));
	CU_ASSERT_FALSE(watchdog_lost());
}

static void spins(void)
{
	struct timespec before, after;
	struct watchdog p = watchdog(MS);

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	while (!watchdog_expired(&p))
		;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	CU_ASSERT((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >=
		  MS * 1000000 / 2);
	CU_ASSERT_TRUE(watchdog_lost());
	CU_ASSERT_FALSE(watchdog_lost()); /* reported once */
}

static void reads(void)
{
	int fd[2];

	CU_ASSERT_EQUAL_FATAL(pipe(fd), 0);
	CU_ASSERT_FALSE(watchdog_readable(fd[0], 0));
	CU_ASSERT_FALSE(watchdog_lost()); /* no wait has expired */
	CU_ASSERT_FALSE(watchdog_readable(fd[0], MS));
	CU_ASSERT_TRUE(watchdog_lost());
	CU_ASSERT_EQUAL(write(fd[1], "x", 1), 1);
	CU_ASSERT_TRUE(watchdog_readable(fd[0], 0));
	CU_ASSERT_TRUE(watchdog_readable(fd[0], MS));
	CU_ASSERT_FALSE(watchdog_lost());
	close(fd[0]);
	close(fd[1]);
}

CU_TestInfo watchdog_tests[] = {
	{"a thread that sleeps loses none", sleeps},
	{"a thread that spins does", spins},
	{"a descriptor is waited for", reads},
	CU_TEST_INFO_NULL,
};
