/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two ends of the device under test, as its DUT file names them. Both may be the same adapter; the responder's may
 * be in a peer process (remote/remote.h).
 */
#ifndef CONFORM_DUT_H
#define CONFORM_DUT_H

#include <stdbool.h>

#include <jansson.h>
#include <infiniband/verbs.h>

#include "link/made.h"

struct end {
	char device[64];
	uint8_t port;
	int gid_index;
	char address[64]; /* for rdma_cm; empty: none */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port_attr;
	uint64_t clock_khz; /* of the raw clock; 0: there is none */
	union ibv_gid gid;
	bool roce_v1; /* packets from this GID are RoCEv1; of an end of this process */
};

struct dut {
	struct end requester, responder;
	enum ibv_mtu mtu;        /* of the paths: the smallest of both ports' and the DUT file's */
	unsigned int timeout_ms; /* how long a completion may take */
	bool tap;                /* the links are recorded: report what was posted, and when */
	bool remote;             /* the responder's end is in a peer process */
	struct {
		int invalid, full; /* errno of the requester's and responder's refusals of postings; 0: any */
	} refusal;
};

#define DUT_WRONG -2 /* there is no such device, port, GID or peer */

/*
 * Opens one end: a device of this machine, its port and its address. 0, DUT_WRONG, or -1 if the device fails; and a
 * message that names the device.
 */
int end_open(struct end *end, char *err, size_t err_size);
void end_close(struct end *end);
/* IBV_GID_TYPE_IB also if it is not known. */
enum ibv_gid_type end_gid_type(const struct end *end, int index);

/* Opens both ends. As end_open(); the message names the field or the device. */
int dut_open(struct dut *dut, json_t *desc, char *err, size_t err_size);
/* The requester's own time in nanoseconds (ibv_query_rt_values_ex(3)); -1: it has no clock. */
int64_t dut_clock(const struct dut *dut);
/* The same in ticks. */
bool dut_ticks(const struct end *end, uint64_t *ticks);
/* 0, or -1 and a message if the peer process failed at its end. */
int dut_close(struct dut *dut, char *err, size_t err_size);

#endif
