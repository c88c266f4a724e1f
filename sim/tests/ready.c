/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Preloaded into a server under test: when the server has called listen(), rdma_listen() or joined a multicast
 * group, one byte goes to the descriptor that HCASIM_READY_FD names. So a client is started neither too early
 * nor after a guess.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct ibv_qp;
union ibv_gid;
struct rdma_cm_id;
int rdma_listen(struct rdma_cm_id *id, int backlog);
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

static int tell(int ret)
{
	const char *ready = getenv("HCASIM_READY_FD");

	if (!ret && ready && write(atoi(ready), "", 1) == 1)
		unsetenv("HCASIM_READY_FD");
	return ret;
}

int listen(int fd, int backlog)
{
	int (*real)(int, int) = dlsym(RTLD_NEXT, "listen");

	return tell(real(fd, backlog));
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	int (*real)(struct rdma_cm_id *, int) = dlsym(RTLD_NEXT, "rdma_listen");

	return tell(real(id, backlog));
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int (*real)(struct ibv_qp *, const union ibv_gid *, uint16_t) = dlsym(RTLD_NEXT, "ibv_attach_mcast");

	return tell(real(qp, gid, lid));
}
