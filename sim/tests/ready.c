/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Preloaded into a server under test. When the server has called listen(), rdma_listen() or rlisten(), has
 * joined a multicast group or begins to wait for a datagram (rrecvfrom()), one byte is written to the
 * descriptor in HCASIM_READY_FD. So the test can start the client as soon as the server is ready, without
 * guessing. HCASIM_READY_CALLS: number of such calls after which the server is ready (default 1).
 *
 * Some programs connect without waiting for the server's rdma_listen(): perftest -R connects a second time,
 * and qperf's server announces its port before it listens. With HCASIM_READY_GATE both programs preload this
 * library: the server reports each call, and before its HCASIM_GATE_CALL-th connection (0: before each) the
 * client waits for the next call, at the descriptor HCASIM_GATE_FD.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct ibv_qp;
union ibv_gid;
struct rdma_cm_id;
struct rdma_conn_param;
int rdma_listen(struct rdma_cm_id *id, int backlog);
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param);
int rlisten(int fd, int backlog);
ssize_t rrecvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *from, socklen_t *len);
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* DAPL loads librdmacm with local scope, so RTLD_NEXT does not search it. */
static void *next(const char *name)
{
	void *real = dlsym(RTLD_NEXT, name);

	return real ? real : dlsym(dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_NOLOAD), name);
}

static int tell(int ret)
{
	const char *ready = getenv("HCASIM_READY_FD"), *calls = getenv("HCASIM_READY_CALLS");
	static int done;

	if (!ret && ready && ++done >= (calls ? atoi(calls) : 1) && write(atoi(ready), "", 1) == 1 &&
	    !getenv("HCASIM_READY_GATE"))
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
	int (*real)(struct rdma_cm_id *, int) = next("rdma_listen");

	return tell(real(id, backlog));
}

int rlisten(int fd, int backlog)
{
	int (*real)(int, int) = dlsym(RTLD_NEXT, "rlisten");

	return tell(real(fd, backlog));
}

ssize_t rrecvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *from, socklen_t *len)
{
	ssize_t (*real)(int, void *, size_t, int, struct sockaddr *, socklen_t *) =
		dlsym(RTLD_NEXT, "rrecvfrom");

	tell(0);
	return real(fd, buf, size, flags, from, len);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int (*real)(struct ibv_qp *, const union ibv_gid *, uint16_t) = dlsym(RTLD_NEXT, "ibv_attach_mcast");

	return tell(real(qp, gid, lid));
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *, struct rdma_conn_param *) = dlsym(RTLD_NEXT, "rdma_connect");
	const char *gate = getenv("HCASIM_GATE_FD");
	static int calls;
	int only = gate ? atoi(getenv("HCASIM_GATE_CALL")) : 0;
	char byte;

	if (gate && (++calls == only || !only) && read(atoi(gate), &byte, 1) != 1)
		return -1;
	return real(id, param);
}
