// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "suite.h"

#include <cstring>
#include <vector>

#include "timing/write_combine.h"

using namespace hcasim;

struct Record : WcSink {
	struct Write {
		unsigned int bar;
		uint64_t offset;
		std::vector<uint8_t> data;
	};
	std::vector<Write> writes;

	void wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size) override
	{
		const uint8_t *p = static_cast<const uint8_t *>(data);

		writes.push_back({bar, offset, {p, p + size}});
	}
};

static const uint64_t AGE = 1000;

static void store8(WriteCombine &wc, uint64_t offset, uint64_t value, hca_ps now = 0)
{
	wc.store(now, 2, offset, &value, 8);
}

static void full_line_is_one_write()
{
	Record r;
	WriteCombine wc(4, AGE, r);

	for (uint64_t i = 0; i < 8; i++) {
		CU_ASSERT(r.writes.empty());
		store8(wc, 0x800 + 8 * i, i);
	}
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 1);
	CU_ASSERT_EQUAL(r.writes[0].offset, 0x800);
	CU_ASSERT_EQUAL_FATAL(r.writes[0].data.size(), 64);
	CU_ASSERT_EQUAL(r.writes[0].data[8 * 7], 7);
	CU_ASSERT_EQUAL(wc.next_expiry(), HCA_PS_NEVER);
}

static void partial_line_leaves_in_chunks_of_8()
{
	Record r;
	WriteCombine wc(4, AGE, r);

	store8(wc, 0x00, 1);
	store8(wc, 0x08, 2);
	store8(wc, 0x20, 3);
	wc.flush();
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 3);
	CU_ASSERT_EQUAL(r.writes[0].offset, 0x00);
	CU_ASSERT_EQUAL(r.writes[1].offset, 0x08);
	CU_ASSERT_EQUAL(r.writes[2].offset, 0x20);
	for (const auto &w : r.writes)
		CU_ASSERT_EQUAL(w.data.size(), 8);
}

/* A copy to one BAR arrives before its doorbell in another, even one that leaves at once. */
static void another_bar()
{
	Record r;
	WriteCombine wc(4, AGE, r);
	const uint64_t line[8] = {};

	wc.store(0, 4, 0x10, line, 8);
	wc.store(0, 2, 0x800, line, sizeof(line));
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 2);
	CU_ASSERT(r.writes[0].bar == 4 && r.writes[0].offset == 0x10);
	CU_ASSERT(r.writes[1].bar == 2 && r.writes[1].offset == 0x800);
}

static void bytes_inside_a_chunk()
{
	Record r;
	WriteCombine wc(4, AGE, r);
	const uint8_t bytes[2] = {0xaa, 0xbb};

	wc.store(0, 2, 1, bytes, 2);
	wc.store(0, 2, 5, bytes, 1);
	wc.flush();
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 2);
	CU_ASSERT(r.writes[0].offset == 1 && r.writes[0].data == std::vector<uint8_t>({0xaa, 0xbb}));
	CU_ASSERT(r.writes[1].offset == 5 && r.writes[1].data == std::vector<uint8_t>({0xaa}));
}

static void more_lines_than_buffers()
{
	Record r;
	WriteCombine wc(2, AGE, r);

	store8(wc, 0x000, 1);
	store8(wc, 0x040, 2);
	CU_ASSERT(r.writes.empty());
	store8(wc, 0x080, 3); /* the oldest makes room */
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 1);
	CU_ASSERT_EQUAL(r.writes[0].offset, 0x000);
}

static void same_bytes_twice_are_two_writes()
{
	Record r;
	WriteCombine wc(4, AGE, r);

	store8(wc, 0x40, 7); /* an older line keeps its place */
	store8(wc, 0x00, 1);
	store8(wc, 0x00, 2);
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 2);
	CU_ASSERT_EQUAL(r.writes[0].offset, 0x40);
	CU_ASSERT_EQUAL(r.writes[1].data[0], 1);
	wc.flush();
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 3);
	CU_ASSERT_EQUAL(r.writes[2].data[0], 2);
}

static void age()
{
	Record r;
	WriteCombine wc(4, AGE, r);

	store8(wc, 0x00, 1, 100);
	store8(wc, 0x40, 2, 300);
	CU_ASSERT_EQUAL(wc.next_expiry(), 100 + AGE);
	CU_ASSERT_FALSE(wc.expire(99 + AGE));
	CU_ASSERT(r.writes.empty());
	CU_ASSERT(wc.expire(100 + AGE));
	CU_ASSERT_FALSE(wc.expire(100 + AGE));
	CU_ASSERT_EQUAL(r.writes.size(), 1);
	CU_ASSERT_EQUAL(wc.next_expiry(), 300 + AGE);
	CU_ASSERT(wc.expire(300 + AGE));
	CU_ASSERT_EQUAL(r.writes.size(), 2);
	CU_ASSERT_FALSE(wc.expire(HCA_PS_NEVER - 1));
}

/* What absorbs() says of a store is what the store does. */
static void absorbed()
{
	static const struct {
		unsigned int bar;
		uint64_t offset;
		uint32_t size;
	} stores[] = {
		{0, 0x00, 8},  {0, 0x08, 8},  {0, 0x08, 8},  /* the same bytes */
		{0, 0x00, 8},                                /* below bytes that are there */
		{0, 0x40, 8},  {0, 0x80, 8},  {0, 0xc0, 64}, /* a whole line */
		{0, 0x100, 8}, {0, 0x140, 8}, {0, 0x180, 8}, /* no free buffer */
		{1, 0x00, 8},                                /* another BAR */
		{1, 0x08, 8},  {1, 0x10, 48},                /* the line is full */
	};
	unsigned int left = 0, stayed = 0;
	Record r;
	WriteCombine wc(3, AGE, r);
	uint8_t data[64] = {};

	for (const auto &s : stores) {
		const size_t before = r.writes.size();
		const bool stays = wc.absorbs(s.bar, s.offset, s.size);

		wc.store(0, s.bar, s.offset, data, s.size);
		CU_ASSERT_EQUAL(stays, r.writes.size() == before);
		(stays ? stayed : left)++;
	}
	CU_ASSERT(left >= 5 && stayed >= 5);
}

static void a_store_across_lines()
{
	Record r;
	WriteCombine wc(4, AGE, r);
	uint8_t bytes[64];

	for (int i = 0; i < 64; i++)
		bytes[i] = i;
	wc.store(0, 2, 0x20, bytes, 64);
	wc.store(0, 2, 0x60, bytes, 32); /* fills the second line, which overtakes the first */
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 1);
	CU_ASSERT(r.writes[0].offset == 0x40 && r.writes[0].data.size() == 64 && r.writes[0].data[0] == 32);
	wc.flush();
	CU_ASSERT_EQUAL(r.writes.size(), 1 + 4);
	CU_ASSERT_EQUAL(r.writes[1].offset, 0x20);
}

static void bars_are_apart()
{
	Record r;
	WriteCombine wc(4, AGE, r);
	uint64_t v = 5;

	wc.store(0, 0, 0x00, &v, 8);
	wc.store(0, 2, 0x08, &v, 8);
	wc.flush();
	CU_ASSERT_EQUAL_FATAL(r.writes.size(), 2);
	CU_ASSERT(r.writes[0].bar == 0 && r.writes[1].bar == 2);
}

int main()
{
	return run_suite("write combining",
			 {{"a full line is one write", full_line_is_one_write},
			  {"a partial line leaves in chunks of 8", partial_line_leaves_in_chunks_of_8},
			  {"another BAR", another_bar},
			  {"bytes inside a chunk", bytes_inside_a_chunk},
			  {"more lines than buffers", more_lines_than_buffers},
			  {"the same bytes twice", same_bytes_twice_are_two_writes},
			  {"age", age},
			  {"absorbed", absorbed},
			  {"a store across lines", a_store_across_lines},
			  {"BARs are apart", bars_are_apart}});
}
