// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the libibverbs that is loaded makes of the structures it shares with a provider, one line for each member: where
 * verbs_set_ops puts each operation, and where comp_mask of struct verbs_qp is (compare-layouts).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hcasim.h"

#define PRIVATE_SIZE 4096 /* of what verbs_context.priv points to: opaque to a provider */
#define ROOM         1024 /* behind a structure, for a release in which it is longer */
#define MARK         0x5eedULL

static void print_places(const char *what, const void *memory, size_t size)
{
	size_t at;

	for (at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t))
		if (*(const uint64_t *)((const uint8_t *)memory + at) == MARK)
			printf(" %s+%zu", what, at);
}

static void print_op(size_t op)
{
	uint64_t *ops = calloc(1, sizeof(struct verbs_context_ops) + ROOM);
	struct verbs_context *ctx = calloc(1, sizeof(*ctx) + ROOM);

	if (!ops || !ctx)
		abort();
	ctx->priv = calloc(1, PRIVATE_SIZE);
	ops[op] = MARK;
	verbs_set_ops(ctx, (const struct verbs_context_ops *)ops);
	printf("operation %zu:", op);
	print_places("context", ctx, sizeof(*ctx) + ROOM);
	print_places("private", ctx->priv, PRIVATE_SIZE);
	printf("\n");
	free(ctx->priv);
	free(ctx);
	free(ops);
}

int main(void)
{
	size_t op;

	for (op = 0; op < (sizeof(struct verbs_context_ops) + ROOM) / sizeof(uint64_t); op++)
		print_op(op);
	printf("sizeof(struct ibv_qp_ex): %zu\n", hcasim_qp_ex_size());
	return 0;
}
