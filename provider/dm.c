// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory, mapped from its BAR. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <util/mmio.h>

#include "hcasim.h"

static int check_copy(const struct hcasim_dm *dm, uint64_t offset, size_t length)
{
	if (offset > dm->length || length > dm->length - offset)
		return EFAULT;
	return offset % HCASIM_DM_ALIGN || length % HCASIM_DM_ALIGN ? EINVAL : 0;
}

/* The largest aligned access for the rest of a copy at this offset: a BAR takes aligned accesses only. */
static size_t piece(uint64_t offset, size_t left)
{
	return offset % sizeof(__le64) || left < sizeof(__le64) ? sizeof(__le32) : sizeof(__le64);
}

static int hcasim_memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *host, size_t length)
{
	const struct hcasim_dm *dm = to_hdm(ibdm);
	const uint8_t *from = host;
	size_t n;
	int err;

	err = check_copy(dm, offset, length);
	if (err)
		return err;
	mmio_wc_start();
	for (; length; offset += n, from += n, length -= n) {
		__le64 wide;
		__le32 narrow;

		n = piece(offset, length);
		if (n == sizeof(wide)) {
			memcpy(&wide, from, n);
			mmio_write64_le(dm->map.addr + offset, wide);
		} else {
			memcpy(&narrow, from, n);
			mmio_write32_le(dm->map.addr + offset, narrow);
		}
	}
	/* The copy is complete before anything that is posted next. */
	mmio_flush_writes();
	return 0;
}

static int hcasim_memcpy_from_dm(void *host, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	const struct hcasim_dm *dm = to_hdm(ibdm);
	uint8_t *to = host;
	size_t n;
	int err;

	err = check_copy(dm, offset, length);
	if (err)
		return err;
	for (; length; offset += n, to += n, length -= n) {
		__le64 wide;
		__le32 narrow;

		n = piece(offset, length);
		if (n == sizeof(wide)) {
			wide = mmio_read64_le(dm->map.addr + offset);
			memcpy(to, &wide, n);
		} else {
			narrow = mmio_read32_le(dm->map.addr + offset);
			memcpy(to, &narrow, n);
		}
	}
	return 0;
}

/* Response of the driver for memory that was allocated or imported. */
static int start_dm(struct ibv_context *ibctx, struct hcasim_dm *dm, const struct hcasim_alloc_dm_resp *resp)
{
	dm->length = resp->length;
	dm->vdm.dm.memcpy_to_dm = hcasim_memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = hcasim_memcpy_from_dm;
	return hcasim_map_device(ibctx, &dm->map, resp->mmap_offset, resp->mmap_size);
}

struct ibv_dm *hcasim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr)
{
	DECLARE_COMMAND_BUFFER(driver, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, 1);
	struct hcasim_alloc_dm_resp resp = {};
	struct hcasim_dm *dm;
	int err;

	if (!check_comp_mask(attr->comp_mask, 0))
		return hcasim_failed(NULL, EOPNOTSUPP);
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_out_ptr(driver, HCASIM_ATTR_ALLOC_DM_RESP, &resp);
	err = ibv_cmd_alloc_dm(ibctx, attr, &dm->vdm, driver);
	if (err)
		goto err_free;
	err = start_dm(ibctx, dm, &resp);
	if (err)
		goto err_cmd;
	return &dm->vdm.dm;

err_cmd:
	ibv_cmd_free_dm(&dm->vdm);
err_free:
	return hcasim_failed(dm, err);
}

int hcasim_free_dm(struct ibv_dm *ibdm)
{
	struct hcasim_dm *dm = to_hdm(ibdm);
	int err;

	err = ibv_cmd_free_dm(&dm->vdm);
	if (err)
		return err;
	hcasim_unmap(&dm->map);
	free(dm);
	return 0;
}

struct ibv_dm *hcasim_import_dm(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, HCASIM_METHOD_DM_QUERY, 2);
	struct hcasim_alloc_dm_resp resp = {};
	struct hcasim_dm *dm;
	int err;

	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_in_obj(cmd, HCASIM_ATTR_DM_QUERY_HANDLE, handle);
	fill_attr_out_ptr(cmd, HCASIM_ATTR_DM_QUERY_RESP, &resp);
	err = execute_ioctl(ibctx, cmd);
	if (!err)
		err = start_dm(ibctx, dm, &resp);
	if (err)
		return hcasim_failed(dm, err);
	dm->vdm.handle = dm->vdm.dm.handle = handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = ibctx;
	return &dm->vdm.dm;
}

void hcasim_unimport_dm(struct ibv_dm *ibdm)
{
	struct hcasim_dm *dm = to_hdm(ibdm);

	hcasim_unmap(&dm->map);
	free(dm);
}

struct ibv_mr *hcasim_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm, uint64_t offset, size_t length,
				unsigned int access)
{
	struct verbs_mr *vmr;
	int err;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dm_mr(ibpd, &to_hdm(ibdm)->vdm, offset, length, access, vmr, NULL);
	if (err)
		return hcasim_failed(vmr, err);
	return &vmr->ibv_mr;
}
