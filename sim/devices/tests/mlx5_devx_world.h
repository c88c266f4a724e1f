/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An adapter with one context that may use DEVX, and calls of its methods. */
#ifndef HCASIM_TESTS_MLX5_DEVX_WORLD_H
#define HCASIM_TESTS_MLX5_DEVX_WORLD_H

#include "devices/mlx5/devx/devx.h"

#define CAP_OUT (sizeof(struct hcasim_mlx5_cmd_out) + HCASIM_MLX5_HCA_CAP_SIZE)

struct devx_world {
	struct hca_config cfg;
	struct drv_device dev;
	struct mlx5_ucontext ctx;
	union { /* one of verbs */
		struct drv_qp qp;
		struct mlx5_qp mlx5_qp;
	};
};
extern struct devx_world w;

int devx_world_init(void);
int devx_world_exit(void);
/* Opens the context again: 0, or the driver's error. */
int devx_open(uint32_t flags);
void devx_set_state(uint8_t state);

/* A call: a command, an answer, and an object. */
struct devx_call {
	struct drv_call base;
	const void *in; /* exactly as long as it says: reading further is an error of the sanitizer */
	uint16_t in_id;
	size_t in_len, out_len;
	uint8_t out[CAP_OUT + 64];
	bool answered;
	void *object;
	uint16_t type;
	unsigned int held; /* objects that the new one uses */
};

/* A command of its own, for a method of a command, or attributes that devx_call has. */
int devx_run(struct devx_call *c, int (*handler)(struct drv_call *c), const void *in, size_t in_len,
	     size_t out_len);
struct hcasim_mlx5_cmd_out devx_answer(const struct devx_call *c);
struct hcasim_mlx5_cmd_in devx_command(uint16_t opcode, uint16_t op_mod);
/* The firmware refuses the command, and nothing is left of it. */
void devx_fails(int (*handler)(struct drv_call *c), const void *in, size_t in_len, size_t out_len,
		uint8_t status);

/* Memory of the program, which nothing reads here: what is above DEVX_UNMAPPED is not mapped. */
#define DEVX_BUFFER   0x100000ull
#define DEVX_BYTES    0x20000ull
#define DEVX_UNMAPPED 0x900000ull

struct umem_call {
	struct drv_call base;
	uint64_t addr, length, access, sizes;
	bool has_access, has_sizes;
	uint32_t id;
	struct mlx5_umem *umem;
};

/* A registration that is accepted. */
struct umem_call devx_memory(void);
int devx_reg_umem(struct umem_call *u);
void devx_free_umem(struct umem_call *u);

#endif
