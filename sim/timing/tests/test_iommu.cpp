// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The host's IOMMU: what its TLB keeps, and what doubling a figure moves. */
#include "suite.h"

#include "link_bench.h"

using namespace hcasim;

namespace
{

constexpr hca_ps WALK = 500000;
constexpr uint64_t PAGE = 4096;

Profile with(double entries, double ways, double walkers = 1)
{
	Profile p = link_profile();

	p.iommu.entries = entries;
	p.iommu.ways = ways;
	p.iommu.page = PAGE;
	p.iommu.walk = WALK;
	p.iommu.walkers = walkers;
	return p;
}

/* Picoseconds of one transfer after another. */
std::vector<hca_ps> each(const Profile &p, bool write, const std::vector<Range> &ranges)
{
	LinkBench b(p);
	std::vector<hca_ps> took;

	for (const Range &r : ranges) {
		auto job = b.job(write, 1, {r});
		hca_ps end = 0;

		job->on_done = [&end](Job &) { end = now_ps(); };
		const hca_ps start = now_ps();

		b.submit(*job);
		b.run();
		CU_ASSERT_EQUAL(job->dma.status, 0);
		took.push_back(end - start);
	}
	return took;
}

/* Picoseconds of transfers that are submitted at once. */
hca_ps all(const Profile &p, bool write, const std::vector<Range> &ranges)
{
	LinkBench b(p);
	std::vector<std::unique_ptr<Job>> jobs;
	const hca_ps start = now_ps();
	hca_ps end = 0;

	for (const Range &r : ranges) {
		jobs.push_back(b.job(write, 1, {r}));
		jobs.back()->on_done = [&end](Job &) { end = now_ps(); };
	}
	for (auto &job : jobs)
		b.submit(*job);
	b.run();
	return end - start;
}

std::vector<Range> pages(unsigned int n, unsigned int rounds = 1, uint64_t size = PAGE)
{
	std::vector<Range> ranges;

	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int i = 0; i < n; i++)
			ranges.push_back({i * size, 64});
	return ranges;
}

unsigned int misses(const Profile &p, bool write, const std::vector<Range> &ranges)
{
	const hca_ps hit = each(link_profile(), write, {{0, 64}})[0];
	unsigned int n = 0;

	for (hca_ps took : each(p, write, ranges))
		n += took != hit;
	return n;
}

/* The first request to a page takes the walk longer, exactly; the next one nothing. */
void walk()
{
	for (bool write : {false, true}) {
		const hca_ps none = each(link_profile(), write, {{0, 64}})[0];
		Profile p = with(8, 8);
		std::vector<hca_ps> took = each(p, write, {{0, 64}, {64, 64}, {PAGE, 64}});

		CU_ASSERT_EQUAL(took[0], none + WALK);
		CU_ASSERT_EQUAL(took[1], none);
		CU_ASSERT_EQUAL(took[2], none + WALK);
		p.iommu.walk = 2 * WALK;
		took = each(p, write, {{0, 64}, {64, 64}});
		CU_ASSERT_EQUAL(took[0], none + 2 * WALK);
		CU_ASSERT_EQUAL(took[1], none);
	}
}

void entries()
{
	for (bool write : {false, true}) {
		CU_ASSERT_EQUAL(misses(with(8, 8), write, pages(8, 3)), 8);
		CU_ASSERT_EQUAL(misses(with(8, 8), write, pages(9, 3)), 3 * 9);
		CU_ASSERT_EQUAL(misses(with(16, 16), write, pages(9, 3)), 9);
	}
}

/* Of 8 entries: pages 0 and 8 are in one set, however many ways it has. */
void ways()
{
	const std::vector<Range> two = pages(2, 3, 8 * PAGE);

	CU_ASSERT_EQUAL(misses(with(8, 1), false, two), 3 * 2);
	CU_ASSERT_EQUAL(misses(with(8, 2), false, two), 2);
	CU_ASSERT_EQUAL(misses(with(8, 1), false, pages(8, 3)), 8);
}

void page()
{
	Profile p = with(4, 4);

	CU_ASSERT_EQUAL(misses(p, false, pages(8, 3)), 3 * 8);
	p.iommu.page = 2 * PAGE;
	CU_ASSERT_EQUAL(misses(p, false, pages(8, 3)), 4);
}

/* Walks of different pages overlap as far as there are walkers; that of one page is shared. */
void walkers()
{
	const hca_ps one = all(with(64, 64, 1), false, pages(16)),
		     two = all(with(64, 64, 2), false, pages(16)),
		     four = all(with(64, 64, 4), false, pages(16));

	/* Reads arrive one after another. */
	CU_ASSERT(one - two > 8 * WALK - WALK / 5 && one - two < 8 * WALK + WALK / 5);
	CU_ASSERT(two - four > 4 * WALK - WALK / 5 && two - four < 4 * WALK + WALK / 5);
	CU_ASSERT(all(with(64, 64), false, std::vector<Range>(16, {0, 64})) <
		  all(link_profile(), false, std::vector<Range>(16, {0, 64})) + WALK + 1000);
}

/* A read does not pass a write whose page is looked up, nor does an interrupt. */
void order()
{
	LinkBench b(with(8, 8));
	auto write = b.job(true, 1, {{PAGE, 8}}), read = b.job(false, 1, {{0, 8}});

	b.submit(*write);
	b.endpoint->msix(3);
	b.submit(*read);
	b.run();
	CU_ASSERT(b.log == std::vector<std::string>({"write", "irq3", "read"}));
}

/* Neither address space finds the other's. */
void spaces()
{
	Iommu iommu(with(8, 8));

	CU_ASSERT_EQUAL(iommu.translate(1, 0, 64, 1000), 1000 + WALK);
	CU_ASSERT_EQUAL(iommu.translate(2, 0, 64, 1000), 1000 + 2 * WALK); /* one walker */
	CU_ASSERT_EQUAL(iommu.translate(1, 0, 64, 1000), 1000 + WALK);
	CU_ASSERT_EQUAL(iommu.translate(1, 0, 64, 1001 + WALK), 1001 + WALK);
}

} // namespace

int main()
{
	return run_suite("iommu", {{"walk", walk},
				   {"entries", entries},
				   {"ways", ways},
				   {"page", page},
				   {"walkers", walkers},
				   {"order", order},
				   {"address spaces", spaces}});
}
