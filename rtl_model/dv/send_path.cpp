// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// hcasim_send_path against the C engine: the same WQE, keys and memory; the same frames to the byte, or the same error.
#include <cstdlib>
#include <deque>
#include <set>
#include <tuple>

#include <hcasim_wire.h>

#include "Vhcasim_send_path_tb.h"
#include "stream.hpp"
#include "wqes.hpp"

using Path = Dut<Vhcasim_send_path_tb>;

// Keys and memory, each answering when it likes, in the order of the questions.
class World
{
      public:
	World(Path &dut, unsigned int percent, const struct ref_send_qp &qp)
	    : dut_(dut), percent_(percent), bad_lines_(qp.bad_lines), gone_keys_(qp.gone_keys)
	{
	}

	void drive()
	{
		dut_->lookup_ready_i = dut_.random.chance(percent_);
		dut_->answer_valid_i = !asked_.empty() && dut_.random.chance(percent_);
		if (dut_->answer_valid_i) {
			dut_->answer_vendor_err_i = refused(asked_.front()) ? HCASIM_VENDOR_ERR_BAD_LKEY : 0;
			dut_->answer_addr_i = ref_translate(asked_.front().addr);
		}
		dut_->local_ready_i = dut_.random.chance(percent_);
		dut_->local_vendor_err_i = REF_BAD_LOCAL(dut_->local_rkey) ? HCASIM_VENDOR_ERR_BAD_RKEY : 0;
		dut_->read_ready_i = dut_.random.chance(percent_);
		if (!held_)
			dut_->line_valid_i = !lines_.empty() && dut_.random.chance(percent_);
		if (!dut_->line_valid_i)
			return;
		uint8_t line[WORD];
		for (size_t i = 0; i < WORD; i++)
			line[i] = ref_memory(lines_.front() + i);
		to_port(dut_->line_data_i, line, WORD);
		dut_->line_error_i = bad_lines_ && ref_bad_line(lines_.front());
	}

	void sample()
	{
		if (dut_->answer_valid_i)
			asked_.pop_front();
		if (dut_->lookup_valid_o && dut_->lookup_ready_i)
			asked_.push_back(
				{dut_->lookup_addr_o, dut_->lookup_lkey_o, (bool)dut_->lookup_check_o});
		held_ = dut_->line_valid_i && !dut_->line_ready_o;
		if (dut_->line_valid_i && dut_->line_ready_o)
			lines_.pop_front();
		if (dut_->read_valid_o && dut_->read_ready_i)
			for (unsigned int i = 0; i < dut_->read_lines_o; i++)
				lines_.push_back(dut_->read_addr_o / WORD * WORD + i * WORD);
	}

      private:
	struct Question {
		uint64_t addr;
		uint32_t lkey;
		bool check;
	};

	bool refused(const Question &q) const
	{
		return REF_BAD_KEY(q.lkey) || (gone_keys_ && !q.check && REF_GONE_KEY(q.lkey, q.addr));
	}

	Path &dut_;
	unsigned int percent_;
	bool bad_lines_, gone_keys_, held_ = false;
	std::deque<Question> asked_;
	std::deque<uint64_t> lines_;
};

static void random_gid(Random &random, uint8_t gid[16])
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	random.fill(gid, 16);
	if (random.chance(50))
		memcpy(gid, mapped, sizeof(mapped));
}

static struct ref_send_qp random_qp(Random &random)
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
					HCASIM_QPT_RAW_PACKET};
	struct ref_send_qp qp = {};

	qp.qp = {types[random.below(5)], random.below(60) + 1, 4096, 256, 4, 1};
	qp.mtu = 256u << random.below(5);
	qp.qkey = random.u32();
	qp.dest_qpn = random.below(1 << 24);
	qp.psn = random.below(1 << 24);
	qp.udp_sport = (uint16_t)random.u32();
	random.fill(qp.smac, sizeof(qp.smac));
	random.fill(&qp.av, sizeof(qp.av));
	random_gid(random, qp.sgid);
	random_gid(random, qp.av.dgid);
	qp.av.flow_label &= 0xfffff;
	return qp;
}

// A WQE, from a packet of it on. What follows has the QP of the one before it, and stands behind it.
struct Job {
	struct ref_send_qp qp;
	Bytes wqe;
	uint32_t from;
	bool follows;
};

static void set_job(Path &dut, const Job &job)
{
	const struct ref_send_qp &qp = job.qp;

	dut->qp_type = qp.qp.type;
	dut->port = 1;
	dut->qpn = qp.qp.qpn;
	dut->port_mtu = (uint16_t)qp.qp.port_mtu;
	dut->max_inline = (uint16_t)qp.qp.max_inline;
	dut->rd_atomic = qp.qp.max_rd_atomic != 0;
	dut->mtu_log = (uint8_t)__builtin_ctz(qp.mtu);
	dut->qkey = qp.qkey;
	dut->dest_qpn = qp.dest_qpn;
	dut->udp_sport = qp.udp_sport;
	dut->smac = dut->dmac = 0;
	memcpy(&dut->smac, qp.smac, 6);
	memcpy(&dut->dmac, qp.av.dmac, 6);
	to_port(dut->sgid, qp.sgid, 16);
	to_port(dut->dgid, qp.av.dgid, 16);
	dut->hop_limit = qp.av.hop_limit;
	dut->traffic_class = qp.av.traffic_class;
	dut->flow_label = qp.av.flow_label;
	dut->psn = job.follows ? dut.random.u32() : qp.psn; // it does not count
	dut->begin_at = job.from;
	dut->follows = job.follows;
}

struct Ended {
	uint8_t status, vendor_err;
	uint32_t psns;
};

struct Outcome {
	std::vector<Bytes> frames; // that may leave
	std::vector<Ended> ended;
};

// The blocks of WQEs, one after the other.
class Feeder
{
      public:
	Feeder(Path &dut, const std::vector<Job> &jobs) : dut_(dut), jobs_(jobs)
	{
	}

	void drive(unsigned int percent)
	{
		dut_->block_valid_i = job_ < jobs_.size() && dut_.random.chance(percent);
		if (!dut_->block_valid_i)
			return;
		const Job &job = jobs_[job_];

		if (!taken_)
			set_job(dut_, job);
		dut_->index_i = (uint16_t)taken_;
		dut_->posted_i = (uint16_t)(posted(job) - taken_);
		to_port(dut_->block_i, &job.wqe[taken_ * HCASIM_WQEBB_SIZE], HCASIM_WQEBB_SIZE);
	}

	void sample()
	{
		if (!dut_->block_valid_i || !dut_->block_ready_o)
			return;
		if (++taken_ == blocks(jobs_[job_])) {
			job_++;
			taken_ = 0;
		}
	}

      private:
	static unsigned int posted(const Job &job)
	{
		return (unsigned int)(job.wqe.size() / HCASIM_WQEBB_SIZE);
	}
	// That the WQE takes, whatever stands behind it.
	static unsigned int blocks(const Job &job)
	{
		const unsigned int units = job.wqe[offsetof(struct hcasim_wqe_ctrl, size)];
		const unsigned int n = (units + 3) / 4;

		return units && units <= HCA_WQE_MAX / HCASIM_SEG_UNIT && n <= posted(job) ? n : 1;
	}

	Path &dut_;
	const std::vector<Job> &jobs_;
	size_t job_ = 0;
	unsigned int taken_ = 0;
};

// Something is handed over in this cycle.
static bool busy(Path &dut)
{
	return (dut->block_valid_i && dut->block_ready_o) || (dut->lookup_valid_o && dut->lookup_ready_i) ||
	       dut->answer_valid_i || (dut->local_valid_o && dut->local_ready_i) ||
	       (dut->read_valid_o && dut->read_ready_i) || (dut->line_valid_i && dut->line_ready_o) ||
	       (dut->valid_o && dut->ready_i) || dut->done_o;
}

// Until all WQEs have ended and all frames that are expected are out, and some cycles more; or nothing moves any
// more. Returns the cycles.
static unsigned int run(Path &dut, const std::vector<Job> &jobs, size_t frames, unsigned int percent,
			Outcome &out)
{
	World world(dut, percent, jobs[0].qp);
	Feeder feeder(dut, jobs);
	Collector got;
	unsigned int cycles = 0, after = 0, idle = 0;

	while (idle < 2000 && after < 300) {
		feeder.drive(percent);
		dut->ready_i = dut.random.chance(percent);
		world.drive();
		dut.settle();
		got.take(dut);
		if (dut->valid_o && dut->ready_i && dut->last_o) {
			if (!dut->error_o)
				out.frames.push_back(got.packets.back());
			got.packets.clear();
		}
		if (dut->done_o)
			out.ended.push_back({dut->done_status, dut->done_vendor_err, dut->done_psns});
		idle = busy(dut) ? 0 : idle + 1;
		feeder.sample();
		world.sample();
		dut.clock();
		if (out.ended.size() < jobs.size() || out.frames.size() < frames)
			cycles++;
		else
			after++;
	}
	dut->block_valid_i = 0;
	return cycles;
}

// ---- What has been met: operation, QP type, how its data is given, and how it ended ----

enum Data { DATA_NONE, DATA_INLINE, DATA_SGE, DATA_SGES };

static std::set<std::tuple<uint8_t, uint8_t, Data>> sent;
static std::set<std::pair<uint8_t, uint8_t>> gone_back;
static std::set<std::pair<uint8_t, uint8_t>> errors; // status, vendor_err
static unsigned int cut_short;                       // by a key that was gone, after some packets

static Data data_of(const Bytes &wqe, const struct ref_sent &ref)
{
	const uint32_t flags = wqe[offsetof(struct hcasim_wqe_ctrl, qpn_flags) + 3];

	if (flags << 24 & HCASIM_WQE_CTRL_INLINE_MASK)
		return DATA_INLINE;
	return ref.sges > 1 ? DATA_SGES : ref.sges ? DATA_SGE : DATA_NONE;
}

static void free_frames(struct ref_sent &ref)
{
	while (ref.frames)
		free(ref.frame[--ref.frames]);
}

// What the C engine makes of WQEs, one after the other.
class Reference
{
      public:
	// Of a message: the RTL takes a cycle for each, even if it has failed.
	static constexpr uint32_t MAX_PACKETS = 4000;

	// False: a message is longer (a length was damaged), or so long that the C engine does not send it at once.
	bool add(Job &job)
	{
		static struct ref_sent ref;

		if (job.follows)
			job.qp.psn = next_psn_;
		ref_send(&job.qp, job.wqe.data(), (uint32_t)(job.wqe.size() / HCASIM_WQEBB_SIZE), job.from,
			 &ref);
		const bool all = ref.made < REF_WINDOW && ref.psns <= MAX_PACKETS;
		if (all)
			take(job, ref);
		free_frames(ref);
		return all;
	}

	Outcome out;
	uint32_t psns = 0; // of the last one; 0: it was not sent

      private:
	void take(const Job &job, const struct ref_sent &ref)
	{
		const Ended flushed = {HCASIM_CQE_STATUS_WR_FLUSH_ERR, 0, 0};
		const bool flush = job.follows && failed_;

		out.ended.push_back(flush ? flushed : Ended{ref.status, ref.vendor_err, ref.psns});
		errors.insert({out.ended.back().status, out.ended.back().vendor_err});
		failed_ = out.ended.back().status != HCASIM_CQE_STATUS_OK;
		cut_short += ref.frames && out.ended.back().vendor_err == HCASIM_VENDOR_ERR_BAD_LKEY;
		next_psn_ = (job.qp.psn + ref.psns) & HCASIM_PSN_MASK;
		psns = failed_ ? 0 : ref.psns;
		if (flush)
			return;
		for (uint32_t i = 0; i < ref.frames; i++)
			out.frames.push_back(Bytes(ref.frame[i], ref.frame[i] + ref.len[i]));
		if (!failed_ && job.from)
			gone_back.insert({job.wqe[0], job.qp.qp.type});
		else if (!failed_)
			sent.insert({job.wqe[0], job.qp.qp.type, data_of(job.wqe, ref)});
	}

	bool failed_ = false;
	uint32_t next_psn_ = 0;
};

static bool same(const Outcome &rtl, const Outcome &ref)
{
	if (rtl.frames != ref.frames || rtl.ended.size() != ref.ended.size())
		return false;
	for (size_t i = 0; i < ref.ended.size(); i++) {
		const Ended &a = rtl.ended[i], &b = ref.ended[i];

		if (a.status != b.status || a.vendor_err != b.vendor_err || (!b.status && a.psns != b.psns))
			return false;
	}
	return true;
}

static void report(uint32_t seed, unsigned int number, const std::vector<Job> &jobs, const Outcome &rtl,
		   const Outcome &ref)
{
	size_t i = 0;

	fprintf(stderr,
		"  seed %u (rtl_test send_path %u), batch %u: %zu/%zu frames, %zu/%zu WQEs ended (RTL/C)\n",
		seed, seed, number, rtl.frames.size(), ref.frames.size(), rtl.ended.size(), ref.ended.size());
	while (i < rtl.frames.size() && i < ref.frames.size() && rtl.frames[i] == ref.frames[i])
		i++;
	if (i < ref.frames.size() || i < rtl.frames.size())
		fprintf(stderr, "    frame %zu is the first that differs\n", i);
	for (i = 0; i < jobs.size(); i++) {
		const Ended none = {0xff, 0xff, 0}, a = i < rtl.ended.size() ? rtl.ended[i] : none,
			    b = ref.ended[i];

		fprintf(stderr,
			"    op %u on QP type %u, from packet %u, follows %d: status %u/%u, vendor_err "
			"%u/%u, psns "
			"%u/%u\n",
			jobs[i].wqe[0], jobs[i].qp.qp.type, jobs[i].from, jobs[i].follows, a.status, b.status,
			a.vendor_err, b.vendor_err, a.psns, b.psns);
	}
}

static bool can_go_back(uint8_t qp_type)
{
	return qp_type == HCASIM_QPT_RC || qp_type == HCASIM_QPT_XRC_SEND;
}

// WQEs of one or several QPs, some of them from the middle.
static std::vector<Job> random_jobs(Random &random, Reference &ref)
{
	const bool bad_lines = random.chance(20), gone_keys = !bad_lines && random.chance(15);
	std::vector<Job> jobs;

	for (unsigned int n = 1 + random.below(12); n--;) {
		Job job = {};

		job.follows = !jobs.empty() && random.chance(60);
		job.qp = job.follows ? jobs.back().qp : random_qp(random);
		job.qp.bad_lines = bad_lines;
		job.qp.gone_keys = gone_keys;
		job.wqe = random_wqe(random, job.qp.qp, 0, {3000, true}).bytes;
		if (!ref.add(job))
			continue;
		jobs.push_back(job);
		if (!bad_lines && ref.psns > 1 && can_go_back(job.qp.qp.type) && random.chance(60)) {
			job.from = 1 + random.below(ref.psns - 1);
			job.follows = false;
			if (ref.add(job))
				jobs.push_back(job);
		}
	}
	return jobs;
}

static unsigned int wqes;
constexpr uint32_t SEEDS = 30; // so many meet all cells, and what planted faults change

static bool compare(Path &dut, uint32_t seed, unsigned int number)
{
	Reference ref;
	const std::vector<Job> jobs = random_jobs(dut.random, ref);
	Outcome out;

	if (jobs.empty())
		return true;
	wqes += (unsigned int)jobs.size();
	run(dut, jobs, ref.out.frames.size(), dut.random.chance(20) ? 100 : 40 + dut.random.below(61), out);
	if (same(out, ref.out))
		return true;
	report(seed, number, jobs, out, ref.out);
	return false;
}

static void random_wqes()
{
	for (uint32_t i = 0; i < Seeds::count(SEEDS); i++) {
		const uint32_t seed = Seeds::first() + i;
		Path dut(seed);

		for (unsigned int batch = 0; batch < 40; batch++)
			CU_ASSERT_TRUE_FATAL(compare(dut, seed, batch));
	}
	printf(" seeds %u to %u, %u WQEs", Seeds::first(), Seeds::first() + Seeds::count(SEEDS) - 1, wqes);
}

// The run above has sent every operation that the tables allow, with each kind of data, and gone back in those that can
// be long.
static void all_cells_met()
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
					HCASIM_QPT_RAW_PACKET};

	if (Seeds::given())
		return; /* a replay meets what it meets */
	for (const auto &rule : hcasim_wr_rules)
		for (uint8_t type : types) {
			bool met = false;

			for (Data data : {DATA_NONE, DATA_INLINE, DATA_SGE, DATA_SGES})
				met |= sent.count({rule.wqe_op, type, data}) != 0;
			CU_ASSERT_TRUE(met || !((rule.qp_types | rule.post_qp_types) & HCASIM_QPT_BIT(type)));
		}
	for (uint8_t op = HCASIM_WQE_OP_SEND; op <= HCASIM_WQE_OP_RDMA_READ; op++) {
		CU_ASSERT_TRUE(gone_back.count({op, HCASIM_QPT_RC}));
		CU_ASSERT_TRUE(gone_back.count({op, HCASIM_QPT_XRC_SEND}));
	}
	CU_ASSERT_TRUE(errors.count({HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_BAD_LKEY}));
	CU_ASSERT_TRUE(cut_short > 0);
	CU_ASSERT_TRUE(errors.count({HCASIM_CQE_STATUS_LOC_PROT_ERR, HCASIM_VENDOR_ERR_DMA_FAULT}));
	CU_ASSERT_TRUE(errors.count({HCASIM_CQE_STATUS_MW_BIND_ERR, HCASIM_VENDOR_ERR_BAD_RKEY}));
	CU_ASSERT_TRUE(errors.count({HCASIM_CQE_STATUS_WR_FLUSH_ERR, HCASIM_VENDOR_ERR_NONE}));
}

#ifdef HCASIM_RTL_COVERAGE
static const char *const data_names[] = {"no data", "inline", "one SGE", "several SGEs"};

// An operation can be given its data in this way.
static bool data_is_legal(const struct hcasim_wr_rule &rule, uint8_t type, Data data)
{
	const uint8_t kind = hcasim_wqe_format(rule.wqe_op)->data;

	if (type == HCASIM_QPT_RAW_PACKET && data == DATA_NONE && rule.wqe_op == HCASIM_WQE_OP_SEND)
		return false; // a frame has at least its header
	if (kind == HCASIM_WQE_DATA_NONE)
		return data == DATA_NONE;
	if (kind == HCASIM_WQE_DATA_INLINE)
		return data == DATA_INLINE;
	return data == DATA_INLINE ? rule.inline_ok : data == DATA_SGE || !rule.length;
}

// Functional bins, for rtl_model/dv/coverage: a line each.
static void write_bins()
{
	static const uint8_t types[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
					HCASIM_QPT_RAW_PACKET};
	FILE *out = fopen("bins.txt", "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	for (const auto &rule : hcasim_wr_rules)
		for (uint8_t type : types)
			for (Data data : {DATA_NONE, DATA_INLINE, DATA_SGE, DATA_SGES})
				if (rule.qp_types & HCASIM_QPT_BIT(type) && data_is_legal(rule, type, data))
					fprintf(out, "operation %u|QP type %u|%s|%d\n", rule.wqe_op, type,
						data_names[data], (int)sent.count({rule.wqe_op, type, data}));
	for (const auto &e : errors)
		fprintf(out, "status %u|vendor_err %u||1\n", e.first, e.second);
	fclose(out);
}
#endif

// ---- Rates, in cycles of the model ----

static Job write_job(const struct ref_send_qp &qp, const void *data, uint32_t data_bytes, bool is_inline,
		     bool follows)
{
	struct hcasim_wqe_ctrl ctrl = {};
	Job job = {qp, Bytes(2 * HCASIM_WQEBB_SIZE), 0, follows};
	const uint32_t bytes = 32 + data_bytes;

	ctrl.opcode = HCASIM_WQE_OP_RDMA_WRITE;
	ctrl.size = (uint8_t)((bytes + HCASIM_SEG_UNIT - 1) / HCASIM_SEG_UNIT);
	ctrl.qpn_flags = qp.qp.qpn | (is_inline ? HCASIM_WQE_CTRL_INLINE_MASK : 0);
	job.wqe.resize((ctrl.size + 3u) / 4 * HCASIM_WQEBB_SIZE);
	memcpy(&job.wqe[0], &ctrl, sizeof(ctrl));
	memcpy(&job.wqe[32], data, data_bytes);
	return job;
}

// Cycles from the first block to the last frame, of `n` WQEs that end well.
static unsigned int cycles_of(std::vector<Job> jobs)
{
	Path dut(1);
	Reference ref;
	Outcome out;

	for (Job &job : jobs)
		CU_ASSERT_TRUE(ref.add(job));
	const unsigned int cycles = run(dut, jobs, ref.out.frames.size(), 100, out);

	CU_ASSERT_TRUE(same(out, ref.out));
	CU_ASSERT_EQUAL(out.ended.back().status, HCASIM_CQE_STATUS_OK);
	return cycles;
}

static struct ref_send_qp rate_qp(bool ipv4)
{
	Random random(1);
	struct ref_send_qp qp = random_qp(random);

	qp.qp.type = HCASIM_QPT_RC;
	qp.mtu = 4096;
	qp.bad_lines = false;
	for (uint8_t *gid : {qp.sgid, qp.av.dgid}) {
		memset(gid, ipv4 ? 0 : 0x20, 12);
		if (ipv4)
			gid[10] = gid[11] = 0xff;
	}
	return qp;
}

// Back-to-back WRITEs with 64 bytes inline: at most 4 cycles each with words of 64 bytes.
static void inline_rate()
{
	for (bool ipv4 : {true, false}) {
		unsigned int cycles[2] = {};

		for (unsigned int run : {0, 1}) {
			std::vector<Job> jobs;
			uint8_t data[4 + 64] = {64};

			for (unsigned int i = 0; i < (run ? 200u : 100u); i++)
				jobs.push_back(write_job(rate_qp(ipv4), data, sizeof(data), true, i != 0));
			cycles[run] = cycles_of(jobs);
		}
		printf(" %.2f", (cycles[1] - cycles[0]) / 100.0);
		CU_ASSERT_TRUE(cycles[1] - cycles[0] <= (words_in(90) + words_in(64) + 1) * 100);
	}
}

// WRITEs of 4 KiB at odd addresses: at least 95 % of the bytes that the frames could carry are payload.
static void payload_rate()
{
	for (bool ipv4 : {true, false}) {
		unsigned int cycles[2] = {};

		for (unsigned int run : {0, 1}) {
			std::vector<Job> jobs;

			for (unsigned int i = 0; i < (run ? 40u : 20u); i++) {
				const struct hcasim_seg_data sge = {0x10000ull * i + 13 * i + 1, 4096, 0};

				jobs.push_back(write_job(rate_qp(ipv4), &sge, sizeof(sge), false, i != 0));
			}
			cycles[run] = cycles_of(jobs);
		}
		printf(" %.2f%%", 100.0 * 20 * words_in(4096) / (cycles[1] - cycles[0]));
		CU_ASSERT_TRUE(20 * words_in(4096) * 100 >= 95 * (cycles[1] - cycles[0]));
	}
}

extern const struct test send_path_tests[];
const struct test send_path_tests[] = {
	{"random WQEs", random_wqes},
	{"all cells met", all_cells_met},
#ifdef HCASIM_RTL_COVERAGE
	{"functional bins", write_bins},
#endif
	{"64 bytes inline back to back", inline_rate},
	{"4 KiB at 95 % of the data path", payload_rate},
	{nullptr, nullptr},
};
