/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Preloaded into a program with libmlx5: refuses to open a context with a request that says what the library can do
 * (lib_caps), as kernels before that field did. libmlx5 then opens it with a shorter one, and gets static user access
 * pages. HCASIM_OLD_KERNEL: a file that gets a byte for each one that was refused.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#define LONGEST                                                                                              \
	(sizeof(struct ib_uverbs_cmd_hdr) + sizeof(struct ib_uverbs_get_context) +                           \
	 offsetof(struct mlx5_ib_alloc_ucontext_req_v2, lib_caps))

/* What follows cmd_size differs between releases; it is passed on as it is. */
int ibv_cmd_get_context(void *context, void *cmd, size_t cmd_size, void *a, void *b, void *c)
{
	int (*real)(void *, void *, size_t, void *, void *, void *) = dlsym(RTLD_NEXT, "ibv_cmd_get_context");
	const char *path = getenv("HCASIM_OLD_KERNEL");
	int told;

	if (cmd_size <= LONGEST)
		return real(context, cmd, cmd_size, a, b, c);
	told = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (told < 0 || write(told, "", 1) != 1)
		abort();
	close(told);
	return errno = EOPNOTSUPP;
}
