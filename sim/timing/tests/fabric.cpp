// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "devices/driver.h"
#include "devices/family.h"
#include "fabric.h"

#include <cstring>
#include <stdexcept>

static constexpr uint32_t PD = 1;

static void must(int err, const char *what)
{
	if (err)
		throw std::runtime_error(std::string(what) + ": " + strerror(-err));
}

static uint64_t addr_of(const void *p)
{
	return reinterpret_cast<uint64_t>(p);
}

static void gid_of(unsigned int index, uint8_t gid[16])
{
	const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, uint8_t(index + 1)};

	memcpy(gid, mapped, sizeof(mapped));
}

Node::Node(struct machine *machine, unsigned int hca_index)
    : m(machine), index(hca_index), core(machine_hca(machine, hca_index)), buffer(BUFFER), rings(new Rings())
{
	hca_mr_attr mr = {};
	uint8_t gid[16];

	gid_of(index, gid);
	must(hca_gid_set(core, 1, 0, gid, false), "gid");
	mr.pdn = PD;
	mr.access = HCASIM_ACCESS_LOCAL_WRITE | HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ |
		    HCASIM_ACCESS_REMOTE_ATOMIC;
	mr.pasid = HCA_PASID_KERNEL;
	mr.va = mr.iova = addr_of(buffer.data());
	mr.length = BUFFER;
	must(hca_mr_create(core, &mr, &key), "mr");
	create_queues();
}

void Node::create_queues()
{
	hca_eq_attr eq = {{HCA_PASID_KERNEL, addr_of(rings->eq), EQES, HCASIM_EQE_SIZE}, 3};
	hca_cq_attr cq = {{HCA_PASID_KERNEL, addr_of(rings->cq), CQES, HCASIM_CQE_SIZE},
			  addr_of(&rings->cq_record),
			  0,
			  0};
	hca_qp_attr_create qp = {};

	must(hca_eq_create(core, &eq, &eqn), "eq");
	cq.eqn = eqn;
	cq.uar_page = 1;
	must(hca_cq_create(core, &cq, &cqn), "cq");
	qp.type = HCASIM_QPT_RC;
	qp.pdn = PD;
	qp.send_cqn = qp.recv_cqn = cqn;
	qp.sq = {HCA_PASID_KERNEL, addr_of(rings->sq), WQES, HCASIM_WQEBB_SIZE};
	qp.record = addr_of(&rings->sq_record);
	qp.max_send_sge = qp.max_recv_sge = 1;
	qp.max_send_wr = WQES;
	qp.uar_page = 1;
	must(hca_qp_create(core, &qp, &qpn), "qp");
}

void Node::connect(const Node &peer, const uint8_t mac[6], uint8_t traffic_class, const Options &opt)
{
	hca_qp_attr a = {};

	a.state = HCASIM_QPS_INIT;
	a.port = 1;
	a.access = HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ | HCASIM_ACCESS_REMOTE_ATOMIC;
	must(hca_qp_modify(core, qpn, &a,
			   HCASIM_QP_ATTR_STATE | HCASIM_QP_ATTR_PORT | HCASIM_QP_ATTR_PKEY_INDEX |
				   HCASIM_QP_ATTR_ACCESS_FLAGS),
	     "INIT");
	a.state = HCASIM_QPS_RTR;
	a.path_mtu = opt.path_mtu;
	a.dest_qpn = peer.qpn;
	a.max_dest_rd_atomic = opt.rd_atomic;
	a.min_rnr_timer = 1;
	gid_of(peer.index, a.av.dgid);
	memcpy(a.av.dmac, mac, 6);
	a.av.traffic_class = traffic_class;
	a.av.hop_limit = 64;
	a.av.port = 1;
	must(hca_qp_modify(core, qpn, &a,
			   HCASIM_QP_ATTR_STATE | HCASIM_QP_ATTR_PATH_MTU | HCASIM_QP_ATTR_DEST_QPN |
				   HCASIM_QP_ATTR_RQ_PSN | HCASIM_QP_ATTR_MAX_DEST_RD_ATOMIC |
				   HCASIM_QP_ATTR_MIN_RNR_TIMER | HCASIM_QP_ATTR_AV),
	     "RTR");
	a.state = HCASIM_QPS_RTS;
	a.timeout = opt.timeout;
	a.retry_cnt = opt.retry_cnt;
	a.rnr_retry = 7;
	a.max_rd_atomic = opt.rd_atomic;
	must(hca_qp_modify(core, qpn, &a,
			   HCASIM_QP_ATTR_STATE | HCASIM_QP_ATTR_TIMEOUT | HCASIM_QP_ATTR_RETRY_CNT |
				   HCASIM_QP_ATTR_RNR_RETRY | HCASIM_QP_ATTR_SQ_PSN |
				   HCASIM_QP_ATTR_MAX_QP_RD_ATOMIC),
	     "RTS");
}

uint8_t *Node::put(uint8_t op, uint64_t local, uint64_t remote, uint32_t rkey, uint32_t len)
{
	uint8_t *wqe = rings->sq + (pi % WQES) * HCASIM_WQEBB_SIZE;
	hcasim_wqe_ctrl ctrl = {};
	hcasim_seg_remote rem = {};
	hcasim_seg_data data = {};

	ctrl.opcode = op;
	ctrl.size = (sizeof(ctrl) + sizeof(rem) + sizeof(data)) / HCASIM_SEG_UNIT;
	ctrl.index = htole16(pi);
	ctrl.qpn_flags = htole32(qpn | HCASIM_WQE_CTRL_SIGNALED_MASK);
	rem.addr = htole64(remote);
	rem.rkey = htole32(rkey);
	data.addr = htole64(local);
	data.length = htole32(len);
	data.lkey = htole32(key);
	memset(wqe, 0, HCASIM_WQEBB_SIZE);
	memcpy(wqe, &ctrl, sizeof(ctrl));
	memcpy(wqe + sizeof(ctrl), &rem, sizeof(rem));
	memcpy(wqe + sizeof(ctrl) + sizeof(rem), &data, sizeof(data));
	pi++;
	rings->sq_record.sq_pi = htole32(pi);
	return wqe;
}

void Node::put_add(uint64_t local, uint64_t remote, uint32_t rkey)
{
	uint8_t *wqe = put(HCASIM_WQE_OP_ATOMIC_FA, local, remote, rkey, 8);
	uint8_t *atomic = wqe + sizeof(hcasim_wqe_ctrl) + sizeof(hcasim_seg_remote);
	hcasim_wqe_ctrl ctrl;
	hcasim_seg_atomic add = {};

	add.swap_add = htole64(1);
	memmove(atomic + sizeof(add), atomic, sizeof(hcasim_seg_data));
	memcpy(atomic, &add, sizeof(add));
	memcpy(&ctrl, wqe, sizeof(ctrl));
	ctrl.size += sizeof(add) / HCASIM_SEG_UNIT;
	memcpy(wqe, &ctrl, sizeof(ctrl));
}

static constexpr uint64_t PAGE = HCASIM_UAR_PAGE_SIZE; /* page 1 */

void Node::ring()
{
	uint64_t db = htole64(HCASIM_FIELD_PREP(HCASIM_DB_SQ_QPN_MASK, uint64_t(qpn)) |
			      HCASIM_FIELD_PREP(HCASIM_DB_SQ_PI_MASK, uint64_t(pi & 0xffff)));

	machine_mmio_write(m, 0, index, HCASIM_BAR_UAR, PAGE + HCASIM_UAR_DB_SQ, &db, sizeof(db), true);
}

void Node::push(const uint8_t *wqe, unsigned int stores)
{
	for (unsigned int i = 0; i < stores; i++)
		machine_mmio_write(m, 0, index, HCASIM_BAR_UAR, PAGE + HCASIM_UAR_BF + 8 * i, wqe + 8 * i, 8,
				   true);
}

void Node::arm()
{
	uint64_t db;

	rings->cq_record.ci = htole32(ci);
	rings->cq_record.arm = htole32(++arm_sn & 3);
	db = htole64(cqn | HCASIM_FIELD_PREP(HCASIM_DB_CQ_ARM_SN_MASK, uint64_t(arm_sn & 3)) |
		     HCASIM_FIELD_PREP(HCASIM_DB_CQ_CI_MASK, uint64_t(ci)));
	machine_mmio_write(m, 0, index, HCASIM_BAR_UAR, PAGE + HCASIM_UAR_DB_CQ, &db, sizeof(db), false);
}

const hcasim_cqe *Node::poll()
{
	const hcasim_cqe *cqe = reinterpret_cast<const hcasim_cqe *>(rings->cq) + ci % CQES;
	unsigned int phase = ci / CQES % 2 ? 0 : 1;

	if ((cqe->owner & HCASIM_CQE_PHASE_MASK) != phase)
		return nullptr;
	ci++;
	rings->cq_record.ci = htole32(ci);
	return cqe;
}

struct hca_counters Node::counters() const
{
	struct hca_counters c;

	hca_counters(core, &c);
	return c;
}

static int no_read(void *, uint32_t, const hca_dma_seg *, uint32_t, void *)
{
	return -EFAULT;
}

static int no_write(void *, uint32_t, const hca_dma_seg *, uint32_t, const void *)
{
	return -EFAULT;
}

Fabric::Fabric(const Options &opt)
{
	static const machine_host_ops host = {
		no_read,
		no_write,
		nullptr,
		nullptr,
		[](void *ctx, unsigned int hca, unsigned int vector) {
			static_cast<Fabric *>(ctx)->irqs.push_back(hca << 16 | vector);
		},
		[](void *ctx, unsigned int hca, hca_stage s, const hca_work *work, uint32_t cycles) {
			Fabric &f = *static_cast<Fabric *>(ctx);

			f.steps.push_back({hca, s, *work});
			if (hca)
				return;
			f.stage[s].steps++;
			f.stage[s].cycles += cycles;
		}};
	machine_config cfg = {};
	char err[300] = "";

	cfg.num_hcas = opt.hcas;
	cfg.profile = opt.profile.c_str();
	cfg.fault = opt.fault.empty() ? nullptr : opt.fault.c_str();
	cfg.trace_dir = opt.trace_dir.empty() ? nullptr : opt.trace_dir.c_str();
	cfg.seed = opt.seed;
	cfg.personality = device_family(DEVICE_FAMILY_DEFAULT)->personality;
	cfg.engine = opt.engine;
	cfg.pcie = opt.pcie;
	m = machine_create(&cfg, &host, this, err, sizeof(err));
	if (!m)
		throw std::runtime_error(err);
	for (unsigned int i = 0; i < 2 * opt.traffic_class.size(); i++)
		nodes.push_back(std::make_unique<Node>(m, i % 2 % opt.hcas));
	for (unsigned int i = 0; i < nodes.size(); i++) {
		const Node &peer = *nodes[i ^ 1];

		const uint8_t nobody[6] = {2, 0, 0, 0, 0, 99};

		nodes[i]->connect(peer, opt.wrong_mac ? nobody : machine_hca_config(m, peer.index)->mac[0],
				  opt.traffic_class[i / 2], opt);
	}
}

Fabric::~Fabric()
{
	if (m)
		machine_destroy(m);
}

machine_state Fabric::settle()
{
	machine_state state;

	while ((state = machine_run(m, 1000000)) == MACHINE_ACTIVE)
		;
	return state;
}

const hcasim_cqe *Fabric::wait(unsigned int n)
{
	while (true) {
		machine_state state = machine_run(m, 1000000);
		const hcasim_cqe *cqe = nodes[n]->poll();

		if (cqe || state == MACHINE_IDLE)
			return cqe;
		if (state == MACHINE_TIMERS)
			machine_advance(m, machine_next_timer(m));
	}
}

void fill(Node &n, uint8_t seed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		n.buffer[i] = i * 31 + (i >> 8) + seed;
}

bool placed(const Node &from, size_t from_at, const Node &to, size_t to_at, size_t len)
{
	return memcmp(&from.buffer[from_at], &to.buffer[to_at], len) == 0 && to.buffer[to_at + len] == 0;
}
