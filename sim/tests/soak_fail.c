// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reports a failed soak: the first error, then further information. */
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

#define MOST 16u /* most lines of a kind */

struct ibv_cq_ex *soak_polling;

static void tell_state(const struct flow *f, struct ibv_qp *qp, const char *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init) &&
	    attr.qp_state != IBV_QPS_RTS)
		fprintf(stderr, "  flow %u (%s): %s QP %u is in state %d, sq_psn 0x%x, rq_psn 0x%x\n", f->id,
			kind_name[f->kind], side, qp->qp_num, attr.qp_state, attr.sq_psn, attr.rq_psn);
}

static void tell_flows(void)
{
	for (struct flow *f = s.flow; f < s.flow + NUM_FLOWS; f++) {
		if (f->qp)
			tell_state(f, f->qp, "requester");
		if (f->peer && f->kind == XRC) /* other types: the peer is another flow's requester */
			tell_state(f, f->peer, "responder");
	}
}

static void tell_completions(struct ibv_cq *cq)
{
	unsigned int shown = 0;
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		if (wc.status != IBV_WC_SUCCESS && shown++ < MOST)
			fprintf(stderr, "  QP %u, wr_id 0x%llx: '%s', vendor_err %u\n", wc.qp_num,
				(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), wc.vendor_err);
	if (shown > MOST)
		fprintf(stderr, "  and %u more\n", shown - MOST);
}

static void tell_events(struct ibv_context *ctx)
{
	struct pollfd pfd = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	for (unsigned int i = 0; i < MOST && poll(&pfd, 1, 0) == 1; i++) {
		if (ibv_get_async_event(ctx, &event))
			return;
		fprintf(stderr, "  event of %s: %s", ibv_get_device_name(ctx->device),
			ibv_event_type_str(event.event_type));
		if (event.event_type <= IBV_EVENT_PATH_MIG_ERR && event.event_type != IBV_EVENT_CQ_ERR)
			fprintf(stderr, ", QP %u", event.element.qp->qp_num);
		fputc('\n', stderr);
		ibv_ack_async_event(&event);
	}
}

static void tell_counters(const char *device)
{
	static const char *const names[] = {
		"local_ack_timeout_err", "packet_seq_err", "retransmissions", "rnr_nak_sent",
		"rx_icrc_encapsulated",  "refused_icrc",   "rx_dropped"};
	char path[256];
	FILE *file;
	int value;

	fprintf(stderr, "  %s:", device);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", device,
			 names[i]);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%d", &value) == 1)
			fprintf(stderr, " %s %d", names[i], value);
		fclose(file);
	}
	fputc('\n', stderr);
}

/* Does not call anything that reports failures through soak_fail(). */
static void tell_rest(void)
{
	if (soak_polling)
		ibv_end_poll(soak_polling);
	tell_flows();
	for (int end = 0; end < 2; end++) {
		if (!s.l.ctx[end])
			continue;
		for (unsigned int i = 0; i < NUM_CQ && s.cq[end][i]; i++)
			tell_completions(s.cq[end][i]);
		tell_events(s.l.ctx[end]);
		tell_counters(ibv_get_device_name(s.l.ctx[end]->device));
	}
}

void soak_fail(const struct flow *f, uint64_t seq, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	if (f)
		fprintf(stderr, "flow %u (%s, QP %u to QP %u), work request %llu (%d): ", f->id,
			kind_name[f->kind], f->qp->qp_num, f->peer->qp_num, (unsigned long long)seq,
			(int)f->rec[seq % RECORDS].op);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	tell_rest();
	exit(1);
}
