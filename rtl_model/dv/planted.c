// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The fault that is active in models with planted faults (plant.py). */
#include <stdlib.h>

int hcasim_fault(void);

/* Its number in faults.txt; 0: none. */
int hcasim_fault(void)
{
	const char *number = getenv("HCASIM_RTL_FAULT");

	return number ? atoi(number) : 0;
}
