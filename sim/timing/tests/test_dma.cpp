// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the host sees of DMA: bytes, order, refusals. */
#include "suite.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "link_bench.h"

using namespace hcasim;

using Log = std::vector<std::string>;

static void scattered_read()
{
	LinkBench b(link_profile());
	auto job = b.job(false, 1, {{100, 4096}, {9000, 0}, {50000, 777}, {4095, 2}});

	b.submit(*job);
	b.run();
	CU_ASSERT_EQUAL(job->times_done, 1);
	CU_ASSERT_EQUAL(job->dma.status, 0);
	CU_ASSERT(memcmp(job->buf.data(), &b.memory[100], 4096) == 0);
	CU_ASSERT(memcmp(&job->buf[4096], &b.memory[50000], 777) == 0);
	CU_ASSERT(memcmp(&job->buf[4096 + 777], &b.memory[4095], 2) == 0);
	CU_ASSERT_EQUAL(job->buf.back(), 0);
	CU_ASSERT(b.log == Log({"read"})); /* one call to the host for all its MRds */
}

static void scattered_write()
{
	LinkBench b(link_profile());
	auto job = b.job(true, 1, {{10, 3}, {70000, 5000}});
	std::vector<uint8_t> before = b.memory;

	for (size_t i = 0; i < job->buf.size(); i++)
		job->buf[i] = ~i;
	b.submit(*job);
	b.run();
	CU_ASSERT_EQUAL(job->times_done, 1);
	CU_ASSERT_EQUAL(job->dma.status, 0);
	memcpy(&before[10], job->buf.data(), 3);
	memcpy(&before[70000], &job->buf[3], 5000);
	CU_ASSERT(before == b.memory); /* and nothing else */
}

static void no_bytes()
{
	LinkBench b(link_profile());
	auto read = b.job(false, 1, {}), write = b.job(true, 1, {{0, 0}});

	b.submit(*read);
	b.submit(*write);
	b.run();
	CU_ASSERT(read->times_done == 1 && read->dma.status == 0);
	CU_ASSERT(write->times_done == 1 && write->dma.status == 0);
	CU_ASSERT(b.log.empty());
}

static void read_does_not_pass_write()
{
	LinkBench b(link_profile());
	auto write = b.job(true, 1, {{0, 4096}}), read = b.job(false, 1, {{4088, 8}});

	write->buf.assign(write->buf.size(), 0x5a);
	b.submit(*write);
	b.submit(*read);
	b.run();
	CU_ASSERT(b.log == Log({"write", "read"}));
	CU_ASSERT_EQUAL(read->buf[7], 0x5a);
}

static void writes_land_in_order()
{
	LinkBench b(link_profile());
	std::vector<std::unique_ptr<Job>> jobs;
	std::vector<int> done;

	for (int i = 0; i < 50; i++) {
		jobs.push_back(b.job(true, 1, {{0, uint32_t(i % 3 ? 1 : 3000)}}));
		jobs[i]->buf[0] = i;
		jobs[i]->on_done = [&done, &b, i](Job &) {
			CU_ASSERT_EQUAL(b.memory[0], i);
			done.push_back(i);
		};
		b.submit(*jobs[i]);
	}
	b.run();
	CU_ASSERT_EQUAL_FATAL(done.size(), 50);
	for (int i = 0; i < 50; i++)
		CU_ASSERT_EQUAL(done[i], i);
}

/* A read that waits for a tag does not hold up writes behind it (PCIe 2.4.1: they must be able to pass). */
static void write_passes_waiting_read()
{
	Profile p = link_profile();

	p.pcie.tags = 1;
	LinkBench b(p);
	auto first = b.job(false, 1, {{0, 64}}), second = b.job(false, 1, {{0, 64}}),
	     write = b.job(true, 1, {{64, 8}});

	b.submit(*first);
	b.submit(*second);
	b.submit(*write);
	b.run();
	CU_ASSERT(b.log == Log({"write", "read", "read"}));
	CU_ASSERT_EQUAL(second->times_done, 1);
}

static void interrupt_after_writes()
{
	LinkBench b(link_profile());
	auto before = b.job(true, 1, {{0, 4096}}), after = b.job(true, 1, {{0, 1}});

	b.submit(*before);
	b.endpoint->msix(5);
	b.submit(*after);
	b.run();
	CU_ASSERT(b.log == Log({"write", "irq5", "write"}));
}

/* A thread runs cpu.wakeup after its interrupt: what arrives meanwhile is there. */
static void interrupt_wakes_late()
{
	Profile p = link_profile();

	p.cpu.wakeup = 20e6;
	LinkBench b(p);
	auto before = b.job(true, 1, {{0, 4096}}), after = b.job(true, 1, {{0, 1}});
	const hca_ps start = now_ps();

	b.submit(*before);
	b.endpoint->msix(5);
	b.submit(*after);
	b.run();
	CU_ASSERT(b.log == Log({"write", "write", "irq5"}));
	CU_ASSERT(now_ps() - start > 20000000 && now_ps() - start < 25000000);
}

/* Completions of two long reads share the link: the second does not wait for the whole first. */
static void completions_interleave()
{
	LinkBench b(link_profile());
	auto longer = b.job(false, 1, {{0, 65536}}), shorter = b.job(false, 1, {{65536, 512}});
	hca_ps long_end = 0, short_end = 0;

	longer->on_done = [&](Job &) { long_end = now_ps(); };
	shorter->on_done = [&](Job &) { short_end = now_ps(); };
	b.submit(*longer);
	b.submit(*shorter);
	b.run();
	CU_ASSERT(long_end > 0 && short_end > 0);
	CU_ASSERT(memcmp(longer->buf.data(), &b.memory[0], 65536) == 0);
	CU_ASSERT(memcmp(shorter->buf.data(), &b.memory[65536], 512) == 0);
	CU_ASSERT_EQUAL(longer->times_done + shorter->times_done, 2);
}

/* Reads that wait at the root port are one call to the host; one that fails there fails alone. */
static void reads_together()
{
	LinkBench b(link_profile());
	std::vector<std::unique_ptr<Job>> jobs;
	const uint64_t end = b.memory.size();

	for (uint64_t i = 0; i < 20; i++)
		jobs.push_back(b.job(false, 1, {{1000 * i + 7, 64}, {1000 * i + 500, uint32_t(i)}}));
	for (auto &job : jobs)
		b.submit(*job);
	b.run();
	CU_ASSERT(!b.log.empty() && b.log.size() < jobs.size() / 2);
	for (uint64_t i = 0; i < jobs.size(); i++) {
		CU_ASSERT(jobs[i]->times_done == 1 && jobs[i]->dma.status == 0);
		CU_ASSERT(memcmp(jobs[i]->buf.data(), &b.memory[1000 * i + 7], 64) == 0);
		CU_ASSERT(memcmp(&jobs[i]->buf[64], &b.memory[1000 * i + 500], i) == 0);
	}
	auto good = b.job(false, 1, {{0, 64}}), bad = b.job(false, 1, {{end - 8, 64}}),
	     last = b.job(false, 1, {{end - 64, 64}}), foreign = b.job(false, 2, {{0, 64}});

	for (Job *job : {good.get(), bad.get(), foreign.get(), last.get()})
		b.submit(*job);
	b.run();
	CU_ASSERT(good->dma.status == 0 && last->dma.status == 0);
	CU_ASSERT(bad->dma.status == -EFAULT && foreign->dma.status == -EFAULT);
	CU_ASSERT(memcmp(last->buf.data(), &b.memory[end - 64], 64) == 0);
}

/* The same for pending writes: in order, up to the next interrupt, and completed one by one. */
static void writes_together()
{
	LinkBench b(link_profile());
	std::vector<std::unique_ptr<Job>> jobs;
	std::vector<uint64_t> done;
	const uint64_t end = b.memory.size(), at[] = {0, 100, end - 8, 300, 400, 500};

	for (uint64_t i = 0; i < 6; i++) {
		jobs.push_back(b.job(true, i == 4 ? 2 : 1, {{at[i], 32}, {at[i] + 64, 7}}));
		std::fill(jobs[i]->buf.begin(), jobs[i]->buf.end(), i + 1);
		jobs[i]->on_done = [&done, i](Job &) { done.push_back(i); };
		b.submit(*jobs[i]);
	}
	b.run();
	CU_ASSERT(done == std::vector<uint64_t>({0, 1, 2, 3, 4, 5}));
	for (uint64_t i = 0; i < 6; i++) {
		const bool bad = i == 2 || i == 4;

		CU_ASSERT_EQUAL(jobs[i]->times_done, 1);
		CU_ASSERT_EQUAL(jobs[i]->dma.status, bad ? -EFAULT : 0);
		CU_ASSERT(bad || (memcmp(&b.memory[at[i]], jobs[i]->buf.data(), 32) == 0 &&
				  memcmp(&b.memory[at[i] + 64], &jobs[i]->buf[32], 7) == 0));
	}
	b.log.clear();
	auto one = b.job(true, 1, {{0, 8}}), two = b.job(true, 1, {{8, 8}}),
	     three = b.job(true, 1, {{16, 8}});

	b.submit(*one);
	b.submit(*two);
	b.endpoint->msix(1);
	b.submit(*three);
	b.run();
	CU_ASSERT(b.log == Log({"write", "irq1", "write"}));
}

static void refusals()
{
	LinkBench b(link_profile());
	uint64_t end = b.memory.size();

	for (int i = 0; i < 200; i++) { /* more often than there are tags */
		auto read = b.job(false, 1, {{0, 600}, {end - 1, 2}}),
		     write = b.job(true, 1, {{UINT64_MAX - 3, 600}});
		auto good = b.job(false, 1, {{end - 1, 1}});

		b.submit(*read);
		b.submit(*write);
		b.submit(*good);
		b.run();
		CU_ASSERT(read->times_done == 1 && read->dma.status == -EFAULT);
		CU_ASSERT(write->times_done == 1 && write->dma.status == -EFAULT);
		CU_ASSERT(good->times_done == 1 && good->dma.status == 0);
	}
}

static void split_is_a_piece_of_its_own()
{
	LinkBench b(link_profile());
	auto job = b.job(true, 1, {{128, 40}, {256, 24}});

	job->dma.split = 8;
	b.submit(*job);
	b.run();
	CU_ASSERT_EQUAL_FATAL(b.write_segs.size(), 1);
	const auto &segs = b.write_segs[0];

	CU_ASSERT_EQUAL_FATAL(segs.size(), 3);
	CU_ASSERT(segs[0].addr == 128 && segs[0].len == 40);
	CU_ASSERT(segs[1].addr == 256 && segs[1].len == 16);
	CU_ASSERT(segs[2].addr == 272 && segs[2].len == 8);
}

/* A poller on another thread never sees the valid byte of an entry whose rest is not there. */
static void valid_byte_after_the_rest()
{
	static const unsigned int ROUNDS = 3000;
	alignas(64) static uint8_t entry[64];
	std::atomic<unsigned int> seen{0};
	std::atomic<bool> torn{false};

	memset(entry, 0, sizeof(entry));
	std::thread poller([&] {
		for (unsigned int i = 1; i <= ROUNDS; i++) {
			while (__atomic_load_n(&entry[63], __ATOMIC_ACQUIRE) != uint8_t(i))
				std::this_thread::yield();
			for (int byte = 0; byte < 56; byte++)
				if (entry[byte] != uint8_t(i))
					torn = true;
			seen = i;
		}
	});
	LinkBench b(link_profile());
	auto job = b.job(true, HCA_PASID_KERNEL, {{reinterpret_cast<uint64_t>(entry), 64}});

	job->dma.split = 1; /* the writer owns the entry again when it was seen */
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		memset(job->buf.data(), i, 64);
		b.submit(*job);
		b.run();
		while (seen != i)
			std::this_thread::yield();
	}
	poller.join();
	CU_ASSERT_FALSE(torn);
	CU_ASSERT_EQUAL(job->times_done, ROUNDS);
}

static void own_memory()
{
	LinkBench b(link_profile());
	std::vector<uint8_t> from(5000), to(5000);
	auto read = b.job(false, HCA_PASID_KERNEL, {{reinterpret_cast<uint64_t>(from.data()), 5000}});
	auto write = b.job(true, HCA_PASID_KERNEL, {{reinterpret_cast<uint64_t>(to.data()), 5000}});

	for (size_t i = 0; i < from.size(); i++)
		from[i] = i * 3;
	read->on_done = [&](Job &job) {
		memcpy(write->buf.data(), job.buf.data(), 5000);
		write->dma.split = 8;
		b.submit(*write);
	};
	b.submit(*read);
	b.run();
	CU_ASSERT_EQUAL(write->times_done, 1);
	CU_ASSERT(from == to);
	CU_ASSERT(b.log.empty());
}

/* Loads of the device clock: in order behind stores, answered once, with what was there on arrival. */
static void cpu_loads()
{
	static std::vector<uint64_t> got;
	LinkBench b(link_profile());
	auto done = [](void *, const void *data, uint32_t size) {
		uint64_t v = 0;

		memcpy(&v, data, size);
		got.push_back(v);
	};

	got.clear();
	for (int i = 0; i < 3; i++)
		b.root->load(0, 0, 0x10, 8, done, nullptr); /* CLOCK_PS */
	b.run();
	CU_ASSERT_EQUAL_FATAL(got.size(), 3);
	CU_ASSERT(got[0] >= b.profile.root.store_latency + b.profile.pcie.latency);
	CU_ASSERT(got[1] > got[0] && got[2] > got[1]);
	CU_ASSERT(now_ps() > got[2] + b.profile.pcie.latency);
}

/* It neither waits for the link nor uses it, and has its latency and its rate; one comes after the other. */
static void device_memory()
{
	Profile p = link_profile();

	p.engine.dm_latency = 20000;
	p.engine.dm_rate = 8; /* 1 ns for each byte */
	LinkBench b(p);
	auto host = b.job(true, 1, {{0, 4096}}), first = b.job(true, HCA_PASID_DEVICE, {{0, 100}}),
	     second = b.job(false, HCA_PASID_DEVICE, {{0, 60}, {100, 40}});
	std::vector<hca_ps> ends;

	for (Job *job : {first.get(), second.get(), host.get()})
		job->on_done = [&ends](Job &) { ends.push_back(now_ps()); };
	b.submit(*host);
	b.submit(*first);
	CU_ASSERT_EQUAL(first->times_done, 0); /* never from inside the call */
	b.submit(*second);
	b.run();
	CU_ASSERT_EQUAL_FATAL(ends.size(), 3);
	CU_ASSERT_EQUAL(ends[0], 120000);
	CU_ASSERT_EQUAL(ends[1], 220000);
	CU_ASSERT(ends[2] > ends[1]);
	CU_ASSERT(b.log == Log({"write"}));
}

/* Reads that time out, and whose completions come later, when other reads have been made: none gets the bytes of another. */
static void late_completions()
{
	Profile p = link_profile();
	std::string err;
	Fault fault(1);
	unsigned int good = 0, bad = 0, done = 0;

	p.pcie.tags = 2;
	p.pcie.completion_timeout = 50000000;
	LinkBench b(p);
	std::vector<std::unique_ptr<Job>> jobs;

	CU_ASSERT_FATAL(fault.parse("read_late=0.2", err));
	b.root->inject(&fault);
	for (size_t i = 0; i < b.memory.size(); i++)
		b.memory[i] = uint8_t(i / 64 * 7 + i);
	for (uint64_t i = 0; i < 300; i++) {
		jobs.push_back(b.job(false, 1, {{64 * i, 64}}));
		jobs.back()->on_done = [&done](Job &) { done++; };
		b.submit(*jobs.back());
	}
	while (done < jobs.size() && now_ps() < 100000000000) {
		b.run_for(100000);
		b.endpoint->expire(now_ps());
		b.root->expire(now_ps());
	}
	for (size_t i = 0; i < jobs.size(); i++) {
		CU_ASSERT_EQUAL(jobs[i]->times_done, 1);
		(jobs[i]->dma.status ? bad : good)++;
		if (!jobs[i]->dma.status)
			CU_ASSERT(memcmp(jobs[i]->buf.data(), &b.memory[64 * i], 64) == 0);
	}
	CU_ASSERT(good > 200 && bad > 30);
	/* A tag of a read that failed is used again when its completion has come: twice the time-out. */
	CU_ASSERT(now_ps() > bad / p.pcie.tags * 2 * p.pcie.completion_timeout);
}

int main()
{
	return run_suite("DMA", {{"scattered read", scattered_read},
				 {"scattered write", scattered_write},
				 {"no bytes", no_bytes},
				 {"a read does not pass a write", read_does_not_pass_write},
				 {"writes land in order", writes_land_in_order},
				 {"a write passes a waiting read", write_passes_waiting_read},
				 {"an interrupt comes after writes", interrupt_after_writes},
				 {"a thread wakes late", interrupt_wakes_late},
				 {"completions interleave", completions_interleave},
				 {"reads together", reads_together},
				 {"writes together", writes_together},
				 {"refusals", refusals},
				 {"the split is a piece of its own", split_is_a_piece_of_its_own},
				 {"valid byte after the rest", valid_byte_after_the_rest},
				 {"own memory", own_memory},
				 {"CPU loads", cpu_loads},
				 {"device memory", device_memory},
				 {"late completions", late_completions}});
}
