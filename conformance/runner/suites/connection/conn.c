/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <string.h>

#include "judge/watchdog.h"
#include "suites/connection/conn.h"

bool conn_in_one_process(struct kit *k)
{
	if (k->r->dut.remote)
		seen(k->res, "the server is in another process; ");
	return !k->r->dut.remote;
}

bool conn_event(struct conn *c, enum rdma_cm_event_type type)
{
	const unsigned int timeout_ms = c->k->r->dut.timeout_ms;

	if (c->event)
		rdma_ack_cm_event(c->event);
	c->event = NULL;
	if (!watchdog_readable(c->cm.channel->fd, timeout_ms) ||
	    rdma_get_cm_event(c->cm.channel, &c->event)) {
		KIT_FAULT(c->k, "the event %s did not come", rdma_event_str(type));
		return false;
	}
	if (!kit_holds(c->k, c->event->event == type))
		KIT_FAULT(c->k, "event %s with status %d, expected %s", rdma_event_str(c->event->event),
			  c->event->status, rdma_event_str(type));
	return KIT_GOOD(c->k);
}

bool conn_begin(struct conn *c, struct kit *k)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->k = k;
	for (unsigned int i = 0; i < MOST_DATA; i++)
		c->data[i] = (uint8_t)(7 * i + k->r->seed + 1) | 1;
	ret = cm_begin(&c->cm, &k->r->dut, 1, 0, &k->res->log);
	if (ret)
		KIT_FAULT(k, "%s failed with %s", c->cm.step, errno_name(ret));
	return !ret;
}

void conn_finish(struct conn *c)
{
	if (c->event)
		rdma_ack_cm_event(c->event);
	c->event = NULL;
	cm_close(&c->cm);
}

/* As C: private data of the same length, whose bytes do not matter. */
static void log_param(struct conn *c, const char *call, const struct rdma_conn_param *p)
{
	if (!p) {
		log_call(&c->k->res->log, "%s(id, NULL)", call);
		return;
	}
	log_call(&c->k->res->log,
		 "%s(id, &(struct rdma_conn_param){(uint8_t[256]){0}, %u, %u, %u, %u, %u, %u, %u, 0x%x})",
		 call, p->private_data_len, p->responder_resources, p->initiator_depth, p->flow_control,
		 p->retry_count, p->rnr_retry_count, p->srq, p->qp_num);
}

bool conn_request(struct conn *c, struct rdma_conn_param *param)
{
	log_param(c, "rdma_connect", param);
	if (rdma_connect(c->cm.client, param)) {
		KIT_FAULT(c->k, "rdma_connect failed with %s", errno_name(errno));
		return false;
	}
	if (!conn_event(c, RDMA_CM_EVENT_CONNECT_REQUEST))
		return false;
	c->cm.server = c->event->id;
	return true;
}

bool conn_server_qp(struct conn *c)
{
	struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	if (rdma_create_qp(c->cm.server, NULL, &attr))
		KIT_FAULT(c->k, "rdma_create_qp failed with %s", errno_name(errno));
	return KIT_GOOD(c->k);
}

bool conn_accept(struct conn *c, struct rdma_conn_param *param)
{
	log_param(c, "rdma_accept", param);
	if (rdma_accept(c->cm.server, param))
		KIT_FAULT(c->k, "rdma_accept failed with %s", errno_name(errno));
	return KIT_GOOD(c->k);
}

struct rdma_conn_param conn_values(int responder, int initiator, int flow, int retry, int rnr)
{
	return (struct rdma_conn_param){.responder_resources = (uint8_t)responder,
					.initiator_depth = (uint8_t)initiator,
					.flow_control = (uint8_t)flow,
					.retry_count = (uint8_t)retry,
					.rnr_retry_count = (uint8_t)rnr};
}

bool conn_fails(struct kit *k, const char *call, int ret, int want)
{
	const int error = errno;

	if (!kit_holds(k, ret == -1 && error > 0 && (!want || error == want)))
		KIT_FAULT(k, "%s returned %d with errno %d, expected -1 with %s", call, ret, error,
			  want ? errno_name(want) : "an errno");
	return KIT_GOOD(k);
}
