// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link_rates.h"

#include <algorithm>

using namespace hcasim;

static const hca_ps WARM = 20000000, MEASURE = 500000000;

Stream::Stream(LinkBench &b, bool write, uint32_t size, unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++) {
		jobs.push_back(b.job(write, 1, {{uint64_t(write ? 0 : 8192), size}}));
		jobs.back()->on_done = [this, &b](Job &job) {
			bytes += job.dma.len;
			b.submit(job);
		};
	}
}

void Stream::start(LinkBench &b)
{
	for (auto &job : jobs)
		b.submit(*job);
}

/* Gb/s of what is counted in `bytes`. */
static double steady_gbps(LinkBench &b, const uint64_t &bytes, hca_ps measure)
{
	b.run_for(WARM);
	const uint64_t before = bytes;

	b.run_for(measure);
	return (bytes - before) * 8000.0 / measure;
}

/* Whole transfers are counted: the longer they are, the more time it takes for one of them to be less than 0.1 %. */
double link_gbps(const Profile &p, bool write, uint32_t size)
{
	LinkBench b(p);
	Stream s(b, write, size, 500);

	s.start(b);
	return steady_gbps(b, s.bytes, MEASURE * (1 + size / 1024));
}

double link_gbps_both(const Profile &p, uint32_t size)
{
	LinkBench b(p);
	std::vector<std::unique_ptr<Job>> jobs;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < std::min(500u, 65536 / size); i++) {
		auto read = b.job(false, 1, {{8192, size}});
		auto write = b.job(true, 1, {{0, size}});
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
	return steady_gbps(b, bytes, 4 * MEASURE);
}

double link_read_ns(const Profile &p, uint32_t size)
{
	LinkBench b(p);
	auto job = b.job(false, 1, {{0, size}});
	const hca_ps start = now_ps();
	hca_ps end = start;

	job->on_done = [&end](Job &) { end = now_ps(); };
	b.submit(*job);
	b.run();
	return (end - start) / 1000.0;
}
