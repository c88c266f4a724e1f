// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mappings of the device file that several queues share; the driver chooses the mapping for a queue. */
#include <errno.h>
#include <stdlib.h>

#include "hcasim.h"

/* The driver never uses an offset for two mappings, and has few mappings: each holds up to a thousand queues. */
static struct hcasim_chunk *find(struct hcasim_context *ctx, uint64_t offset)
{
	struct hcasim_chunk *chunk = ctx->chunks;

	while (chunk && chunk->offset != offset)
		chunk = chunk->next;
	return chunk;
}

static struct hcasim_chunk *map_chunk(struct hcasim_context *ctx, uint64_t offset, uint64_t size, int *err)
{
	struct hcasim_chunk *chunk = calloc(1, sizeof(*chunk));

	*err = ENOMEM;
	if (!chunk)
		return NULL;
	*err = hcasim_map_device(&ctx->ibv_ctx.context, &chunk->map, offset, size);
	if (*err) {
		free(chunk);
		return NULL;
	}
	chunk->offset = offset;
	chunk->next = ctx->chunks;
	ctx->chunks = chunk;
	return chunk;
}

struct hcasim_chunk *hcasim_chunk_get(struct hcasim_context *ctx, uint64_t offset, uint64_t size, int *err)
{
	struct hcasim_chunk *chunk;

	pthread_mutex_lock(&ctx->chunk_lock);
	chunk = find(ctx, offset);
	if (!chunk)
		chunk = map_chunk(ctx, offset, size, err);
	if (chunk)
		chunk->refs++;
	pthread_mutex_unlock(&ctx->chunk_lock);
	return chunk;
}

void hcasim_chunk_put(struct hcasim_context *ctx, struct hcasim_chunk *chunk)
{
	struct hcasim_chunk **at;
	bool last;

	if (!chunk)
		return;
	pthread_mutex_lock(&ctx->chunk_lock);
	last = !--chunk->refs;
	if (last) {
		for (at = &ctx->chunks; *at != chunk;)
			at = &(*at)->next;
		*at = chunk->next;
	}
	pthread_mutex_unlock(&ctx->chunk_lock);
	if (last) {
		hcasim_unmap(&chunk->map);
		free(chunk);
	}
}
