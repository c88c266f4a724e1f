// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * growth KIND COUNT destroy|exit: creates COUNT objects of a kind in one process, one after the other, and
 * destroys them, or exits with all of them alive. COUNT "max": as many as the adapter reports
 * (ibv_query_device(3)), and one more, which must fail with ENOMEM. Prints the milliseconds that each part
 * took, as one line of JSON.
 */
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct link l;
static struct ibv_device_attr_ex attr;
static struct ibv_ah_attr path;
static struct ibv_cq *cq;
static struct ibv_wq *wq;
static struct ibv_qp *flow_qp, *mcast_qp;
static struct rdma_event_channel *cm_channel;

#define CM_PORT 7000

static void *make_pd(uint32_t i)
{
	return ibv_alloc_pd(l.ctx[0]);
}

static void *make_mr(uint32_t i)
{
	return ibv_reg_mr(l.pd[0], l.buf[0], 64, IBV_ACCESS_LOCAL_WRITE);
}

static void *make_mw(uint32_t i)
{
	return ibv_alloc_mw(l.pd[0], IBV_MW_TYPE_2);
}

static void *make_ah(uint32_t i)
{
	return ibv_create_ah(l.pd[0], &path);
}

static void *make_cq(uint32_t i)
{
	return ibv_create_cq(l.ctx[0], 1, NULL, NULL, 0);
}

static void *make_srq(uint32_t i)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(l.pd[0], &init);
}

static struct ibv_qp *qp_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	return ibv_create_qp(l.pd[0], &init);
}

static void *make_qp(uint32_t i)
{
	return qp_of(IBV_QPT_RC);
}

static void *make_channel(uint32_t i)
{
	return ibv_create_comp_channel(l.ctx[0]);
}

static void *make_flow(uint32_t i)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL,
			 .size = sizeof(rule),
			 .priority = (uint16_t)~i, /* each before all others, with a mask of its own */
			 .num_of_specs = 1,
			 .port = 1},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth)},
	};

	memcpy(rule.eth.val.dst_mac, &i, sizeof(i));
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	memcpy(rule.eth.mask.src_mac, &i, sizeof(i));
	return ibv_create_flow(flow_qp, &rule.attr);
}

static int destroy_flow(void *flow)
{
	return ibv_destroy_flow(flow);
}

static void *make_id(uint32_t i)
{
	struct rdma_cm_id *id;

	return rdma_create_id(cm_channel, &id, NULL, RDMA_PS_TCP) ? NULL : id;
}

/* Waits for the next event, which must be of this type; returns its id. */
static struct rdma_cm_id *next_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(cm_channel, &event))
		die("rdma_get_cm_event");
	if (event->event != type) {
		fprintf(stderr, "%s, not %s\n", rdma_event_str(event->event), rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static struct sockaddr_in cm_address(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, "10.77.0.1", &a.sin_addr);
	return a;
}

static void start_listener(void)
{
	struct sockaddr_in a = cm_address(CM_PORT);
	struct rdma_cm_id *id = make_id(0);

	if (!id || rdma_bind_addr(id, (struct sockaddr *)&a) || rdma_listen(id, 0))
		die("rdma_listen");
}

struct conn {
	struct rdma_cm_id *client, *server;
};

/* Both ends are in this program. They have no QP: only the connection manager is tested. */
static void *make_conn(uint32_t i)
{
	struct rdma_conn_param p = {.qp_num = 2 * i + 1, .retry_count = 7, .rnr_retry_count = 7};
	struct sockaddr_in a = cm_address(CM_PORT);
	struct conn *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	c->client = make_id(i);
	if (!c->client || rdma_resolve_addr(c->client, NULL, (struct sockaddr *)&a, 1000))
		return NULL;
	next_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(c->client, 1000))
		return NULL;
	next_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (rdma_connect(c->client, &p))
		return NULL;
	c->server = next_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	p.qp_num++;
	if (rdma_accept(c->server, &p))
		return NULL;
	next_event(RDMA_CM_EVENT_CONNECT_RESPONSE);
	if (rdma_establish(c->client))
		return NULL;
	next_event(RDMA_CM_EVENT_ESTABLISHED);
	return c;
}

static int destroy_conn(void *obj)
{
	struct conn *c = obj;

	if (rdma_destroy_id(c->client) || rdma_destroy_id(c->server))
		return errno;
	free(c);
	return 0;
}

static union ibv_gid group(uint32_t i)
{
	union ibv_gid gid = {.raw = {0xff, 0x0e}};

	memcpy(&gid.raw[12], &i, sizeof(i));
	return gid;
}

/* A membership has no object, so its number is used instead. */
static void *make_mcast(uint32_t i)
{
	union ibv_gid gid = group(i);

	errno = ibv_attach_mcast(mcast_qp, &gid, 0);
	return errno ? NULL : (void *)(uintptr_t)(i + 1);
}

static int destroy_mcast(void *obj)
{
	union ibv_gid gid = group((uint32_t)(uintptr_t)obj - 1);

	return ibv_detach_mcast(mcast_qp, &gid, 0);
}

/* Adds one more QP to the only group. */
static void *make_member(uint32_t i)
{
	union ibv_gid gid = group(0);
	struct ibv_qp *qp = qp_of(IBV_QPT_UD);

	if (qp)
		errno = ibv_attach_mcast(qp, &gid, 0);
	return qp && errno ? NULL : qp;
}

static int destroy_member(void *qp)
{
	union ibv_gid gid = group(0);
	int ret = ibv_detach_mcast(qp, &gid, 0);

	return ret ? ret : ibv_destroy_qp(qp);
}

static void *make_wq(uint32_t i)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = l.pd[0], .cq = cq};

	return ibv_create_wq(l.ctx[0], &init);
}

static void *make_table(uint32_t i)
{
	struct ibv_rwq_ind_table_init_attr init = {.ind_tbl = &wq};

	return ibv_create_rwq_ind_table(l.ctx[0], &init);
}

#define DESTROY(fn) ((int (*)(void *))(fn))

static const struct kind {
	const char *name;
	void *(*make)(uint32_t i);
	int (*destroy)(void *obj);
	const void *max; /* an int; NULL: the adapter reports no limit */
} kinds[] = {
	{"pd", make_pd, DESTROY(ibv_dealloc_pd), &attr.orig_attr.max_pd},
	{"mr", make_mr, DESTROY(ibv_dereg_mr), &attr.orig_attr.max_mr},
	{"mw", make_mw, DESTROY(ibv_dealloc_mw), &attr.orig_attr.max_mw},
	{"ah", make_ah, DESTROY(ibv_destroy_ah), &attr.orig_attr.max_ah},
	{"cq", make_cq, DESTROY(ibv_destroy_cq), &attr.orig_attr.max_cq},
	{"srq", make_srq, DESTROY(ibv_destroy_srq), &attr.orig_attr.max_srq},
	{"qp", make_qp, DESTROY(ibv_destroy_qp), &attr.orig_attr.max_qp},
	{"mcast", make_mcast, destroy_mcast, &attr.orig_attr.max_mcast_grp},
	{"member", make_member, destroy_member, &attr.orig_attr.max_mcast_qp_attach},
	{"wq", make_wq, DESTROY(ibv_destroy_wq), &attr.max_wq_type_rq},
	{"table", make_table, DESTROY(ibv_destroy_rwq_ind_table), &attr.rss_caps.max_rwq_indirection_tables},
	{"channel", make_channel, DESTROY(ibv_destroy_comp_channel), NULL},
	{"flow", make_flow, destroy_flow, NULL},
	{"id", make_id, DESTROY(rdma_destroy_id), NULL},
	{"conn", make_conn, destroy_conn, NULL},
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	fprintf(stderr, "'%s' is no kind of object\n", name);
	exit(2);
}

static uint32_t count_of(const struct kind *kind, const char *text)
{
	if (strcmp(text, "max"))
		return (uint32_t)strtoul(text, NULL, 0);
	if (!kind->max) {
		fprintf(stderr, "the adapter reports no limit of '%s'\n", kind->name);
		exit(2);
	}
	return *(const uint32_t *)kind->max;
}

/* Creates what the objects of a kind need, and no more, since these objects count towards the limits. */
static void prepare(const char *kind)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (!strcmp(kind, "ah"))
		path = link_path(&l, 0);
	if (!strcmp(kind, "id") || !strcmp(kind, "conn"))
		cm_channel = rdma_create_event_channel();
	if (!strcmp(kind, "conn"))
		start_listener();
	if (strcmp(kind, "cq"))
		cq = link_create_cq(&l, 0, 1);
	if (!strcmp(kind, "table"))
		wq = make_wq(0);
	if (!strcmp(kind, "flow"))
		flow_qp = qp_of(IBV_QPT_RAW_PACKET);
	if (!strcmp(kind, "mcast"))
		mcast_qp = qp_of(IBV_QPT_UD);
}

/* Number of objects of a kind that the program itself uses. */
static uint32_t own_of(const char *kind)
{
	return !strcmp(kind, "pd") || !strcmp(kind, "mr");
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list && list[0]);
	l.ctx[0] = ibv_open_device(list[0]);
	l.size = 4096;
	l.buf[0] = aligned_alloc(4096, l.size);
	CHECK(l.ctx[0] && l.buf[0]);
	l.pd[0] = ibv_alloc_pd(l.ctx[0]);
	l.mr[0] = ibv_reg_mr(l.pd[0], l.buf[0], l.size, IBV_ACCESS_LOCAL_WRITE);
	l.ctx[1] = l.ctx[0];
	ibv_free_device_list(list);
	CHECK(l.pd[0] && l.mr[0] && !ibv_query_device_ex(l.ctx[0], NULL, &attr));
}

static void check_full(const struct kind *kind, uint32_t count)
{
	if (kind->make(count)) {
		fprintf(stderr, "%s: one more than the %u reported could be made\n", kind->name, count);
		exit(1);
	}
	CHECK(errno == ENOMEM);
}

#define THOUSAND 1000u

/* Measures the time of all objects, and the time for one of the first and one of the last thousand. */
static void make_all(const struct kind *kind, void **obj, uint32_t count)
{
	const uint32_t few = count < THOUSAND ? count : THOUSAND;
	double start = now_ms(), first = start, last = start;

	for (uint32_t i = 0; i < count; i++) {
		if (i == few)
			first = now_ms();
		if (i == count - few)
			last = now_ms();
		obj[i] = kind->make(i);
		if (!obj[i]) {
			fprintf(stderr, "%s %u of %u: ", kind->name, i + 1, count);
			die("cannot be made");
		}
	}
	if (few == count)
		first = now_ms();
	printf("{\"kind\": \"%s\", \"count\": %u, \"create_ms\": %.1f", kind->name, count, now_ms() - start);
	printf(", \"first_us\": %.1f, \"last_us\": %.1f", (first - start) * 1e3 / few,
	       (now_ms() - last) * 1e3 / few);
}

static void grow(const struct kind *kind, const char *text, bool destroy)
{
	uint32_t count;
	double start;
	void **obj;

	open_device();
	prepare(kind->name);
	count = count_of(kind, text) - (strcmp(text, "max") ? 0 : own_of(kind->name));
	obj = calloc(count, sizeof(*obj));
	CHECK(obj);
	make_all(kind, obj, count);
	if (!strcmp(text, "max"))
		check_full(kind, count);
	start = now_ms();
	for (uint32_t i = 0; destroy && i < count; i++) {
		CHECK(!(errno = kind->destroy(obj[i])));
	}
	if (destroy)
		printf(", \"destroy_ms\": %.1f", now_ms() - start);
	fflush(stdout);
}

/* The time until the next program can open the device after the first one has exited. */
static void time_exit(double start)
{
	open_device();
	printf(", \"exit_ms\": %.1f", now_ms() - start);
}

int main(int argc, char *argv[])
{
	bool destroy;
	double end = 0;
	int fds[2], status;

	if (argc != 4 || (strcmp(argv[3], "destroy") && strcmp(argv[3], "exit"))) {
		fprintf(stderr, "usage: %s KIND COUNT|max destroy|exit\n", argv[0]);
		return 2;
	}
	destroy = !strcmp(argv[3], "destroy");
	CHECK(!pipe(fds));
	if (!fork()) {
		grow(find_kind(argv[1]), argv[2], destroy);
		end = now_ms();
		CHECK(write(fds[1], &end, sizeof(end)) == sizeof(end));
		_exit(0);
	}
	wait(&status);
	close(fds[1]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || read(fds[0], &end, sizeof(end)) != sizeof(end))
		return 1;
	if (!destroy)
		time_exit(end);
	puts("}");
	return 0;
}
