// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "set_cache.h"

#include <algorithm>

namespace hcasim
{

SetCache::SetCache(size_t entries, size_t ways)
    : ways_(std::min(ways, entries)), sets_(entries / ways_), entry_(sets_ * ways_)
{
}

/* Numbers that follow each other are in different sets, and tables begin at different ones. The factor is prime. */
SetCache::Entry *SetCache::set_of(const CacheKey &key)
{
	return &entry_[(key.number + uint64_t(key.table) * 2654435761u) % sets_ * ways_];
}

bool SetCache::use(const CacheKey &key)
{
	Entry *const set = set_of(key);

	for (size_t i = 0; i < ways_; i++)
		if (set[i].used && set[i].key == key) {
			set[i].used = ++uses_;
			return true;
		}
	return false;
}

void SetCache::add(const CacheKey &key)
{
	Entry *const set = set_of(key);
	auto older = [](const Entry &a, const Entry &b) { return a.used < b.used; };

	*std::min_element(set, set + ways_, older) = {key, ++uses_};
}

void SetCache::drop(const CacheKey &key)
{
	Entry *const set = set_of(key);

	for (size_t i = 0; i < ways_; i++)
		if (set[i].key == key)
			set[i].used = 0;
}

void SetCache::drop_table(uint32_t table)
{
	for (Entry &e : entry_)
		if (e.key.table == table)
			e.used = 0;
}

} // namespace hcasim
