// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QP 1 and the alarm, which share an interrupt vector, and the GID table. */
#include "driver.h"

int native_set_gid(struct drv_device *dev, uint8_t port, unsigned int index, const uint8_t gid[16])
{
	return hca_gid_set(dev->hca, port, index, gid);
}

int native_send_mad(struct drv_device *dev, uint8_t port, const struct hca_av *av, const void *mad)
{
	return hca_gsi_send(dev->hca, port, av, mad);
}

void native_set_alarm(struct drv_device *dev, hca_ps at)
{
	hca_alarm(dev->hca, at);
}

void native_gsi_irq(struct native_dev *n)
{
	struct hca_mad mad;

	while (hca_gsi_recv(n->dev->hca, &mad))
		n->up->mad(n->dev, &mad);
	n->up->alarm(n->dev);
}
