// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/driver.h"
#include "devices/family.h"
#include "hcasim_families.h"

/* Generated: one row for each folder. */
static const struct drv_ops *const families[] = {HCASIM_FAMILIES};

#define NUM_FAMILIES (sizeof(families) / sizeof(families[0]))

const struct drv_ops *device_family(const char *name)
{
	for (size_t i = 0; i < NUM_FAMILIES; i++) {
		if (!strcmp(families[i]->name, name) || !strcmp(families[i]->provider, name))
			return families[i];
	}
	return NULL;
}

static const struct drv_ops *named(const char *name, char *err, size_t err_size)
{
	const struct drv_ops *family = device_family(name);
	size_t len;

	if (family)
		return family;
	snprintf(err, err_size, "'%s': available are", name);
	for (size_t i = 0; i < NUM_FAMILIES; i++) {
		len = strlen(err);
		snprintf(err + len, err_size - len, " %s", families[i]->name);
	}
	return NULL;
}

static unsigned int by_number(const struct drv_ops *family, const char *text, const struct drv_ops **out,
			      char *err, size_t err_size)
{
	char *end;
	const unsigned long n = strtoul(text, &end, 0);

	if (*end || !n || n > DEVICE_MAX_HCAS) {
		snprintf(err, err_size, "'%s': a machine has 1 to %d adapters", text, DEVICE_MAX_HCAS);
		return 0;
	}
	for (unsigned long i = 0; i < n; i++)
		out[i] = family;
	return (unsigned int)n;
}

unsigned int device_families(const char *family, const char *hcas, const struct drv_ops *out[DEVICE_MAX_HCAS],
			     char *err, size_t err_size)
{
	const struct drv_ops *all = named(family, err, err_size);
	char names[256], *save = NULL, *name;
	unsigned int n = 0;

	if (!all)
		return 0;
	if (isdigit((unsigned char)*hcas))
		return by_number(all, hcas, out, err, err_size);
	snprintf(names, sizeof(names), "%s", hcas);
	for (name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		if (n == DEVICE_MAX_HCAS) {
			snprintf(err, err_size, "'%s': a machine has 1 to %d adapters", hcas,
				 DEVICE_MAX_HCAS);
			return 0;
		}
		out[n] = named(name, err, err_size);
		if (!out[n++])
			return 0;
	}
	if (!n)
		snprintf(err, err_size, "'%s': a machine has 1 to %d adapters", hcas, DEVICE_MAX_HCAS);
	return n;
}
