/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* rdma_cm files and their commands, as librdmacm sends them. */
#ifndef HCASIM_KERNEL_TESTS_CM_FIXTURE_H
#define HCASIM_KERNEL_TESTS_CM_FIXTURE_H

#include <arpa/inet.h>

#include "harness.h"
#include "bench.h"
#include "kernel/rdma_cm/ucma.h"

#define HERE  "10.77.0.1" /* address of the first adapter */
#define THERE "10.77.0.2" /* address of the second adapter */

struct cm_file {
	struct kfile *f;
	int device, app; /* ends of the socket pair */
};

void cm_open(struct cm_file *c);
void cm_close(struct cm_file *c); /* as the exit of its process does */
/* Runs one command and drains the socket as the reply says. Returns 0 or the negative errno. */
int cm_cmd(struct cm_file *c, uint32_t cmd, const void *req, size_t len, void *resp, size_t resp_len);
/* Runs the machine, then gets an event. Returns its type or the negative errno. */
int cm_event(struct cm_file *c, struct rdma_ucm_event_resp *e);
/* True if no event waits and poll() agrees. */
bool cm_silent(struct cm_file *c);
bool cm_readable(const struct cm_file *c);
/* True if the machine has no open file and no ids are left. */
bool cm_no_ids(void);

struct sockaddr_storage cm_addr(const char *text, uint16_t port);
int cm_create(struct cm_file *c, uint16_t ps, uint32_t *id);
int cm_destroy_id(struct cm_file *c, uint32_t id); /* number of events reported, or the negative errno */
int cm_bind(struct cm_file *c, uint32_t id, const char *text, uint16_t port);
int cm_listen(struct cm_file *c, uint32_t id, uint32_t backlog);
int cm_resolve(struct cm_file *c, uint32_t id, const char *src, const char *dst, uint16_t port);
int cm_route(struct cm_file *c, uint32_t id);
int cm_connect(struct cm_file *c, uint32_t id, uint32_t qpn, size_t priv);
int cm_accept(struct cm_file *c, uint32_t id, uint32_t qpn, size_t priv);
int cm_establish_id(struct cm_file *c, uint32_t id); /* ACCEPT at the active side */
int cm_reject(struct cm_file *c, uint32_t id, uint8_t reason, size_t priv);
int cm_disconnect(struct cm_file *c, uint32_t id);
int cm_attr(struct cm_file *c, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *a);
int cm_option(struct cm_file *c, uint32_t id, uint32_t level, uint32_t name, const void *val, uint32_t len);

/*
 * A listener of `server` on HERE:7000, and an id of `client` on THERE with a resolved route. The client has
 * its own file.
 */
struct cm_pair {
	struct cm_file server, client;
	uint32_t listener, active, passive;
};
void cm_pair_open(struct cm_pair *p, uint16_t ps);
void cm_pair_close(struct cm_pair *p);
/* Brings the pair to ESTABLISHED. */
void cm_pair_establish(struct cm_pair *p);

#endif
