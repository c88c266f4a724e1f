// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link_bench.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "devices/driver.h"
#include "devices/family.h"

using namespace hcasim;

static bool inside(const LinkBench &b, const hca_dma_seg &seg)
{
	return seg.addr <= b.memory.size() && seg.len <= b.memory.size() - seg.addr;
}

static int mem_read(void *ctx, uint32_t pasid, const hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	LinkBench &b = *static_cast<LinkBench *>(ctx);
	uint8_t *to = static_cast<uint8_t *>(buf);

	b.log.push_back("read");
	for (uint32_t i = 0; i < nseg; to += seg[i++].len) {
		if (pasid != 1 || !inside(b, seg[i]))
			return -EFAULT;
		memcpy(to, b.memory.data() + seg[i].addr, seg[i].len);
	}
	return 0;
}

static int mem_write(void *ctx, uint32_t pasid, const hca_dma_seg *seg, uint32_t nseg, const void *buf)
{
	LinkBench &b = *static_cast<LinkBench *>(ctx);
	const uint8_t *from = static_cast<const uint8_t *>(buf);

	b.log.push_back("write");
	b.write_segs.push_back({seg, seg + nseg});
	for (uint32_t i = 0; i < nseg; from += seg[i++].len) {
		if (pasid != 1 || !inside(b, seg[i]))
			return -EFAULT;
		memcpy(b.memory.data() + seg[i].addr, from, seg[i].len);
	}
	return 0;
}

static void irq(void *ctx, unsigned int, unsigned int vector)
{
	static_cast<LinkBench *>(ctx)->log.push_back("irq" + std::to_string(vector));
}

static hca_ops quiet_core()
{
	hca_ops ops = {};

	ops.now = [](void *) { return now_ps(); };
	ops.stage_ready = [](void *, hca_stage) {};
	ops.dma = [](void *, hca_dma *) {};
	ops.tx = [](void *, uint8_t, hca_packet *pkt) { hca_packet_free(pkt); };
	ops.msix = [](void *, unsigned int) {};
	ops.timer = [](void *, hca_ps) {};
	return ops;
}

LinkBench::LinkBench(const Profile &p)
    : profile(p), model(profile), ops(quiet_core()),
      core(nullptr), host{mem_read, mem_write, nullptr, nullptr, irq, nullptr}, memory(1 << 20)
{
	hca_config cfg = {};

	strcpy(cfg.name, "link");
	cfg.num_ports = 1;
	cfg.max_qp = cfg.max_cq = cfg.max_mr = 32;
	cfg.max_rd_atomic = 1;
	cfg.doorbell_depth = uint32_t(profile.fifo.doorbell);
	core = hca_create(&cfg, device_family(DEVICE_FAMILY_DEFAULT)->personality, &ops, this);
	if (!core)
		throw std::runtime_error("hca_create");
	endpoint = std::make_unique<Endpoint>("endpoint", profile, model, core, *this);
	root = std::make_unique<RootPort>("root", profile, model, &host, this, 0);
	connect(*endpoint, *root);
	sc_core::sc_start(sc_core::SC_ZERO_TIME);
	for (size_t i = 0; i < memory.size(); i++)
		memory[i] = i * 7 + (i >> 8);
}

LinkBench::~LinkBench()
{
	hca_destroy(core);
}

static void job_done(hca *, hca_dma *dma)
{
	Job *job = reinterpret_cast<Job *>(dma);

	job->times_done++;
	if (job->on_done)
		job->on_done(*job);
}

std::unique_ptr<Job> LinkBench::job(bool write, uint32_t pasid, const std::vector<Range> &ranges)
{
	auto job = std::make_unique<Job>();

	job->dma = {};
	for (const Range &r : ranges)
		job->segs.push_back({r.addr, r.len, 0});
	job->dma.write = write;
	job->dma.class_ = HCA_DMA_PAYLOAD;
	job->dma.pasid = pasid;
	for (const hca_dma_seg &seg : job->segs)
		job->dma.len += seg.len;
	job->buf.resize(job->dma.len + 1);
	job->dma.seg = job->segs.data();
	job->dma.nseg = job->segs.size();
	job->dma.buf = job->buf.data();
	job->dma.done = job_done;
	job->dma.status = 12345; /* not what the host answers */
	job->bench = this;
	return job;
}

void LinkBench::submit(Job &job)
{
	endpoint->dma(&job.dma);
}

void LinkBench::run()
{
	while (sc_core::sc_pending_activity())
		sc_core::sc_start(to_sc(1000000000), sc_core::SC_EXIT_ON_STARVATION);
}

void LinkBench::run_for(hca_ps ps)
{
	sc_core::sc_start(to_sc(ps), sc_core::SC_RUN_TO_TIME);
}
