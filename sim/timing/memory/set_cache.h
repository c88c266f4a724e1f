/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which entries a set-associative cache holds, with true LRU in each set. It has no data. */
#ifndef HCASIM_TIMING_MEMORY_SET_CACHE_H
#define HCASIM_TIMING_MEMORY_SET_CACHE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hcasim
{

/* Entry `number` of a table: of a QP, a memory key or an address space. */
struct CacheKey {
	uint32_t table;
	uint64_t number;

	bool operator==(const CacheKey &o) const
	{
		return table == o.table && number == o.number;
	}
	bool operator<(const CacheKey &o) const
	{
		return table != o.table ? table < o.table : number < o.number;
	}
};

class SetCache
{
	struct Entry {
		CacheKey key;
		uint64_t used; /* 0: empty */
	};
	size_t ways_, sets_;
	std::vector<Entry> entry_; /* of the sets, one after another */
	uint64_t uses_ = 0;

	Entry *set_of(const CacheKey &key);

      public:
	/* `entries` not 0. Whole sets; of fewer entries than ways there is one. */
	SetCache(size_t entries, size_t ways);
	/* It is there, and is now the one that was used last. */
	bool use(const CacheKey &key);
	/* In the place of the one of its set that has not been used for the longest time. It is not there. */
	void add(const CacheKey &key);
	void drop(const CacheKey &key);
	void drop_table(uint32_t table);
};

} // namespace hcasim
#endif
