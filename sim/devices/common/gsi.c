// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QP 1 and the alarm, which share an interrupt vector. */
#include "devices/common/common.h"

int common_send_mad(struct drv_device *dev, uint8_t port, const struct hca_av *av, const void *mad)
{
	return hca_gsi_send(dev->hca, port, av, mad);
}

void common_set_alarm(struct drv_device *dev, hca_ps at)
{
	hca_alarm(dev->hca, at);
}

void common_gsi_irq(const struct common_dev *n)
{
	struct hca_mad mad;

	while (hca_gsi_recv(n->dev->hca, &mad))
		n->up->mad(n->dev, &mad);
	n->up->alarm(n->dev);
}
