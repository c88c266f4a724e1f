/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager: rdma_ucm, rdma_cm and ib_cm of one machine. The errno and the events of every path
 * are those of Linux 6.1. Messages between two ids are the communication-management datagrams of IBTA 12,
 * sent on the wire.
 */
#ifndef HCASIM_KERNEL_UCMA_H
#define HCASIM_KERNEL_UCMA_H

#include <netinet/in.h>
#include <sys/socket.h>

#include <rdma/rdma_user_cm.h>

#include "kernel/newer_abi.h"
#include "kernel/priv.h"
#include "kernel/rdma_cm/cm_mad.h"

#define UCMA_NAME  "rdma_cm"
#define UCMA_MAJOR 10 /* miscellaneous devices */
#define UCMA_MINOR 122

struct addr_ib { /* struct sockaddr_ib */
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t gid[16];
	uint64_t sid, sid_mask, scope_id;
};

/* ---- Ids ----------------------------------------------------------------------------------------- */

enum rdma_event { /* enum rdma_cm_event_type of <rdma/rdma_cma.h> */
		  EV_ADDR_RESOLVED,
		  EV_ADDR_ERROR,
		  EV_ROUTE_RESOLVED,
		  EV_ROUTE_ERROR,
		  EV_CONNECT_REQUEST,
		  EV_CONNECT_RESPONSE,
		  EV_CONNECT_ERROR,
		  EV_UNREACHABLE,
		  EV_REJECTED,
		  EV_ESTABLISHED,
		  EV_DISCONNECTED,
		  EV_DEVICE_REMOVAL,
		  EV_MULTICAST_JOIN,
		  EV_MULTICAST_ERROR,
		  EV_ADDR_CHANGE,
		  EV_TIMEWAIT_EXIT,
		  EV_ADDRINFO_RESOLVED, /* never sent: librdmacm creates them from EV_INTERNAL */
		  EV_ADDRINFO_ERROR,
		  EV_USER,
		  EV_INTERNAL,
};

enum id_state {
	ID_IDLE,
	ID_BOUND,
	ID_ADDR_QUERY,
	ID_ADDR_RESOLVED,
	ID_ROUTE_QUERY,
	ID_ROUTE_RESOLVED,
	ID_CONNECT,
	ID_DISCONNECT,
	ID_LISTEN,
};

enum cm_state { /* IBTA 12.9.5, and the states of service resolution */
		CM_IDLE,
		CM_REQ_SENT,
		CM_REQ_RCVD,
		CM_MRA_REQ_SENT,
		CM_MRA_REQ_RCVD,
		CM_REP_SENT,
		CM_REP_RCVD,
		CM_MRA_REP_SENT,
		CM_MRA_REP_RCVD,
		CM_ESTABLISHED,
		CM_DREQ_SENT,
		CM_DREQ_RCVD,
		CM_TIMEWAIT,
		CM_SIDR_REQ_SENT,
		CM_SIDR_REQ_RCVD,
};

/* What the messages of a connection say about one side. */
struct conn_side {
	uint32_t comm_id, qpn, psn;
	uint64_t guid; /* GUID of the node; for the sender of a SIDR_REQ, the lower half of its GID */
};

struct cm {
	enum cm_state state;
	bool used; /* a message was sent or received: on Linux, rdma_cm has created the ib_cm id */
	struct conn_side local, remote;
	uint64_t tid, service;
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry_count, ack_timeout;
	/* The message that awaits an answer. */
	uint8_t sent[HCA_MAD_SIZE];
	unsigned int retries;
	uint64_t timeout_ms;
	struct ktimer timer;
};

struct ucma_mc { /* membership of a multicast group */
	TAILQ_ENTRY(ucma_mc) link;
	struct ucma_id *id;
	uint32_t handle;
	uint64_t uid;
	uint32_t events_reported;
	uint8_t gid[16];
};

struct ucma_id {
	TAILQ_ENTRY(ucma_id) of_file;
	struct table_node by_comm_id; /* in the table if cm.local.comm_id is not 0 */
	struct table_node by_peer;    /* in the table until the connection is idle again */
	struct table_node by_peer_qp; /* until it is in time-wait: then the peer may reuse its QP */
	struct table_node by_service; /* in the table if the id listens */
	bool peer_known, peer_qp_known;
	struct ucma_file *file;
	uint32_t handle;
	uint64_t uid;
	uint32_t events_reported, backlog;
	struct ucma_id *request_of; /* listening id whose queue still has the request; NULL: it was read */

	enum id_state state;
	uint16_t ps;
	uint8_t qp_type;
	struct sockaddr_storage src, dst;
	bool bound; /* the id holds its port */
	struct table_node by_port;
	bool reuse, afonly, afonly_set, timeout_set;
	uint8_t tos, timeout;
	uint32_t qkey;

	struct kdev *dev; /* NULL: not known yet */
	uint8_t port;
	uint8_t sgid_index;
	struct hca_av av;
	bool has_route;
	int addr_status; /* result of the resolution in progress */
	struct ktimer addr_timer;

	uint32_t qp_num, psn;
	uint8_t srq;
	struct rdma_ucm_ece ece;
	struct cm cm;
	TAILQ_HEAD(, ucma_mc) mcs;
	TAILQ_HEAD(, ucma_event) events; /* events not read yet */
};
TAILQ_HEAD(ucma_ids, ucma_id);

/* An event that was not read yet. */
struct ucma_event {
	TAILQ_ENTRY(ucma_event) link; /* in the file's queue */
	TAILQ_ENTRY(ucma_event) of_id;
	struct ucma_id *id;   /* the id that counts it */
	struct ucma_id *conn; /* CONNECT_REQUEST: the new id */
	struct ucma_mc *mc;
	struct rdma_ucm_event_resp resp;
};

struct ucma_file {
	TAILQ_ENTRY(ucma_file) link;
	struct kernel *k;
	struct kfile *owner;
	TAILQ_HEAD(, ucma_event) events;
	struct ucma_ids ids;
	unsigned int num_events;
	int ready_fd; /* -1: no socket */
	uint64_t ino;
	unsigned int tokens; /* unread bytes in the socket */
};

struct ucma { /* state of the machine */
	TAILQ_HEAD(, ucma_file) files;
	struct numbers id_table, mc_table; /* handles for user space */
	struct table comm_ids, bound;
	struct table peers, peer_qps; /* ids by cm_peer_key() */
	struct table listeners;       /* ids by ua_service() */
	uint32_t last_comm_id;
	uint64_t last_tid;
	uint64_t random;
	uint16_t last_port;
};

/* ---- ucma.c: files and their commands ---- */

struct ucma_call { /* one write() in progress */
	struct ucma_file *f;
	struct task *t;
	struct kreply *reply;
	uint64_t in;
	size_t in_len, out_len;
};

/* verbs.log */
void log_cm_call(struct ucma_call *c, uint32_t command, int ret);
void log_cm_event(const struct ucma_file *file, const struct ucma_event *e);

int ucma_open(struct kernel *k, struct kfile *owner);
ssize_t ucma_write(struct ucma_file *f, struct task *t, uint64_t buf, size_t len, struct kreply *reply);
void ucma_release(struct ucma_file *f);
int ucma_init(struct kernel *k);
void ucma_exit(struct kernel *k); /* no file may be open */

/* ---- ucma_event.c: helpers of all commands, and events ---- */

uint32_t ucma_random(struct kernel *k);
/* Adjusts the bytes in the socket to the waiting events, for poll(). */
void ucma_ready(struct ucma_file *f, struct kreply *reply);
/* Returns the number of surplus bytes in the socket, which its reader removes. */
unsigned int ucma_surplus(struct ucma_file *f);
int ucma_get(struct ucma_call *c, void *cmd, size_t size);
int ucma_put(struct ucma_call *c, uint64_t addr, const void *resp, size_t size);
int ucma_find(struct ucma_call *c, uint32_t handle, struct ucma_id **out);
/* Finds an id whose device is known; else -EINVAL. */
int ucma_find_dev(struct ucma_call *c, uint32_t handle, struct ucma_id **out);
/* The start of most commands: reads the command and finds the id that it names. */
#define ucma_get_with_id(c, cmd, out)                                                                        \
	(ucma_get(c, cmd, sizeof(*(cmd))) ? -EFAULT : ucma_find(c, (cmd)->id, out))
#define ucma_get_with_dev(c, cmd, out)                                                                       \
	(ucma_get(c, cmd, sizeof(*(cmd))) ? -EFAULT : ucma_find_dev(c, (cmd)->id, out))

/* `resp`: param and ece of the event, or NULL. Ids that no program knows yet get no events. */
void ucma_event(struct ucma_id *id, enum rdma_event type, int status, const struct rdma_ucm_event_resp *resp);
void ucma_mc_event(struct ucma_mc *mc, enum rdma_event type, int status,
		   const struct rdma_ucm_event_resp *resp);
/* -ENOMEM: the backlog is full */
int ucma_request_event(struct ucma_id *listener, struct ucma_id *conn,
		       const struct rdma_ucm_event_resp *resp);
void ucma_free_event(struct ucma_event *e); /* an event that was removed from its file's queue */
void ucma_drop_mc_events(struct ucma_mc *mc);
void ucma_queue_event(struct ucma_file *f, struct ucma_event *e);
void ucma_unqueue_event(struct ucma_file *f, struct ucma_event *e);
int uc_get_event(struct ucma_call *c);

/* ---- ucma_id.c: creation, addresses, routes ---- */

struct ucma_id *ucma_id_new(struct ucma_file *f, uint16_t ps, uint8_t qp_type);
void ucma_id_move(struct ucma_id *id, struct ucma_file *to);
void ucma_move_events(struct ucma_id *id, struct ucma_file *to);
/*
 * Notifies the peer, removes the id's events from the queue, frees the id. Returns how many of its events
 * were read.
 */
uint32_t ucma_id_destroy(struct ucma_id *id);
/* Binds the id to this adapter. */
void ucma_id_attach(struct ucma_id *id, struct kdev *d, uint8_t port, uint8_t sgid_index);
/* Resolves the path to `dgid`. Returns 0 or the errno of the resolution. */
int ucma_id_reach(struct ucma_id *id, const uint8_t dgid[16]);

int uc_create_id(struct ucma_call *c);
int uc_destroy_id(struct ucma_call *c);
int uc_bind_ip(struct ucma_call *c);
int uc_bind(struct ucma_call *c);
int uc_listen(struct ucma_call *c);
int uc_resolve_ip(struct ucma_call *c);
int uc_resolve_addr(struct ucma_call *c);
int uc_resolve_route(struct ucma_call *c);
int uc_resolve_ib_service(struct ucma_call *c);

/* ---- ucma_addr.c ---- */

size_t ua_size(const void *addr, size_t room); /* 0: unknown address family */
bool ua_any(const struct sockaddr_storage *a);
bool ua_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
uint16_t ua_port(const struct sockaddr_storage *a);
void ua_set_port(struct sockaddr_storage *a, uint16_t port);
void ua_gid(const struct sockaddr_storage *a, uint8_t gid[16]);
bool ua_find(struct kernel *k, const struct sockaddr_storage *a, struct kdev **dev, uint8_t *port,
	     uint8_t *index);
void ua_of_port(const struct kdev *d, uint8_t port, int family, struct sockaddr_storage *a, uint8_t *index);
/* Port spaces: 0, -EACCES, -EADDRINUSE, -EADDRNOTAVAIL */
int ua_take_port(struct ucma_id *id);
int ua_check_port(struct ucma_id *id, bool reuse);
uint64_t ua_service(const struct ucma_id *id, const struct sockaddr_storage *a);

/* ---- ucma_query.c ---- */

int uc_query_route(struct ucma_call *c);
int uc_query(struct ucma_call *c);
int uc_init_qp_attr(struct ucma_call *c);
void ucma_ah_attr(const struct ucma_id *id, const struct hca_av *av, struct ib_uverbs_ah_attr *attr);

/* ---- ucma_option.c ---- */

int uc_write_cm_event(struct ucma_call *c);
int uc_set_option(struct ucma_call *c);
int uc_notify(struct ucma_call *c);
int uc_migrate_id(struct ucma_call *c);

/* ---- ucma_mcast.c ---- */

int uc_join_ip(struct ucma_call *c);
int uc_join(struct ucma_call *c);
int uc_leave(struct ucma_call *c);
void ucma_leave_all(struct ucma_id *id);

/* ---- ucma_conn.c: connection commands ---- */

#define CM_RESPONSE_TIMEOUT 20 /* the values of rdma_cm (drivers/infiniband/core/cma.c) */
#define CM_MAX_RETRIES      15
#define CM_MRA_SETTING      24
#define CM_PACKET_LIFETIME  18
#define UDP_QKEY            0x01234567u

int uc_connect(struct ucma_call *c);
int uc_accept(struct ucma_call *c);
int uc_reject(struct ucma_call *c);
int uc_disconnect(struct ucma_call *c);

/* ---- cm.c: the protocol ---- */

struct cm_private {
	uint8_t data[RDMA_MAX_PRIVATE_DATA];
	size_t len;
};

enum cm_reject {
	REJ_TIMEOUT = 4,
	REJ_INVALID_COMM_ID = 6,
	REJ_INVALID_SERVICE_ID = 8,
	REJ_STALE_CONN = 10,
	REJ_INVALID_GID = 12,
	REJ_CONSUMER_DEFINED = 28,
	REJ_VENDOR_OPTION = 35,
};

static inline uint64_t cm_ms(uint8_t exponent) /* 4.096 us * 2^exponent, as Linux rounds it */
{
	return 1ull << (exponent > 8 ? exponent - 8 : 0);
}

int cm_send_req(struct ucma_id *id, const struct rdma_ucm_conn_param *p, const struct cm_private *priv);
int cm_send_rep(struct ucma_id *id, const struct rdma_ucm_conn_param *p, const struct cm_private *priv);
int cm_send_rtu(struct ucma_id *id);
int cm_send_rej(struct ucma_id *id, enum cm_reject reason, const struct cm_private *priv);
int cm_send_dreq(struct ucma_id *id);
int cm_send_drep(struct ucma_id *id);
int cm_send_sidr_req(struct ucma_id *id, const struct cm_private *priv);
int cm_send_sidr_rep(struct ucma_id *id, uint8_t status, const struct cm_private *priv);
/* Notifies the peer of an id that is destroyed. `overflow`: sends nothing, so that the peer retries. */
void cm_destroy(struct ucma_id *id, bool overflow);
int cm_establish(struct ucma_id *id);
/* For cm_rx.c. */
void cm_header(uint8_t *mad, enum cm_attr attr, uint64_t tid);
void cm_start(struct ucma_id *id); /* assigns a comm id and a transaction id */
/* Stores the peer's data from its message. */
void cm_set_peer(struct ucma_id *id, const struct conn_side *peer);
void cm_forget_peer(struct ucma_id *id);
void cm_forget_peer_qp(struct ucma_id *id);
void cm_idle(struct ucma_id *id);
static inline uint64_t cm_peer_key(uint64_t guid,
				   uint32_t n) /* `n`: its comm_id or QPN; several peers may share a key */
{
	return guid ^ (uint64_t)n << 32;
}
void cm_send_mra(struct ucma_id *id);
void cm_wait(struct ucma_id *id, uint64_t ms);
void cm_repeat(struct ucma_id *id);

/* ---- cm_rx.c ---- */

void cm_receive(struct kdev *d, const struct hca_mad *mad);
/* The answer did not come and there are no retries left. */
void cm_failed(struct ucma_id *id);
void cm_timewait(struct ucma_id *id);

#endif
