/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

void log_call(struct log *log, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	json_array_append_new(log->calls, json_string(line));
}
