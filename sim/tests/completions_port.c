// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A port's link goes down and up again (`ip link set`): which events are raised, and what happens to traffic.
 */
#include "completions.h"

#include <arpa/inet.h>
#include <poll.h>

static const char *word(const struct link *l, int end, const char *file)
{
	static char text[64];
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", ibv_get_device_name(l->ctx[end]->device),
		 file);
	f = fopen(path, "r");
	CHECK(f && fgets(text, sizeof(text), f));
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void expect_word(const struct link *l, int end, const char *file, const char *expected)
{
	const char *text = word(l, end, file);

	if (strcmp(text, expected) != 0)
		fprintf(stderr, "%s of end %d is '%s', not '%s'\n", file, end, text, expected);
	CHECK(!strcmp(text, expected));
}

static void expect_state(const struct link *l, int end, bool up)
{
	struct ibv_port_attr attr;
	char file[128], name[32];

	CHECK(!(errno = ibv_query_port(l->ctx[end], 1, &attr)));
	CHECK(attr.state == (up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN));
	CHECK(attr.phys_state == (up ? 5 : 3)); /* LinkUp, Disabled of IBTA PortInfo */
	expect_word(l, end, "ports/1/state", up ? "4: ACTIVE" : "1: DOWN");
	expect_word(l, end, "ports/1/phys_state", up ? "5: LinkUp" : "3: Disabled");
	strcpy(name, word(l, end, "ports/1/gid_attrs/ndevs/0"));
	snprintf(file, sizeof(file), "device/net/%s/operstate", name);
	expect_word(l, end, file, up ? "up" : "down");
	snprintf(file, sizeof(file), "device/net/%s/flags", name);
	expect_word(l, end, file, up ? "0x1003" : "0x1002");
}

/* Sets the link: one event at this end, none at the other, whose link does not change. */
static void set_link(struct link *l, int end, bool up)
{
	const enum ibv_event_type type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
	struct pollfd fds[2] = {{.fd = l->ctx[end]->async_fd, .events = POLLIN},
				{.fd = l->ctx[!end]->async_fd, .events = POLLIN}};
	struct ibv_async_event event;
	char command[64];

	snprintf(command, sizeof(command), "ip link set dev %s %s", word(l, end, "ports/1/gid_attrs/ndevs/0"),
		 up ? "up" : "down");
	for (int i = 0; i < 2; i++) /* the second command changes nothing */
		CHECK(!system(command));
	CHECK(poll(fds, 1, LINK_WAIT_S * 1000) == 1);
	CHECK(!ibv_get_async_event(l->ctx[end], &event));
	CHECK(event.event_type == type && event.element.port_num == 1);
	ibv_ack_async_event(&event);
	printf("event %s\n", ibv_event_type_str(type));
	expect_state(l, end, up);
	expect_state(l, !end, true);
	CHECK(poll(fds, 2, 0) == 0);
}

static unsigned long counter(const struct link *l, int end, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "ports/1/%s", name);
	return strtoul(word(l, end, file), NULL, 10);
}

static unsigned long retransmissions(const struct link *l)
{
	return counter(l, 0, "hw_counters/retransmissions");
}

/* The retries last longer than the interruption: nothing is lost, at either end. */
static void goes_on(struct link *l, int end)
{
	struct pair p;
	unsigned long before;

	memset(l->buf[0], 0x5a, 64);
	memset(l->buf[1], 0, 64);
	rc_open(&p, l, &(struct options){.timeout = 18, .retry = 7, .rnr_retry = 7});
	post_write(&p, 0);
	CHECK(link_wait(p.cq[0]).status == IBV_WC_SUCCESS);
	memset(l->buf[0], 0x3c + end, 64);
	before = retransmissions(l);
	set_link(l, end, false);
	for (uint64_t id = 1; id <= 8; id++)
		post_write(&p, id);
	expect_state(l, end, false);
	CHECK(!ibv_poll_cq(p.cq[0], 1, &(struct ibv_wc){}) && l->buf[1][0] == 0x5a);
	set_link(l, end, true);
	for (uint64_t id = 1; id <= 8; id++) {
		struct ibv_wc wc = link_wait(p.cq[0]);

		CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == id);
	}
	CHECK(!memcmp(l->buf[0], l->buf[1], 64) && retransmissions(l) > before);
	pair_close(&p);
}

/* The retries run out first: the requester gives up. The peer's queue pair does not notice. */
static void gives_up(struct link *l, int end)
{
	const char *name = end ? "counters/port_rcv_packets" : "counters/port_xmit_packets";
	unsigned long before = counter(l, end, name);
	struct pair p;

	rc_open(&p, l, &(struct options){.timeout = 1, .retry = 2});
	set_link(l, end, false);
	post_write(&p, 1);
	post_write(&p, 2);
	CHECK(link_wait(p.cq[0]).status == IBV_WC_RETRY_EXC_ERR);
	CHECK(link_wait(p.cq[0]).status == IBV_WC_WR_FLUSH_ERR);
	CHECK(link_state(p.qp[0]) == IBV_QPS_ERR && link_state(p.qp[1]) == IBV_QPS_RTS);
	CHECK(counter(l, end, name) == before);
	set_link(l, end, true);
	pair_close(&p);
}

static struct ibv_qp *datagram_qp(const struct link *l, int end, struct ibv_cq *cq)
{
	return link_create_single(l, end, IBV_QPT_UD, cq, (struct ibv_qp_cap){4, 4, 1, 1, 0}, IBV_QPS_RTS);
}

static void send_datagram(const struct link *l, struct ibv_qp *from, struct ibv_ah *ah, uint32_t to,
			  uint32_t imm)
{
	struct ibv_sge sge = link_sge(l, 0, 64);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = htonl(imm),
				 .sg_list = &sge,
				 .num_sge = 1,
				 .wr.ud = {ah, to, LINK_QKEY}};

	link_post(from, &wr);
	CHECK(link_wait(from->send_cq).status == IBV_WC_SUCCESS);
}

/* Datagrams sent while the link is down complete at the sender and never arrive. */
static void datagrams_are_lost(struct link *l, int end)
{
	struct ibv_cq *cq[2] = {link_create_cq(l, 0, 8), link_create_cq(l, 1, 8)};
	struct ibv_qp *qp[2] = {datagram_qp(l, 0, cq[0]), datagram_qp(l, 1, cq[1])};
	struct ibv_ah_attr path = link_path(l, 0);
	struct ibv_ah *ah = ibv_create_ah(l->pd[0], &path);
	struct pair p = {.l = l, .cq = {cq[0], cq[1]}, .qp = {qp[0], qp[1]}};
	struct ibv_wc wc;

	CHECK(ah);
	for (uint64_t id = 1; id <= 2; id++)
		post_recv(&p, id, link_sge(l, 1, 256));
	set_link(l, end, false);
	send_datagram(l, qp[0], ah, qp[1]->qp_num, 1);
	set_link(l, end, true);
	send_datagram(l, qp[0], ah, qp[1]->qp_num, 2);
	wc = link_wait(cq[1]);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == 1 && wc.imm_data == htonl(2));
	CHECK(!ibv_destroy_ah(ah));
	pair_close(&p);
}

void run_port(struct link *l)
{
	link_count_now(l, 0);
	for (int end = 0; end < 2; end++) {
		goes_on(l, end);
		gives_up(l, end);
		datagrams_are_lost(l, end);
	}
	printf("port\n");
}
