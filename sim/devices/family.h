/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device families, by name. */
#ifndef HCASIM_DEVICES_FAMILY_H
#define HCASIM_DEVICES_FAMILY_H

#ifdef __cplusplus
extern "C" {
#endif

struct drv_ops;

#define DEVICE_FAMILY_DEFAULT "native"

/* The driver half of a family; its formats are drv_ops.personality (devices/driver.h). NULL: there is no such family. */
const struct drv_ops *device_family(const char *name);

#ifdef __cplusplus
}
#endif
#endif
