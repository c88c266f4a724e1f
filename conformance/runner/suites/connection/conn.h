/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the scenarios of connections: a listener, a client's id and a server's id, all in this process. */
#ifndef CONFORM_CONN_H
#define CONFORM_CONN_H

#include "link/cm.h"
#include "suites/kit.h"

#define MOST_DATA 256

struct conn {
	struct kit *k;
	struct cm cm;
	struct rdma_cm_event *event;
	uint8_t data[MOST_DATA];
};

/* False if the server is in another process: it only knows the connection of rdma_post_writev(). */
bool conn_in_one_process(struct kit *k);
/* Up to rdma_connect(). conn_finish() is called in any case. */
bool conn_begin(struct conn *c, struct kit *k);
void conn_finish(struct conn *c);
/* Waits for the next event, which must be this one; it is acknowledged by the next call and by the end. */
bool conn_event(struct conn *c, enum rdma_cm_event_type type);
/* The request; the server's id is that of the event, which stays unacknowledged. */
bool conn_request(struct conn *c, struct rdma_conn_param *param);
bool conn_server_qp(struct conn *c);
bool conn_accept(struct conn *c, struct rdma_conn_param *param);
struct rdma_conn_param conn_values(int responder, int initiator, int flow, int retry, int rnr);
/* A call that must return -1 and set errno, to this value unless it is 0. The caller clears errno before the call. */
bool conn_fails(struct kit *k, const char *call, int ret, int want);

#endif
