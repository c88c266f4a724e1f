// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The link against the published model of pcie-bench: Gen3 x8, MPS 256, MRRS 512, Gb/s. */
#include "suite.h"

#include <cmath>

#include "link_bench.h"

using namespace hcasim;

static const struct {
	uint32_t size;
	double write, read, both;
} table[] = {
	{8, 14.471, 16.539, 8.269},     {16, 23.154, 25.727, 14.471},  {32, 33.077, 35.621, 23.154},
	{64, 42.098, 44.103, 33.077},   {128, 48.745, 50.063, 42.098}, {256, 52.923, 53.690, 48.745},
	{257, 48.775, 50.089, 45.217},  {512, 52.923, 53.690, 50.748}, {1024, 52.923, 53.690, 50.748},
	{1500, 52.815, 53.597, 50.599},
};

static bool near(double got, double want, uint32_t size, const char *what)
{
	bool ok = std::fabs(got / want - 1) < 0.001;

	if (!ok)
		fprintf(stderr, "%s of %u B: %.3f Gb/s, should be %.3f\n", what, size, got, want);
	return ok;
}

/* TLPs of one kind for `size` bytes that start at a page. */
template <class Chunk>
static uint32_t pieces(uint32_t size, Chunk chunk)
{
	uint32_t n = 0;

	for (uint32_t done = 0; done < size; n++)
		done += chunk(done, size - done);
	return n;
}

static void accounting()
{
	Profile p = link_profile(false);
	PcieModel m(p);

	CU_ASSERT(near(PcieModel::tlp_gbps(p), 57.885, 0, "TLP bandwidth"));
	for (const auto &row : table) {
		uint32_t s = row.size;
		uint32_t writes = pieces(s, [&](uint64_t a, uint32_t l) { return m.write_chunk(a, l); });
		uint32_t reads = pieces(s, [&](uint64_t a, uint32_t l) { return m.read_chunk(a, l); });
		uint32_t cpls = pieces(s, [&](uint64_t a, uint32_t l) { return m.completion_chunk(a, l); });
		uint32_t mwr = writes * m.tlp_bytes(TlpType::MWr, 0) + s,
			 mrd = reads * m.tlp_bytes(TlpType::MRd, 0);
		uint32_t cpl = cpls * m.tlp_bytes(TlpType::CplD, 0) + s;

		CU_ASSERT(near(57.885 * s / mwr, row.write, s, "write"));
		CU_ASSERT(near(57.885 * s / std::max(cpl, mrd), row.read, s, "read"));
		CU_ASSERT(near(57.885 * s / std::max(mwr + mrd, cpl), row.both, s, "both"));
	}
}

static void splitting()
{
	Profile p = link_profile(false);
	PcieModel m(p);

	CU_ASSERT_EQUAL(m.write_chunk(0x1000, 300), 256);
	CU_ASSERT_EQUAL(m.write_chunk(0x1ff0, 300), 16); /* 4 KiB boundary */
	CU_ASSERT_EQUAL(m.read_chunk(0x1e01, 4096), 511);
	CU_ASSERT_EQUAL(m.read_chunk(0x1000, 4096), 512);
	CU_ASSERT_EQUAL(m.completion_chunk(0x1001, 512), 255); /* ends on a multiple of the RCB */
	CU_ASSERT_EQUAL(m.completion_chunk(0x103f, 512), 256 - 63);
	CU_ASSERT_EQUAL(m.completion_chunk(0x1001, 3), 3);
}

/* A stream of equal transfers, `depth` of them always under way. */
struct Stream {
	std::vector<std::unique_ptr<Job>> jobs;
	uint64_t bytes = 0;

	Stream(LinkBench &b, bool write, uint32_t size, unsigned int depth)
	{
		for (unsigned int i = 0; i < depth; i++) {
			jobs.push_back(b.job(write, 1, {{uint64_t(write ? 0 : 8192), size}}));
			jobs.back()->on_done = [this, &b](Job &job) {
				bytes += job.dma.len;
				b.submit(job);
			};
		}
	}
	void start(LinkBench &b)
	{
		for (auto &job : jobs)
			b.submit(*job);
	}
};

static double gbps(uint64_t bytes, hca_ps time)
{
	return bytes * 8000.0 / time;
}

static const hca_ps WARM = 20000000, MEASURE = 500000000;

static void simulated_one_way(bool write, double size, double want)
{
	LinkBench b(link_profile(true));
	Stream s(b, write, size, 500);

	s.start(b);
	b.run_for(WARM);
	uint64_t before = s.bytes;

	b.run_for(MEASURE);
	CU_ASSERT(near(gbps(s.bytes - before, MEASURE), want, size,
		       write ? "simulated write" : "simulated read"));
}

static void simulated_write()
{
	for (const auto &row : table)
		simulated_one_way(true, row.size, row.write);
}

static void simulated_read()
{
	for (const auto &row : table)
		simulated_one_way(false, row.size, row.read);
}

/* Each read is followed by a write of the same size, as the table has it: as much one way as the other. */
static void simulated_both()
{
	for (const auto &row : table) {
		LinkBench b(link_profile(true));
		std::vector<std::unique_ptr<Job>> jobs;
		uint64_t bytes = 0;

		for (unsigned int i = 0; i < std::min(500u, 65536 / row.size); i++) {
			auto read = b.job(false, 1, {{8192, row.size}});
			auto write = b.job(true, 1, {{0, row.size}});
			Job *w = write.get(), *r = read.get();

			read->on_done = [&b, w](Job &) { b.submit(*w); };
			write->on_done = [&b, &bytes, r](Job &job) {
				bytes += job.dma.len;
				b.submit(*r);
			};
			b.submit(*r);
			jobs.push_back(std::move(read));
			jobs.push_back(std::move(write));
		}
		b.run_for(WARM);
		uint64_t before = bytes;

		b.run_for(4 * MEASURE);
		CU_ASSERT(near(gbps(bytes - before, 4 * MEASURE), row.both, row.size, "simulated both"));
	}
}

/* What the latency figures add up to: a warm 64 B read of the NFP6000 takes 600 ns. */
static void read_latency()
{
	LinkBench b(link_profile(false));
	auto job = b.job(false, 1, {{0, 64}});
	hca_ps start = now_ps(), end = 0;

	job->on_done = [&end](Job &) { end = now_ps(); };
	b.submit(*job);
	b.run();
	CU_ASSERT(end - start > 570000 && end - start < 630000);
}

static void credits()
{
	Credits c(2, 256);
	hca_ps retry = HCA_PS_NEVER;

	CU_ASSERT(c.available(0, 256, retry));
	c.take(200, 100); /* 13 units of 16 bytes */
	CU_ASSERT(c.available(0, 48, retry));
	CU_ASSERT_FALSE(c.available(0, 49, retry));
	CU_ASSERT_EQUAL(retry, 100);
	c.take(1, 150);
	retry = HCA_PS_NEVER;
	CU_ASSERT_FALSE(c.available(99, 0, retry)); /* no header credit */
	CU_ASSERT_EQUAL(retry, 100);
	CU_ASSERT(c.available(100, 208, retry));
	CU_ASSERT(c.available(150, 256, retry));
}

/* With credits for one TLP at a time, every write waits for the credit of the one before. */
static void credits_throttle()
{
	Profile p = link_profile(true);

	p.pcie.posted_headers = 1;
	LinkBench b(p);
	Stream s(b, true, 64, 50);

	s.start(b);
	b.run_for(MEASURE);
	double period = b.model.tlp_ps(TlpType::MWr, 64) + 2 * p.pcie.latency;

	CU_ASSERT(near(gbps(s.bytes, MEASURE), 64 * 8000.0 / period, 64, "one credit"));
}

int main()
{
	return run_suite("PCIe link", {{"accounting", accounting},
				       {"splitting", splitting},
				       {"simulated write", simulated_write},
				       {"simulated read", simulated_read},
				       {"simulated read and write", simulated_both},
				       {"read latency", read_latency},
				       {"credits", credits},
				       {"credits throttle", credits_throttle}});
}
