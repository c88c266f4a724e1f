// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The adapter: creation, stages, ports. */
#include "core/egress/egress.h"
#include "core/ingress/ingress.h"
#include "core/memory/memory.h"
#include "core/queues/page_request.h"
#include "core/queues/queues.h"
#include "core/send/send.h"
#include "core/responder/responder.h"
#include "core/stages.h"
#include "core/wire/wire.h"

#define STAGES(S)                                                                                            \
	S(DOORBELL, "doorbell", doorbell)                                                                    \
	S(FETCH, "fetch", send_fetch)                                                                        \
	S(DECODE, "decode", send_decode)                                                                     \
	S(PACKETISE, "packetise", send_packetise)                                                            \
	S(GATHER, "gather", gather)                                                                          \
	S(TX, "tx", tx)                                                                                      \
	S(RX, "rx", rx)                                                                                      \
	S(RESPOND, "respond", respond)                                                                       \
	S(COMPLETE, "complete", complete)                                                                    \
	S(EVENT, "event", event)

static const struct stage stages[HCA_NUM_STAGES] = {
#define S(number, name, function) [HCA_STAGE_##number] = {name, function##_pending, function##_step},
	STAGES(S)
#undef S
};

/* Not through the table, so that the compiler sees what is called. */
static uint32_t pending(const struct hca *hca)
{
	struct hca_work w = {.items = 1};
	uint32_t set = 0;

#define S(number, name, function) set |= (uint32_t)function##_pending(hca, &w) << HCA_STAGE_##number;
	STAGES(S)
#undef S
	return set;
}

static void changed(struct hca *hca, struct qp *qp)
{
	if (qp->sched)
		sched_changed(hca, qp);
	comp_cntr_changed(hca, qp);
	send_changed(hca, qp);
	rendezvous_changed(hca, qp);
	srq_last_wqe(hca, qp);
	respond_changed(hca, qp);
	complete_changed(hca, qp);
	rx_changed(hca, qp);
}

static void failed(struct hca *hca, struct qp *qp)
{
	send_failed(hca, qp);
	rx_flush_parked(hca, qp);
	rq_poll_soon(hca, qp);
}

static const struct parts parts = {stages, pending, changed, failed, flow_lets_out};

const char *hca_stage_name(enum hca_stage stage)
{
	return (unsigned int)stage < HCA_NUM_STAGES ? stages[stage].name : "?";
}

void hca_timers(struct hca *hca)
{
	timer_run(hca);
	hca_announce(hca);
}

static uint32_t depth(uint32_t asked, uint32_t own)
{
	return asked ? asked : own;
}

static void init_lists(struct hca *hca)
{
	struct node *all[] = {
		&hca->srq_cq_qps, &hca->cpl_srqs,    &hca->recover_qp,    &hca->recover_cq,
		&hca->rx_qps,     &hca->respond_qps, &hca->atomic_qps,    &hca->cpl_qps,
		&hca->events,     &hca->dma_busy,    &hca->page_requests,
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		list_init(all[i]);
	hca->rx_tail = &hca->rx_head;
	flow_init(hca);
}

static void init_ports(struct hca *hca)
{
	uint8_t i;

	for (i = 0; i < hca->cfg.num_ports; i++) {
		hca->port[i].up = true;
		hca->port[i].active_mtu = 5;
		hca->port[i].ev.port = i + 1;
		hca->port[i].ev.number = i + 1;
	}
}

static bool alloc_tables(struct hca *hca)
{
	const struct hca_config *cfg = &hca->cfg;

	hca->db.depth = depth(cfg->doorbell_depth, CORE_DOORBELL_DEPTH);
	hca->rx_depth = depth(cfg->rx_depth, CORE_RX_DEPTH);
	hca->rx_writes_max = depth(cfg->rx_writes, CORE_RX_WRITES);
	hca->cqe_writes_max = depth(cfg->cqe_writes, CORE_CQE_WRITES);
	hca->db.slot = calloc(hca->db.depth, sizeof(*hca->db.slot));
	hca->bf = calloc((size_t)hca->pers->uar.pages * hca->pers->uar.bf_bufs, sizeof(*hca->bf));
	numbers_init(&hca->qp, CORE_FIRST_QPN, HCA_NUMBER_MASK, cfg->max_qp);
	numbers_init(&hca->cq, 1, HCA_NUMBER_MASK, cfg->max_cq);
	sched_init(hca);
	numbers_init(&hca->comp_cntr, 1, HCA_NUMBER_MASK, HCA_COMP_CNTR_MAX);
	numbers_init(&hca->srq, 1, HCA_NUMBER_MASK, cfg->max_srq);
	hca->dm = calloc(1, hca->pers->dm.size + !hca->pers->dm.size);
	return hca->db.slot && hca->dm && hca->bf &&
	       send_create(hca, depth(cfg->fetch_depth, CORE_FETCH_DEPTH)) &&
	       txq_init(&hca->gather, depth(cfg->gather_depth, CORE_GATHER_DEPTH)) &&
	       txq_init(&hca->tx, depth(cfg->tx_depth, CORE_TX_DEPTH)) &&
	       !mr_table_init(&hca->mr, cfg->max_mr, cfg->max_mw);
}

static bool config_ok(const struct hca_config *cfg)
{
	return cfg->num_ports >= 1 && cfg->num_ports <= 2 && cfg->max_qp &&
	       cfg->max_qp < HCASIM_PSN_MASK - CORE_FIRST_QPN && cfg->max_cq &&
	       cfg->max_cq < HCASIM_PSN_MASK && cfg->max_mr && cfg->max_srq < HCASIM_PSN_MASK &&
	       cfg->max_rd_atomic <= 255;
}

static bool personality_ok(const struct hca_personality *pers)
{
	return pers->wqebb_size && pers->cqe_size <= HCA_CQE_MAX && pers->eqe_size <= HCA_CQE_MAX &&
	       pers->uar.bf_size <= HCA_BF_MAX && pers->qp_record_size <= HCA_RECORD_MAX &&
	       pers->cq_record_size <= HCA_RECORD_MAX && pers->srq_record_size <= HCA_RECORD_MAX;
}

struct hca *hca_create(const struct hca_config *cfg, const struct hca_personality *pers,
		       const struct hca_ops *ops, void *host)
{
	struct hca *hca;

	if (!config_ok(cfg) || !personality_ok(pers)) {
		errno = EINVAL;
		return NULL;
	}
	hca = calloc(1, sizeof(*hca));
	if (!hca)
		return NULL;
	hca->cfg = *cfg;
	if (!hca->cfg.max_rd_atomic)
		hca->cfg.max_rd_atomic = 16;
	hca->pers = pers;
	hca->parts = &parts;
	hca->ops = *ops;
	hca->host = host;
	hca->told_deadline = HCA_PS_NEVER;
	hca->icrc_seed = icrc_seed();
	init_lists(hca);
	init_ports(hca);
	if (!alloc_tables(hca)) {
		hca_destroy(hca);
		errno = ENOMEM;
		return NULL;
	}
	return hca;
}

#define FREE_POOL(pool, link)                                                                                \
	while (pool) {                                                                                       \
		void *it = pool;                                                                             \
		pool = (void *)(pool)->link;                                                                 \
		free(it);                                                                                    \
	}

static void free_pools(struct hca *hca)
{
	FREE_POOL(hca->txpkt_pool, next);
	FREE_POOL(hca->rop_pool, next);
	FREE_POOL(hca->dma_pool, d.next);
	rx_free_all(hca);
	gsi_free(hca);
}

static void end_work(struct hca *hca)
{
	uint32_t qpn = 0;

	while (numbers_from(&hca->qp, qpn, &qpn))
		hca_qp_destroy(hca, qpn);
	numbers_free(&hca->qp);
	comp_cntr_free_all(hca);
	page_requests_free(hca);
	while (!list_empty(&hca->dma_busy)) {
		struct dma_ctx *c = node_entry(hca->dma_busy.next, struct dma_ctx, node);

		c->d.status = -EIO;
		c->d.done(hca, &c->d);
	}
	while (hca->gather.count)
		txpkt_put(hca, txq_pop(&hca->gather));
	while (hca->tx.count)
		txpkt_put(hca, txq_pop(&hca->tx));
	send_destroy(hca);
}

void hca_destroy(struct hca *hca)
{
	unsigned int i;

	if (!hca)
		return;
	hca->dying = true;
	end_work(hca);
	sched_free(hca);
	flow_free(hca);
	mcast_free(hca);
	srq_free_all(hca);
	cq_free_all(hca);
	for (i = 0; i < CORE_MAX_EQ; i++)
		free(hca->eq[i]);
	doorbell_free(hca);
	free_pools(hca);
	mr_table_free(&hca->mr);
	free(hca->dm);
	heap_free(&hca->timers);
	free(hca->gather.slot);
	free(hca->tx.slot);
	free(hca);
}

int hca_gid_set(struct hca *hca, uint8_t port, unsigned int index, const uint8_t gid[16], bool v1)
{
	if (!port || port > hca->cfg.num_ports || index >= CORE_GIDS)
		return -EINVAL;
	if (v1 && hca->eng->frame)
		return -EOPNOTSUPP;
	memcpy(hca->port[port - 1].gid[index], gid, 16);
	hca->port[port - 1].gid_v1[index] = v1;
	return 0;
}

int hca_port_set(struct hca *hca, uint8_t port, bool link_up, uint8_t active_mtu)
{
	struct port *p;

	if (!port || port > hca->cfg.num_ports || !active_mtu || active_mtu > 5)
		return -EINVAL;
	p = &hca->port[port - 1];
	if (p->up && !link_up)
		hca_count(hca, port, HCASIM_COUNTER_LINK_DOWNED);
	if (p->up != link_up)
		event_raise(hca, &p->ev, link_up ? HCASIM_EQE_TYPE_PORT_ACTIVE : HCASIM_EQE_TYPE_PORT_ERR);
	p->up = link_up;
	p->active_mtu = active_mtu;
	hca->eng->port_set(hca->engine, port, 128u << active_mtu);
	hca_announce(hca);
	return 0;
}

bool hca_port_up(const struct hca *hca, uint8_t port)
{
	return port && port <= hca->cfg.num_ports && hca->port[port - 1].up;
}
