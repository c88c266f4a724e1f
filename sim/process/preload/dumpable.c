// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device process reads and writes the memory of programs, which the kernel refuses for a process that is not
 * dumpable. So a program on the machine's adapters stays dumpable, and prctl() answers what the program has set.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "process/preload/preload.h"

#define NOT_SET -1

static atomic_int told = NOT_SET; /* what the program believes */
static atomic_bool made;

void dumpable_make(void)
{
	const int now = (int)raw_syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
	int unset = NOT_SET;

	atomic_store(&made, true);
	if (now == 1)
		return;
	atomic_compare_exchange_strong(&told, &unset, now);
	raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

PRELOAD_API int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_DUMPABLE && arg[0] <= 1 && atomic_load(&made)) {
		atomic_store(&told, (int)arg[0]);
		return 0;
	}
	if (option == PR_GET_DUMPABLE && atomic_load(&told) != NOT_SET)
		return atomic_load(&told);
	if (option == PR_SET_DUMPABLE)
		atomic_store(&told, NOT_SET);
	return (int)raw_syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}
