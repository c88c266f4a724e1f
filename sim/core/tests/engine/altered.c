// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "altered.h"

#include <hcasim_verbs.h>

const char *altered_place;

const char *const altered_places[] = {
	"now",    "read",     "lookup", "present", "page_request", "local", "packet_room", "packet",
	"result", "timer",    "failed", "drained", "saw_wqe",      "leave", "completion",  "pending",
	"step",   "counters", "query",  "state",   "frame",        NULL};

/* True once, at the place that is to be altered. */
static bool here(const char *place)
{
	if (!altered_place || strcmp(altered_place, place))
		return false;
	altered_place = NULL;
	return true;
}

/* ---- Ports: those of the lockstep engine, which an adapter has one of ---- */

struct host {
	const struct engine_ports *ports;
	void *host;
	struct engine *engine;
	struct host *next;
};
static struct host *hosts;

#define PORT(name, ...) (((struct host *)h)->ports->name(((struct host *)h)->host, ##__VA_ARGS__))

static hca_ps port_now(void *h)
{
	if (here("now"))
		PORT(now);
	return PORT(now);
}

static bool port_read(void *h, uint32_t qpn, uint32_t tag, uint32_t pasid, const struct hca_dma_seg *seg,
		      uint32_t nseg)
{
	return PORT(read, qpn, tag, pasid ^ here("read"), seg, nseg);
}

static uint8_t port_lookup(void *h, const struct engine_lookup *what, struct piece *out, uint32_t *npieces)
{
	struct engine_lookup l = *what;

	l.off += here("lookup");
	return PORT(lookup, &l, out, npieces);
}

static bool port_present(void *h, const struct engine_lookup *what)
{
	struct engine_lookup l = *what;

	l.len += here("present");
	return PORT(present, &l);
}

static bool port_page_request(void *h, uint32_t qpn, uint32_t tag, const struct engine_lookup *what)
{
	return PORT(page_request, qpn, tag ^ here("page_request"), what);
}

static uint8_t port_local(void *h, uint32_t qpn, const struct hca_wr *wr)
{
	return PORT(local, qpn ^ here("local"), wr);
}

static bool port_packet_room(void *h)
{
	if (here("packet_room"))
		PORT(packet_room);
	return PORT(packet_room);
}

static bool port_packet(void *h, uint32_t tag, const struct engine_packet *pkt)
{
	struct engine_packet p = *pkt;

	p.spec.psn ^= here("packet");
	return PORT(packet, tag, &p);
}

static int port_result(void *h, uint32_t qpn, uint32_t tag, const struct piece *piece, uint32_t npieces)
{
	return PORT(result, qpn, tag ^ here("result"), piece, npieces);
}

static void port_timer(void *h, uint32_t qpn, hca_ps at)
{
	PORT(timer, qpn, at - here("timer"));
}

static void port_failed(void *h, uint32_t qpn, uint8_t state)
{
	if (!here("failed"))
		PORT(failed, qpn, state);
	else
		PORT(failed, qpn, HCASIM_QPS_SQD);
}

static void port_drained(void *h, uint32_t qpn)
{
	PORT(drained, qpn ^ here("drained"));
}

static void port_saw_wqe(void *h, uint32_t qpn, const struct hca_wr *wr, const void *raw, uint32_t len)
{
	PORT(saw_wqe, qpn ^ here("saw_wqe"), wr, raw, len);
}

static uint32_t port_frame(void *h, uint8_t *out)
{
	return PORT(frame, out);
}

static const struct engine_ports ports = {
	.now = port_now,
	.read = port_read,
	.lookup = port_lookup,
	.present = port_present,
	.page_request = port_page_request,
	.local = port_local,
	.packet_room = port_packet_room,
	.packet = port_packet,
	.result = port_result,
	.timer = port_timer,
	.failed = port_failed,
	.drained = port_drained,
	.saw_wqe = port_saw_wqe,
	.frame = port_frame,
};

/* ---- Ops that answer ---- */

static struct engine *create(const struct engine_config *cfg, const struct engine_ports *real, void *host)
{
	struct host *h = calloc(1, sizeof(*h));

	if (!h)
		abort();
	*h = (struct host){.ports = real, .host = host, .next = hosts};
	h->engine = c_engine.create(cfg, &ports, h);
	hosts = h;
	return h->engine;
}

static void destroy(struct engine *e)
{
	struct host **at = &hosts, *h;

	while ((*at)->engine != e)
		at = &(*at)->next;
	h = *at;
	*at = h->next;
	c_engine.destroy(e);
	free(h);
}

static bool leave(struct engine *e, uint32_t tag, bool failed)
{
	return c_engine.leave(e, tag, failed) ^ here("leave");
}

static bool completion(const struct engine *e, uint32_t qpn, struct engine_completion *out)
{
	bool has = c_engine.completion(e, qpn, out);

	if (has && out && here("completion"))
		out->byte_count++;
	return has;
}

static bool pending(const struct engine *e, enum hca_stage stage, struct hca_work *work)
{
	bool has = c_engine.pending(e, stage, work);

	if (has && here("pending"))
		work->items++;
	return has;
}

static uint32_t step(struct engine *e, enum hca_stage stage)
{
	return c_engine.step(e, stage) ^ here("step");
}

/* The core's, and one bit of its payload or ICRC differs. */
static uint32_t frame(struct engine *e, const struct engine_frame *f, uint8_t *out)
{
	struct host *h = hosts;
	uint32_t len;

	while (h->engine != e)
		h = h->next;
	len = port_frame(h, out);
	out[len - 5] ^= here("frame");
	return len;
}

static void counters(const struct engine *e, struct engine_counters *out)
{
	c_engine.counters(e, out);
	out->wqes += here("counters");
}

static void query(const struct engine *e, uint32_t qpn, struct engine_query *out)
{
	c_engine.query(e, qpn, out);
	out->draining ^= here("query");
}

static void state(const struct engine *e, uint32_t qpn, struct engine_state *out)
{
	c_engine.state(e, qpn, out);
	out->una_psn ^= here("state");
}

const struct engine_ops *altered_engine(void)
{
	static struct engine_ops ops;

	ops = c_engine;
	ops.name = "altered";
	ops.create = create;
	ops.destroy = destroy;
	ops.leave = leave;
	ops.completion = completion;
	ops.pending = pending;
	ops.step = step;
	ops.counters = counters;
	ops.query = query;
	ops.state = state;
	ops.frame = frame;
	return &ops;
}
