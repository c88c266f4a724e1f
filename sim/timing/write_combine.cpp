// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "write_combine.h"

#include <algorithm>
#include <cstring>

namespace hcasim
{

static uint64_t byte_mask(uint32_t from, uint32_t size)
{
	return (size == 64 ? ~0ull : (1ull << size) - 1) << from;
}

void WriteCombine::store(hca_ps now, unsigned int bar, uint64_t offset, const void *data, uint32_t size)
{
	const uint8_t *p = static_cast<const uint8_t *>(data);

	/*
	 * A doorbell follows a copy to device memory behind a fence, in a correct driver, and fences are not seen here:
	 * the copy leaves before a line of another BAR is begun.
	 */
	if (!lines_.empty() && lines_[lines_.size() - 1].bar != bar)
		flush();
	while (size) {
		uint32_t part = std::min(size, LINE - uint32_t(offset % LINE));

		store_in_line(now, bar, offset, p, part);
		offset += part;
		p += part;
		size -= part;
	}
}

/* lines_.size(): there is none. */
size_t WriteCombine::find(unsigned int bar, uint64_t base) const
{
	size_t i = 0;

	while (i < lines_.size() && (lines_[i].bar != bar || lines_[i].offset != base))
		i++;
	return i;
}

bool WriteCombine::absorbs(unsigned int bar, uint64_t offset, uint32_t size) const
{
	const uint64_t at = offset % LINE;
	const size_t i = find(bar, offset - at);

	if (at + size > LINE || (!lines_.empty() && lines_[lines_.size() - 1].bar != bar))
		return false;
	const uint64_t valid = i < lines_.size() ? lines_[i].valid : 0;

	return !(valid >> at) && (valid | byte_mask(at, size)) != ~0ull && (i < lines_.size() || i < max_);
}

void WriteCombine::store_in_line(hca_ps now, unsigned int bar, uint64_t offset, const void *data,
				 uint32_t size)
{
	uint64_t base = offset & ~uint64_t(LINE - 1), mask = byte_mask(offset - base, size);
	size_t i = find(bar, base);

	/*
	 * A second store to the same bytes, or one below bytes that are there (a new copy into a buffer, and the
	 * line still holds the end of the last one), follows a fence in a correct driver, and fences are not seen
	 * here: the earlier stores leave first, with all lines before. Hardware may write a line out at any time.
	 */
	if (i < lines_.size() && lines_[i].valid >> (offset - base)) {
		for (size_t n = i + 1; n > 0; n--)
			flush_oldest();
		i = lines_.size();
	}
	if (i == lines_.size()) {
		if (i == max_)
			flush_oldest();
		lines_.push({bar, base, 0, now, {}});
		i = lines_.size() - 1;
	}
	memcpy(lines_[i].data + (offset - base), data, size);
	lines_[i].valid |= mask;
	if (lines_[i].valid == ~0ull) { /* full: it leaves at once; the others keep their order */
		Line full = lines_[i];

		for (; i > 0; i--)
			lines_[i] = lines_[i - 1];
		lines_.pop();
		send(full);
	}
}

void WriteCombine::send(const Line &line)
{
	if (line.valid == ~0ull) {
		sink_.wc_write(line.bar, line.offset, line.data, LINE);
		return;
	}
	for (uint64_t left = line.valid; left;) {
		uint32_t at = __builtin_ctzll(left), room = 8 - at % 8;
		uint64_t run = ~(left >> at);
		uint32_t len = std::min<uint32_t>(run ? __builtin_ctzll(run) : room, room);

		sink_.wc_write(line.bar, line.offset + at, line.data + at, len);
		left &= ~byte_mask(at, len);
	}
}

size_t WriteCombine::count_ahead(unsigned int bar, uint64_t offset, uint32_t size) const
{
	size_t n = lines_.size();

	while (n && lines_[n - 1].bar == bar &&
	       (lines_[n - 1].offset + LINE <= offset || offset + size <= lines_[n - 1].offset))
		n--;
	return n;
}

void WriteCombine::make_way(unsigned int bar, uint64_t offset, uint32_t size)
{
	for (size_t n = count_ahead(bar, offset, size); n; n--)
		flush_oldest();
}

void WriteCombine::flush_oldest()
{
	send(lines_.pop());
}

void WriteCombine::flush()
{
	while (!lines_.empty())
		flush_oldest();
}

hca_ps WriteCombine::next_expiry() const
{
	return lines_.empty() ? HCA_PS_NEVER : lines_.front().since + age_;
}

bool WriteCombine::expire(hca_ps now)
{
	if (next_expiry() > now)
		return false;
	flush_oldest();
	return true;
}

} // namespace hcasim
