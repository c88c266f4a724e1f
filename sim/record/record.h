/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The recorder of the device process. Its program is linked with the options of wraps.ld, by which calls of the driver
 * and of the process pass through here; their objects must not be part of a link-time optimisation, which would bind
 * these calls earlier.
 */
#ifndef HCASIM_RECORD_RECORD_H
#define HCASIM_RECORD_RECORD_H

#include "timing/machine.h"

/*
 * machine_create(), and from then on all stimulus and output of the machine goes to the file `path`. `family` (or one for each
 * adapter, with commas), `engine`: names, for replays. One per process.
 */
struct machine *record_machine(const char *path, const char *family, const char *engine,
			       struct machine_config cfg, const struct machine_host_ops *ops, void *ctx,
			       char *err, size_t err_size);
/* Before machine_destroy(): completes the file, if there is one. Says on stderr if it could not be written. */
void record_end(void);

#endif
