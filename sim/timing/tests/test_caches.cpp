// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Caches of the adapter: what they keep, and that doubling a figure moves misses or their time, and nothing else. */
#include "suite.h"

#include <cmath>
#include <fstream>
#include <map>

#include "fabric.h"
#include "own_profile.h"
#include "timing/memory/set_cache.h"
#include "timing/memory/translation.h"
#include "timing/sc_kernel.h"

using namespace hcasim;

namespace
{

constexpr uint8_t WRITE = HCASIM_WQE_OP_RDMA_WRITE;
constexpr double CYCLE = 5; /* ns: more than one of connectx3 */

/* ---- Sets ---- */

void least_recently_used()
{
	SetCache c(4, 4);

	for (uint32_t n = 0; n < 4; n++)
		c.add({0, n});
	CU_ASSERT(c.use({0, 0}));
	c.add({0, 4}); /* in the place of 1 */
	CU_ASSERT_FALSE(c.use({0, 1}));
	for (uint32_t n : {0, 2, 3, 4})
		CU_ASSERT(c.use({0, n}));
	c.add({0, 5});
	CU_ASSERT_FALSE(c.use({0, 0}));
	CU_ASSERT(c.use({0, 2}));
}

/* Numbers that are in one set take each other's place, others do not. */
void sets()
{
	SetCache c(8, 2); /* 4 sets */

	for (uint32_t n : {0, 4, 8, 1})
		c.add({0, n});
	CU_ASSERT_FALSE(c.use({0, 0}));
	for (uint32_t n : {4, 8, 1})
		CU_ASSERT(c.use({0, n}));
	SetCache one(3, 8); /* fewer entries than ways: one set of them */

	for (uint32_t n : {0, 1, 2, 3})
		one.add({7, n});
	CU_ASSERT_FALSE(one.use({7, 0}));
	for (uint32_t n : {1, 2, 3})
		CU_ASSERT(one.use({7, n}));
}

void dropped()
{
	SetCache c(8, 8);

	for (uint32_t table : {1, 2})
		for (uint32_t n : {0, 1})
			c.add({table, n});
	c.drop({1, 0});
	CU_ASSERT_FALSE(c.use({1, 0}));
	CU_ASSERT(c.use({1, 1}));
	c.drop_table(2);
	CU_ASSERT_FALSE(c.use({2, 0}));
	CU_ASSERT_FALSE(c.use({2, 1}));
	CU_ASSERT(c.use({1, 1}));
}

/* ---- QP contexts ---- */

struct Count {
	unsigned int hits = 0, misses = 0;
};

std::map<std::string, Count> lookups(const std::string &folder)
{
	std::map<std::string, Count> found;
	std::ifstream in(folder + "/events.log");
	const std::string mark = "\"cache\":\"";

	for (std::string line; std::getline(in, line);) {
		const size_t at = line.find(mark);

		if (at == std::string::npos)
			continue;
		const size_t from = at + mark.size();
		Count &c = found[line.substr(from, line.find('"', from) - from)];

		(line.find("\"hit\":true") == std::string::npos ? c.misses : c.hits)++;
	}
	return found;
}

/* Queue pairs of one adapter, each connected with another one. */
struct Pairs {
	Scratch folder;
	OwnProfile profile;
	std::unique_ptr<Fabric> f;

	Pairs(const std::vector<std::string> &sets,
	      const std::vector<std::pair<unsigned int, unsigned int>> &of)
	    : profile(sets)
	{
		Options opt;

		opt.hcas = 1;
		opt.profile = profile.path();
		opt.trace_dir = folder.path();
		f = std::make_unique<Fabric>(opt);
		for (const auto &[a, b] : of) {
			while (f->nodes.size() <= b)
				f->nodes.push_back(std::make_unique<Node>(f->m, 0));
			if (b == 1)
				continue;
			const uint8_t *mac = machine_hca_config(f->m, 0)->mac[0];

			f->nodes[a]->connect(*f->nodes[b], mac, 0, opt);
			f->nodes[b]->connect(*f->nodes[a], mac, 0, opt);
		}
	}
	/* Nanoseconds of a WRITE, from the doorbell to the last thing that follows from it. */
	double write(unsigned int from, unsigned int to, uint32_t len = 64, uint32_t offset = 0)
	{
		Node &a = *f->nodes[from], &b = *f->nodes[to];
		const hca_ps start = machine_now(f->m);

		a.put(WRITE, a.at(offset), b.at(offset), b.key, len);
		a.ring();
		CU_ASSERT_PTR_NOT_NULL(f->wait(from));
		return double(machine_now(f->m) - start) / 1000;
	}
	/* The machine is gone after it. */
	std::map<std::string, Count> end()
	{
		f.reset();
		return lookups(folder.path());
	}
};

struct Run {
	double ns; /* of the last WRITE */
	std::map<std::string, Count> count;
};

/* WRITEs of the pairs in turn. */
Run run(const std::vector<std::string> &figures, const std::vector<std::pair<unsigned int, unsigned int>> &of,
	unsigned int rounds)
{
	Pairs pairs(figures, of);
	double ns = 0;

	for (unsigned int i = 0; i < rounds; i++)
		for (const auto &[a, b] : of)
			ns = pairs.write(a, b);
	return {ns, pairs.end()};
}

bool near(double a, double b, double tolerance)
{
	if (std::abs(a - b) <= tolerance)
		return true;
	fprintf(stderr, "%.3f is not %.3f\n", a, b);
	return false;
}

/* Of both queue pairs of one, each misses once for the first WRITE, and finds it then. */
void qp_miss()
{
	const double none = run({}, {{0, 1}}, 1).ns;
	const std::vector<std::string> on = {"qp_cache.entries=8"};
	auto with = [&on](const char *a, const char *b) {
		std::vector<std::string> figures = on;

		figures.insert(figures.end(), {a, b});
		return figures;
	};
	const Run miss = run(with("qp_cache.miss=700", "qp_cache.read=0"), {{0, 1}}, 1),
		  more = run(with("qp_cache.miss=1400", "qp_cache.read=0"), {{0, 1}}, 1),
		  read = run(with("qp_cache.miss=0", "qp_cache.read=256"), {{0, 1}}, 1),
		  longer = run(with("qp_cache.miss=0", "qp_cache.read=512"), {{0, 1}}, 1);

	CU_ASSERT(near(miss.ns - none, 2 * 700, 2 * CYCLE));
	CU_ASSERT(near(more.ns - none, 2 * 1400, 2 * CYCLE));
	CU_ASSERT(read.ns - none > 2 * 2 * 100); /* twice to host memory and back */
	CU_ASSERT(longer.ns > read.ns);
	for (const Run &r : {miss, more, read, longer}) {
		CU_ASSERT_EQUAL(r.count.at("qp_cache").misses, 2);
		CU_ASSERT_EQUAL(r.count.at("qp_cache").hits, 3); /* PACKETISE, RESPOND, and RX of the ACK */
	}
	const Run again = run(with("qp_cache.miss=700", "qp_cache.read=512"), {{0, 1}}, 2);

	CU_ASSERT(near(again.ns, run({}, {{0, 1}}, 2).ns, 4 * CYCLE));
	CU_ASSERT_EQUAL(again.count.at("qp_cache").misses, 2);
}

/* The queue pairs of two pairs need four entries. */
void qp_entries()
{
	const std::vector<std::pair<unsigned int, unsigned int>> two = {{0, 1}, {2, 3}};

	CU_ASSERT_EQUAL(run({"qp_cache.entries=4"}, two, 5).count.at("qp_cache").misses, 4);
	CU_ASSERT_EQUAL(run({"qp_cache.entries=2"}, two, 5).count.at("qp_cache").misses, 5 * 4);
	CU_ASSERT_EQUAL(run({"qp_cache.entries=1"}, two, 5).count.at("qp_cache").misses, 5 * 6);
}

/* Numbers 16 and 18 are in the same set of two. */
void qp_ways()
{
	const std::vector<std::pair<unsigned int, unsigned int>> same = {{0, 2}}, other = {{0, 1}};

	CU_ASSERT_EQUAL(run({"qp_cache.entries=2", "qp_cache.ways=1"}, other, 5).count.at("qp_cache").misses,
			2);
	CU_ASSERT_EQUAL(run({"qp_cache.entries=2", "qp_cache.ways=1"}, same, 5).count.at("qp_cache").misses,
			1 + 5 * 2); /* the ACK leaves 16 there */
	CU_ASSERT_EQUAL(run({"qp_cache.entries=2", "qp_cache.ways=2"}, same, 5).count.at("qp_cache").misses,
			2);
}

/* A queue pair that was reset, or a new one with its number, is not in the cache. */
void qp_reset()
{
	Pairs pairs({"qp_cache.entries=8", "qp_cache.miss=700"}, {{0, 1}});
	hca_qp_attr a = {};

	pairs.write(0, 1);
	a.state = HCASIM_QPS_RESET;
	for (unsigned int i : {0, 1})
		CU_ASSERT_EQUAL(hca_qp_modify(pairs.f->nodes[i]->core, pairs.f->nodes[i]->qpn, &a,
					      HCASIM_QP_ATTR_STATE),
				0);
	const uint8_t *mac = machine_hca_config(pairs.f->m, 0)->mac[0];

	pairs.f->nodes[0]->connect(*pairs.f->nodes[1], mac, 0, {});
	pairs.f->nodes[1]->connect(*pairs.f->nodes[0], mac, 0, {});
	pairs.f->nodes[0]->pi = 0;
	pairs.write(0, 1);
	CU_ASSERT_EQUAL(pairs.end().at("qp_cache").misses, 4);
}

/* ---- Keys and pages ---- */

/* The transfers of a WRITE of one packet: read at the requester, write at the responder; both have one key and page. */
void key_miss()
{
	const double none = run({}, {{0, 1}}, 1).ns;

	for (const std::string cache : {"mpt_cache", "mtt_cache"}) {
		auto with = [&cache](int miss, int read) {
			return std::vector<std::string>{cache + ".entries=8",
							cache + ".miss=" + std::to_string(miss),
							cache + ".read=" + std::to_string(read)};
		};
		const Run miss = run(with(700, 0), {{0, 1}}, 1), more = run(with(1400, 0), {{0, 1}}, 1),
			  read = run(with(0, 256), {{0, 1}}, 1), longer = run(with(0, 512), {{0, 1}}, 1);

		CU_ASSERT(near(miss.ns - none, 2 * 700, 2 * CYCLE));
		CU_ASSERT(near(more.ns - none, 2 * 1400, 2 * CYCLE));
		CU_ASSERT(read.ns - none > 2 * 2 * 100);
		CU_ASSERT(longer.ns > read.ns);
		for (const Run &r : {miss, more, read, longer}) {
			CU_ASSERT_EQUAL(r.count.at(cache).misses, 2);
			CU_ASSERT_EQUAL(r.count.at(cache).hits, 0);
		}
		const Run again = run(with(700, 512), {{0, 1}}, 2);

		CU_ASSERT(near(again.ns, run({}, {{0, 1}}, 2).ns, 4 * CYCLE));
		CU_ASSERT_EQUAL(again.count.at(cache).misses, 2);
	}
	/* The protection entry says where the translation entries are. */
	const Run both = run(
		{"mpt_cache.entries=8", "mpt_cache.miss=700", "mtt_cache.entries=8", "mtt_cache.miss=300"},
		{{0, 1}}, 1);

	CU_ASSERT(near(both.ns - none, 2 * (700 + 300), 2 * CYCLE));
}

/* A message across two pages misses both, of each buffer: one after the other, or at a time. Further ones wait for both. */
double two_pages(const std::string &cache, const char *misses)
{
	Pairs pairs(
		{cache + ".entries=8", cache + ".miss=700", cache + ".read=0", cache + ".misses=" + misses},
		{{0, 1}});

	return pairs.write(0, 1, 64, 4096 - 32);
}

void misses_at_a_time()
{
	const double one = two_pages("mtt_cache", "1"), two = two_pages("mtt_cache", "2"),
		     four = two_pages("mtt_cache", "4");

	CU_ASSERT(near(one - two, 2 * 700, 2 * CYCLE));
	CU_ASSERT(near(two, four, CYCLE));
	/* A transfer has one key: a second unit has nothing to do. */
	CU_ASSERT(near(two_pages("mpt_cache", "1"), two_pages("mpt_cache", "2"), CYCLE));
	Pairs pairs({"mtt_cache.entries=64", "mtt_cache.ways=64", "mtt_cache.miss=700", "mtt_cache.read=64",
		     "mtt_cache.misses=1"},
		    {{0, 1}});
	Node &a = *pairs.f->nodes[0], &b = *pairs.f->nodes[1];

	fill(a, 5, 65536);
	pairs.write(0, 1, 65536);
	CU_ASSERT(placed(a, 0, b, 0, 65536));
}

/* The keys of two pairs need four entries. */
void mpt_entries()
{
	const std::vector<std::pair<unsigned int, unsigned int>> two = {{0, 1}, {2, 3}};
	auto misses = [&two](const char *entries, const char *ways) {
		return run({std::string("mpt_cache.entries=") + entries,
			    std::string("mpt_cache.ways=") + ways},
			   two, 5)
			.count.at("mpt_cache")
			.misses;
	};

	CU_ASSERT_EQUAL(misses("4", "4"), 4);
	CU_ASSERT_EQUAL(misses("8", "4"), 4);
	CU_ASSERT_EQUAL(misses("2", "4"), 5 * 4);
	CU_ASSERT_EQUAL(misses("1", "4"), 5 * 4);
}

/* The keys of nodes 0 and 2 are in the same set of two; a page of theirs, too. */
void key_ways()
{
	const std::vector<std::pair<unsigned int, unsigned int>> same = {{0, 2}}, other = {{0, 1}};

	for (const std::string cache : {"mpt_cache", "mtt_cache"}) {
		auto misses = [&cache](const char *ways, const auto &of) {
			return run({cache + ".entries=2", cache + ".ways=" + ways}, of, 5)
				.count.at(cache)
				.misses;
		};

		CU_ASSERT_EQUAL(misses("1", other), 2);
		CU_ASSERT_EQUAL(misses("1", same), 5 * 2);
		CU_ASSERT_EQUAL(misses("2", same), 2);
	}
}

/* Misses of a WRITE of 64 KiB, to the same place again. */
Count pages(const std::vector<std::string> &figures, bool twice)
{
	Pairs pairs(figures, {{0, 1}});

	pairs.write(0, 1, 65536);
	const double first = pairs.write(0, 1, 65536);

	if (twice)
		CU_ASSERT(near(pairs.write(0, 1, 65536), first, 4 * CYCLE));
	return pairs.end().at("mtt_cache");
}

/* 16 pages of each buffer. */
void mtt_entries()
{
	CU_ASSERT_EQUAL(pages({"mtt_cache.entries=32", "mtt_cache.ways=32"}, true).misses, 32);
	CU_ASSERT(pages({"mtt_cache.entries=31", "mtt_cache.ways=32"}, false).misses > 32);
	CU_ASSERT_EQUAL(pages({"mtt_cache.entries=16", "mtt_cache.ways=16"}, false).misses, 64);
}

/* A page of twice the size: half as many entries, for at most one more of each buffer. */
void mtt_page()
{
	const unsigned int misses =
		pages({"mtt_cache.entries=64", "mtt_cache.ways=64", "mtt_cache.page=8192"}, true).misses;

	CU_ASSERT(misses >= 16 && misses <= 18);
	CU_ASSERT_EQUAL(
		pages({"mtt_cache.entries=2", "mtt_cache.ways=2", "mtt_cache.page=4194304"}, true).misses, 2);
}

/* Reads and writes keep their order, and the data is where it belongs, whatever misses. */
void mtt_order()
{
	Pairs pairs({"mtt_cache.entries=4", "mtt_cache.miss=900", "mtt_cache.read=64", "mpt_cache.entries=1"},
		    {{0, 1}});
	Node &a = *pairs.f->nodes[0], &b = *pairs.f->nodes[1];

	fill(a, 3, 40000);
	for (uint32_t i = 0; i < 32; i++)
		a.put(WRITE, a.at(1000 * i), b.at(1000 * i), b.key, i % 3 ? 1000 : 5000);
	a.ring();
	for (uint32_t i = 0; i < 32; i++) {
		const hcasim_cqe *cqe = pairs.f->wait(0);

		CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
		CU_ASSERT_EQUAL(le16toh(cqe->wqe_index), i);
	}
	CU_ASSERT(placed(a, 0, b, 0, 35000));
}

/* A region that changes leaves both caches, and no other one does. */
void key_changed()
{
	Pairs pairs({"mpt_cache.entries=8", "mtt_cache.entries=8"}, {{0, 1}});
	Node &b = *pairs.f->nodes[1];
	hca_mr_attr mr;
	uint32_t key;

	pairs.write(0, 1);
	CU_ASSERT_EQUAL(hca_mr_query(b.core, b.key, &mr), 0);
	CU_ASSERT_EQUAL(hca_mr_modify(b.core, b.key, &mr, &key), 0);
	pairs.write(0, 1);
	CU_ASSERT_EQUAL(hca_mr_destroy(b.core, b.key), 0);
	CU_ASSERT_EQUAL(hca_mr_create(b.core, &mr, &b.key), 0);
	pairs.write(0, 1);
	const auto count = pairs.end();

	for (const char *cache : {"mpt_cache", "mtt_cache"}) {
		CU_ASSERT_EQUAL(count.at(cache).misses, 2 + 1 + 1);
		CU_ASSERT_EQUAL(count.at(cache).hits, 1 + 1);
	}
}

/* ---- Work requests ---- */

/* PACKETISE and COMPLETE find what DECODE left there, if not too many others came in between. */
Run batch(const std::vector<std::string> &figures, unsigned int wqes)
{
	Pairs pairs(figures, {{0, 1}});
	Node &a = *pairs.f->nodes[0], &b = *pairs.f->nodes[1];
	const hca_ps start = machine_now(pairs.f->m);

	for (unsigned int i = 0; i < wqes; i++)
		a.put(WRITE, a.at(0), b.at(0), b.key, 64);
	a.ring();
	for (unsigned int i = 0; i < wqes; i++)
		CU_ASSERT_PTR_NOT_NULL(pairs.f->wait(0));
	const double ns = double(machine_now(pairs.f->m) - start) / 1000;

	return {ns, pairs.end()};
}

void wqe_entries()
{
	const double none = batch({}, 32).ns;
	const Run fits = batch({"wqe_cache.entries=32", "wqe_cache.ways=32", "wqe_cache.miss=700"}, 32),
		  half = batch({"wqe_cache.entries=16", "wqe_cache.ways=16", "wqe_cache.miss=700"}, 32),
		  slow = batch({"wqe_cache.entries=16", "wqe_cache.ways=16", "wqe_cache.miss=1400"}, 32),
		  few = batch({"wqe_cache.entries=16", "wqe_cache.ways=16", "wqe_cache.miss=700"}, 8);

	CU_ASSERT_EQUAL(fits.count.at("wqe_cache").misses, 0);
	CU_ASSERT_EQUAL(fits.count.at("wqe_cache").hits, 64);
	CU_ASSERT(near(fits.ns, none, CYCLE));
	CU_ASSERT_EQUAL(few.count.at("wqe_cache").misses, 0);
	CU_ASSERT(half.count.at("wqe_cache").misses >= 16);
	CU_ASSERT(half.ns > none + 8 * 700);
	CU_ASSERT(slow.ns - half.ns > 8 * 700);
	const Run read = batch({"wqe_cache.entries=16", "wqe_cache.ways=16", "wqe_cache.read=64"}, 32),
		  longer = batch({"wqe_cache.entries=16", "wqe_cache.ways=16", "wqe_cache.read=4096"}, 32);

	CU_ASSERT(read.ns > none);
	CU_ASSERT(longer.ns > read.ns);
}

/* Work requests of the same index of two queue pairs, which are posted together, are in the same set of two. */
unsigned int wqes_of(const std::string &ways, unsigned int second)
{
	Pairs pairs({"wqe_cache.entries=2", "wqe_cache.ways=" + ways}, {{0, 1}, {2, 3}});

	for (unsigned int n : {0u, second}) {
		Node &from = *pairs.f->nodes[n], &to = *pairs.f->nodes[n ^ 1];

		from.put(WRITE, from.at(0), to.at(0), to.key, 64);
	}
	for (unsigned int n : {0u, second})
		pairs.f->nodes[n]->ring();
	for (unsigned int n : {0u, second})
		CU_ASSERT_PTR_NOT_NULL(pairs.f->wait(n));
	return pairs.end()["wqe_cache"].misses;
}

void wqe_ways()
{
	CU_ASSERT(wqes_of("1", 2) > 0);
	CU_ASSERT_EQUAL(wqes_of("2", 2), 0);
	CU_ASSERT_EQUAL(wqes_of("1", 1), 0); /* the other set */
}

/* ---- Reads that fail ---- */

/* The context is read behind a push, which needs no other read before its payload's. */
void context_lost()
{
	for (const char *fault : {"read_ur=1", "read_poison=1", "read_lost=1", "read_late=1"})
		for (const bool cache : {false, true}) {
			OwnProfile profile(
				cache ? std::vector<std::string>{"qp_cache.entries=8", "qp_cache.read=256"}
				      : std::vector<std::string>{});
			Options opt;

			opt.profile = profile.path();
			opt.fault = fault;
			opt.timeout = 20; /* longer than the completion time-out */
			Fabric f(opt);
			Node &a = *f.nodes[0], &b = *f.nodes[1];

			hca_async_eq(a.core, a.eqn);
			a.push(a.put(WRITE, a.at(0), b.at(0), b.key, 64), 8);
			const hcasim_cqe *cqe = f.wait(0);

			CU_ASSERT_PTR_NOT_NULL_FATAL(cqe);
			CU_ASSERT_EQUAL(cqe->status, cache ? HCASIM_CQE_STATUS_WR_FLUSH_ERR
							   : HCASIM_CQE_STATUS_LOC_PROT_ERR);
			f.settle();
			CU_ASSERT_EQUAL(a.eqe(0)->type == HCASIM_EQE_TYPE_QP_FATAL, cache);
		}
}

/* What leaves for the link, as text. Reads of entries end at once, with a status. */
struct Link : DmaPort {
	int status = 0;
	std::string out;

	void transfer(hca_dma *dma) override
	{
		if (dma->pasid == HCA_PASID_CONTEXT) {
			dma->status = status;
			dma->done(nullptr, dma);
		} else {
			out += std::to_string(dma->qpn) + " ";
		}
	}
	void refuse(hca_dma *dma) override
	{
		out += "-" + std::to_string(dma->qpn) + " ";
	}
	void interrupt(unsigned int vector) override
	{
		out += "!" + std::to_string(vector) + " ";
	}
};

/* The transfer whose entry cannot be read is refused in its turn, and the next one reads the entry again. */
void entry_lost()
{
	for (const std::string cache : {"mpt_cache", "mtt_cache"}) {
		const OwnProfile own(std::vector<std::string>{cache + ".entries=8", cache + ".read=64"});
		Profile p;
		std::string err;

		CU_ASSERT_FATAL(profile_load(own.path().c_str(), p, err));
		ScKernel kernel;
		Link link;
		Translation t("x", p, link);
		hca_dma_seg seg = {0x1000, 64, 0x500};
		hca_dma dma[3] = {};

		sc_core::sc_start(sc_core::SC_ZERO_TIME);
		for (uint32_t i = 0; i < 3; i++) {
			dma[i].qpn = i + 1;
			dma[i].nseg = 1;
			dma[i].seg = &seg;
		}
		auto use = [&](hca_dma &d, int status) {
			link.status = status;
			t.dma(&d);
			t.msix(d.qpn);
			sc_core::sc_start(to_sc(1000000));
		};
		use(dma[0], -EFAULT);
		use(dma[1], 0);
		use(dma[2], -EFAULT); /* it is there: nothing is read */
		CU_ASSERT_STRING_EQUAL(link.out.c_str(), "-1 !1 2 !2 3 !3 ");
	}
}

} // namespace

int main()
{
	return run_suite("caches", {{"least recently used", least_recently_used},
				    {"sets", sets},
				    {"dropped", dropped},
				    {"QP: miss and read", qp_miss},
				    {"QP: entries", qp_entries},
				    {"QP: ways", qp_ways},
				    {"QP: reset", qp_reset},
				    {"keys: miss and read", key_miss},
				    {"misses at a time", misses_at_a_time},
				    {"MPT: entries", mpt_entries},
				    {"MPT and MTT: ways", key_ways},
				    {"MTT: entries", mtt_entries},
				    {"MTT: page", mtt_page},
				    {"MTT: order", mtt_order},
				    {"keys: changed", key_changed},
				    {"WQE: entries", wqe_entries},
				    {"WQE: ways", wqe_ways},
				    {"QP: the read fails", context_lost},
				    {"keys: the read fails", entry_lost}});
}
