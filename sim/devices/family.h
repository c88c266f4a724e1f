/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device families, by name. */
#ifndef HCASIM_DEVICES_FAMILY_H
#define HCASIM_DEVICES_FAMILY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct drv_ops;

#define DEVICE_FAMILY_DEFAULT "native"
#define DEVICE_MAX_HCAS       16

/*
 * The driver half of a family; its formats are drv_ops.personality (devices/driver.h). `name`: drv_ops.name, or that
 * of its provider. NULL: there is no such family.
 */
const struct drv_ops *device_family(const char *name);

/* 0, or -EINVAL with a message: it lacks an operation or a format that it must have. */
int device_family_check(const struct drv_ops *ops, char *err, size_t err_size);

/*
 * The adapters of a machine: `hcas` is their number, all of `family`, or the family of each one, separated by commas.
 * Returns how many; 0: `err` says why not.
 */
unsigned int device_families(const char *family, const char *hcas, const struct drv_ops *out[DEVICE_MAX_HCAS],
			     char *err, size_t err_size);

#ifdef __cplusplus
}
#endif
#endif
