/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "execute/execute.h"

void seen(struct result *res, const char *fmt, ...)
{
	size_t used = strlen(res->seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(res->seen + used, sizeof(res->seen) - used, fmt, ap);
	va_end(ap);
}
