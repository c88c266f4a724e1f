// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mappings of the device file that several queues share; the driver chooses the mapping for a queue. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hcasim.h"

static struct hcasim_chunk **bucket_of(struct hcasim_context *ctx, uint64_t offset)
{
	/* Offsets are page-aligned and differ mostly in their high bits: multiply to spread them. */
	return &ctx->chunks[(offset >> 12) * 2654435761u / HCASIM_CHUNK_BUCKETS % HCASIM_CHUNK_BUCKETS];
}

/* Only a mapping of the same offset and size is the same mapping. */
static struct hcasim_chunk *find(struct hcasim_context *ctx, uint64_t offset, uint64_t size)
{
	struct hcasim_chunk *chunk = *bucket_of(ctx, offset);

	while (chunk && (chunk->offset != offset || chunk->map.size != size))
		chunk = chunk->next;
	return chunk;
}

static struct hcasim_chunk *map_chunk(struct hcasim_context *ctx, uint64_t offset, uint64_t size, int *err)
{
	struct hcasim_chunk **bucket = bucket_of(ctx, offset);
	struct hcasim_chunk *chunk = calloc(1, sizeof(*chunk));

	*err = ENOMEM;
	if (!chunk)
		return NULL;
	*err = hcasim_map_device(&ctx->ibv_ctx.context, &chunk->map, offset, size, PROT_READ | PROT_WRITE);
	if (*err) {
		free(chunk);
		return NULL;
	}
	chunk->offset = offset;
	chunk->next = *bucket;
	*bucket = chunk;
	return chunk;
}

struct hcasim_chunk *hcasim_chunk_get(struct hcasim_context *ctx, uint64_t offset, uint64_t size, int *err)
{
	struct hcasim_chunk *chunk;

	pthread_mutex_lock(&ctx->chunk_lock);
	chunk = find(ctx, offset, size);
	if (!chunk)
		chunk = map_chunk(ctx, offset, size, err);
	if (chunk) {
		chunk->refs++;
		*err = 0;
	}
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
		for (at = bucket_of(ctx, chunk->offset); *at != chunk;)
			at = &(*at)->next;
		*at = chunk->next;
	}
	pthread_mutex_unlock(&ctx->chunk_lock);
	if (last) {
		hcasim_unmap(&chunk->map);
		free(chunk);
	}
}
