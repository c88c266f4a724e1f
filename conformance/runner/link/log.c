/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <stdarg.h>
#include <stdio.h>

#include "link/log.h"

void log_call(struct log *log, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	json_array_append_new(log->calls, json_string(line));
}

/* Consecutive elements of the same length are one line. */
static void log_run(struct log *log, const struct log_list *list, unsigned int at, unsigned int num,
		    uint32_t offset, uint32_t length)
{
	char place[64], element[128];

	if (num > 1)
		snprintf(place, sizeof(place), "%u + i * %u", offset, length);
	else
		snprintf(place, sizeof(place), "%u", offset);
	if (list->lkey)
		snprintf(element, sizeof(element), "(struct ibv_sge){(uintptr_t)%s + %s, %u, %s}", list->addr,
			 place, length, list->lkey);
	else
		snprintf(element, sizeof(element), "(struct ibv_data_buf){(char *)%s + %s, %u}", list->addr,
			 place, length);
	if (num > 1)
		log_call(log, "for (int i = 0; i < %u; i++) %s[%u + i] = %s", num, list->name, at, element);
	else
		log_call(log, "%s[%u] = %s", list->name, at, element);
}

void log_sges(struct log *log, const struct log_list *list, const struct ibv_sge *sge, unsigned int num)
{
	uint32_t offset = 0;

	for (unsigned int i = 0, same; i < num; i += same) {
		for (same = 1; i + same < num && sge[i + same].length == sge[i].length;)
			same++;
		log_run(log, list, list->first + i, same, offset, sge[i].length);
		offset += same * sge[i].length;
	}
}
