// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stddef.h>
#include <string.h>

#include "devices/driver.h"
#include "devices/family.h"
#include "devices/native/driver.h"

const struct drv_ops *device_family(const char *name)
{
	static const struct {
		const char *name;
		const struct drv_ops *ops;
	} families[] = {{"native", &native_drv_ops}};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strcmp(families[i].name, name))
			return families[i].ops;
	return NULL;
}
