/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One CPU's write-combining buffers (Intel SDM 3A, 11.3.1): stores to a write-combining page gather in
 * lines of 64 bytes. A whole line leaves as one write, a part of one as writes of at most 8 bytes.
 */
#ifndef HCASIM_TIMING_WRITE_COMBINE_H
#define HCASIM_TIMING_WRITE_COMBINE_H

#include "ring.h"
#include "units.h"

namespace hcasim
{

class WcSink
{
      public:
	virtual ~WcSink() = default;
	virtual void wc_write(unsigned int bar, uint64_t offset, const void *data, uint32_t size) = 0;
};

class WriteCombine
{
      public:
	static constexpr uint32_t LINE = 64;

	WriteCombine(unsigned int buffers, hca_ps age, WcSink &sink) : max_(buffers), age_(age), sink_(sink)
	{
	}
	/* A store of any size that lies anywhere; it is cut at line borders. */
	void store(hca_ps now, unsigned int bar, uint64_t offset, const void *data, uint32_t size);
	/* The store is inside a line and only changes a buffer: nothing leaves because of it. */
	bool absorbs(unsigned int bar, uint64_t offset, uint32_t size) const;
	/* There is a line that has to leave before another CPU's store to this place: of it, or of another BAR. */
	bool ahead_of(unsigned int bar, uint64_t offset, uint32_t size) const
	{
		return count_ahead(bar, offset, size);
	}
	/* These lines leave, with all lines before. */
	void make_way(unsigned int bar, uint64_t offset, uint32_t size);
	/* Everything leaves: an uncached access follows. */
	void flush();
	/* The oldest line leaves if its age has come; false: it has not. */
	bool expire(hca_ps now);
	bool empty() const
	{
		return lines_.empty();
	}
	/* When the oldest line leaves by age. */
	hca_ps next_expiry() const;

      private:
	struct Line {
		unsigned int bar;
		uint64_t offset;
		uint64_t valid; /* a bit for each byte */
		hca_ps since;
		uint8_t data[LINE];
	};
	Ring<Line> lines_; /* oldest first */
	const unsigned int max_;
	const hca_ps age_;
	WcSink &sink_;

	size_t find(unsigned int bar, uint64_t base) const;
	size_t count_ahead(unsigned int bar, uint64_t offset, uint32_t size) const;
	void store_in_line(hca_ps now, unsigned int bar, uint64_t offset, const void *data, uint32_t size);
	void flush_oldest();
	void send(const Line &line);
};

} // namespace hcasim
#endif
