// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory, behind its own BAR. The CPU accesses it by stores and loads through that BAR, the engine directly. A
 * transfer to or from it is executed when it is issued, so all accesses of the engine keep their order, whatever time
 * they take.
 */
#include "core/memory/memory.h"

static uint32_t inside(const struct hca *hca, uint64_t offset, uint32_t size)
{
	const uint64_t end = hca->pers->dm.size;

	if (offset >= end)
		return 0;
	return size < end - offset ? size : (uint32_t)(end - offset);
}

void dm_write(struct hca *hca, uint64_t offset, const void *data, uint32_t size)
{
	size = inside(hca, offset, size);
	if (size)
		memcpy(hca->dm + offset, data, size);
}

void dm_read(const struct hca *hca, uint64_t offset, void *data, uint32_t size)
{
	const uint32_t known = inside(hca, offset, size);

	if (known)
		memcpy(data, hca->dm + offset, known);
	memset((uint8_t *)data + known, 0, size - known);
}

/* An access to the range of `op` that the operation is for. */
static bool operates(const struct hca *hca, enum hca_dm_op op, uint64_t offset, uint32_t size)
{
	return hca->pers->dm_ops & 1u << op && size == 1 && offset / hca->pers->dm.size == op + 1;
}

void dm_store(struct hca *hca, uint64_t offset, const void *data, uint32_t size)
{
	const uint64_t at = offset - (1 + HCA_DM_OP_ADD) * hca->pers->dm.size;

	if (operates(hca, HCA_DM_OP_ADD, offset, size))
		hca->dm[at] = (uint8_t)(hca->dm[at] + *(const uint8_t *)data);
	else
		dm_write(hca, offset, data, size);
}

void dm_load(struct hca *hca, uint64_t offset, void *data, uint32_t size)
{
	const uint64_t at = offset - (1 + HCA_DM_OP_TEST_SET) * hca->pers->dm.size;

	if (operates(hca, HCA_DM_OP_TEST_SET, offset, size)) {
		*(uint8_t *)data = hca->dm[at];
		hca->dm[at] = 1;
	} else {
		dm_read(hca, offset, data, size);
	}
}

void dm_move(struct hca *hca, struct hca_dma *dma)
{
	uint8_t *buf = dma->buf;
	uint32_t i;

	for (i = 0; i < dma->nseg; i++) {
		if (dma->write)
			dm_write(hca, dma->seg[i].addr, buf, dma->seg[i].len);
		else
			dm_read(hca, dma->seg[i].addr, buf, dma->seg[i].len);
		buf += dma->seg[i].len;
	}
}

void hca_dm_clear(struct hca *hca, uint64_t offset, uint64_t length)
{
	memset(hca->dm + offset, 0, length);
}
