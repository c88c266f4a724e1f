// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* From an object's number to the driver's own: the adapter gives numbers densely, so this is an array. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices/common/common.h"

#define FIRST_SIZE 64u

static int grow(struct common_objects *t, uint32_t number)
{
	uint32_t size = t->size ? t->size : FIRST_SIZE;
	void **obj;

	while (size <= number)
		size *= 2;
	obj = realloc(t->obj, size * sizeof(*obj));
	if (!obj)
		return -ENOMEM;
	memset(obj + t->size, 0, (size - t->size) * sizeof(*obj));
	t->obj = obj;
	t->size = size;
	return 0;
}

int common_enter(struct common_objects *t, uint32_t number, void *obj)
{
	if (number >= t->size) {
		int ret = grow(t, number);

		if (ret)
			return ret;
	}
	t->obj[number] = obj;
	return 0;
}

void *common_find(const struct common_objects *t, uint32_t number)
{
	return number < t->size ? t->obj[number] : NULL;
}
