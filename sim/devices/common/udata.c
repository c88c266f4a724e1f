// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The driver's private part of commands and responses. */
#include <errno.h>
#include <string.h>

#include "devices/common/common.h"

void common_udata_put(struct drv_udata *u, const void *resp, size_t len)
{
	if (len > u->out_len)
		len = u->out_len;
	if (len)
		memcpy(u->out, resp, len);
	u->out_used = len;
}

int common_udata_get(const struct drv_udata *u, void *req, size_t len)
{
	const uint8_t *in = u->in;

	if (u->in_len < len)
		return -EINVAL;
	for (size_t i = len; i < u->in_len; i++) {
		if (in[i])
			return -EOPNOTSUPP;
	}
	memcpy(req, in, len);
	return 0;
}
