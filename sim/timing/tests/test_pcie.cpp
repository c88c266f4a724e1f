// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The link of profile pcie3x8 against the published model of pcie-bench: Gen3 x8, MPS 256, MRRS 512, Gb/s. */
#include "suite.h"

#include <cmath>

#include "link_rates.h"

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
	Profile p = link_profile("pcie3x8");
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
	Profile p = link_profile("pcie3x8");
	PcieModel m(p);

	CU_ASSERT_EQUAL(m.write_chunk(0x1000, 300), 256);
	CU_ASSERT_EQUAL(m.write_chunk(0x1ff0, 300), 16); /* 4 KiB boundary */
	CU_ASSERT_EQUAL(m.read_chunk(0x1e01, 4096), 511);
	CU_ASSERT_EQUAL(m.read_chunk(0x1000, 4096), 512);
	CU_ASSERT_EQUAL(m.completion_chunk(0x1001, 512), 255); /* ends on a multiple of the RCB */
	CU_ASSERT_EQUAL(m.completion_chunk(0x103f, 512), 256 - 63);
	CU_ASSERT_EQUAL(m.completion_chunk(0x1001, 3), 3);
}

static double gbps(uint64_t bytes, hca_ps time)
{
	return bytes * 8000.0 / time;
}

static const hca_ps MEASURE = 500000000;

static void simulated_one_way(bool write, uint32_t size, double want)
{
	CU_ASSERT(near(link_gbps(link_profile("pcie3x8"), write, size), want, size,
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

static void simulated_both()
{
	for (const auto &row : table)
		CU_ASSERT(near(link_gbps_both(link_profile("pcie3x8"), row.size), row.both, row.size,
			       "simulated both"));
}

/* pcie-bench's formulae (SIGCOMM 2018, section 3), for transfers that start at a page. */
struct Formula {
	double raw, dllps, header, completion, mps, mrrs; /* Gb/s; bytes */

	double tlp_bw() const
	{
		return raw * (1 - 2 * 8 / dllps - 4.0 / 1538);
	}
	double write(double size) const
	{
		return tlp_bw() * size / (size + header * std::ceil(size / mps));
	}
	double read(double size) const
	{
		const double rx = size + completion * std::ceil(size / mps),
			     tx = header * std::ceil(size / mrrs);

		return tlp_bw() * size / std::max(rx, tx);
	}
};

/* Other sizes of payload and request, with the DLLP rates that the specification has for them, and headers of 3 DW. */
static void formulae()
{
	static const struct {
		const char *what;
		std::vector<std::string> sets;
		Formula formula;
	} links[] = {
		{"as it is", {}, {63.015, 203, 24, 20, 256, 512}},
		{"MPS 128",
		 {"pcie.mps=128", "pcie.mrrs=128", "pcie.ack_limit=163", "pcie.fc_guide=163"},
		 {63.015, 163, 24, 20, 128, 128}},
		{"MPS 512",
		 {"pcie.mps=512", "pcie.mrrs=4096", "pcie.ack_limit=182", "pcie.fc_guide=182"},
		 {63.015, 182, 24, 20, 512, 4096}},
		{"32-bit addresses",
		 {"pcie.write_overhead=20", "pcie.read_overhead=20"},
		 {63.015, 203, 20, 20, 256, 512}},
	};

	for (const auto &link : links) {
		Profile p = link_profile("pcie3x8");
		std::string err;

		CU_ASSERT_FATAL(profile_set(p, link.sets, err));
		for (const uint32_t size : {8u, 64u, 129u, 512u, 1500u, 4096u}) {
			CU_ASSERT(near(link_gbps(p, true, size), link.formula.write(size), size, link.what));
			CU_ASSERT(near(link_gbps(p, false, size), link.formula.read(size), size, link.what));
		}
	}
}

/* Medians of pcie-bench's measurements: NFP6000, Xeon E5-2637v3, warm. */
static void read_latency()
{
	static const struct {
		uint32_t size;
		double ns;
	} published[] = {{64, 600}, {128, 626}, {256, 666}, {512, 746}, {1024, 906}, {2048, 1173}};

	for (const auto &row : published) {
		const double ns = link_read_ns(link_profile("pcie3x8"), row.size);

		if (std::fabs(ns / row.ns - 1) >= 0.07)
			fprintf(stderr, "read of %u B: %.0f ns, should be %.0f\n", row.size, ns, row.ns);
		CU_ASSERT(std::fabs(ns / row.ns - 1) < 0.07);
	}
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
	Profile p = link_profile("pcie3x8");

	p.pcie.posted_headers = 1;
	LinkBench b(p);
	Stream s(b, true, 64, 50);

	s.start(b);
	b.run_for(MEASURE);
	double period = double(b.model.tlp_time(TlpType::MWr, 64).value()) + 2 * p.pcie.latency;

	CU_ASSERT(near(gbps(s.bytes, MEASURE), 64 * 8000.0 / period, 64, "one credit"));
}

int main()
{
	return run_suite("PCIe link", {{"accounting", accounting},
				       {"splitting", splitting},
				       {"simulated write", simulated_write},
				       {"simulated read", simulated_read},
				       {"simulated read and write", simulated_both},
				       {"formulae", formulae},
				       {"read latency", read_latency},
				       {"credits", credits},
				       {"credits throttle", credits_throttle}});
}
