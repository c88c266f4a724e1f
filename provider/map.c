// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mappings of the device file: queue memory, user access pages. */
#include <errno.h>
#include <sys/mman.h>

#include "hcasim.h"

int hcasim_map_device(struct ibv_context *ibctx, struct hcasim_map *map, uint64_t offset, uint64_t size)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ibctx->cmd_fd, offset);

	if (addr == MAP_FAILED) {
		int err = errno;

		verbs_err(verbs_get_ctx(ibctx), "mmap of %llu bytes at device offset 0x%llx: errno %d\n",
			  (unsigned long long)size, (unsigned long long)offset, err);
		return err;
	}
	map->addr = addr;
	map->size = size;
	return 0;
}

void hcasim_unmap(struct hcasim_map *map)
{
	munmap(map->addr, map->size);
}

int hcasim_map_uar(struct hcasim_context *ctx, struct hcasim_uar *uar, uint32_t index)
{
	struct hcasim_map map = {};
	int err;

	err = hcasim_map_device(&ctx->ibv_ctx.context, &map,
				ctx->uar_mmap_offset + (uint64_t)index * HCASIM_UAR_PAGE_SIZE,
				HCASIM_UAR_PAGE_SIZE);
	if (err)
		return err;
	uar->page = map.addr;
	uar->index = index;
	uar->use_bf = !check_env("HCASIM_NO_BF");
	return 0;
}

void hcasim_unmap_uar(struct hcasim_uar *uar)
{
	munmap(uar->page, HCASIM_UAR_PAGE_SIZE);
}
