/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Objects for every TLP: taken from a free list, freed only with the pool. */
#ifndef HCASIM_TIMING_POOL_H
#define HCASIM_TIMING_POOL_H

#include <memory>
#include <vector>

namespace hcasim
{

template <class T>
class Pool
{
	std::vector<std::unique_ptr<T>> all_;
	std::vector<T *> free_;

      public:
	T *get()
	{
		if (free_.empty()) {
			all_.push_back(std::make_unique<T>());
			return all_.back().get();
		}
		T *t = free_.back();

		free_.pop_back();
		*t = T();
		return t;
	}
	void put(T *t)
	{
		free_.push_back(t);
	}
};

} // namespace hcasim
#endif
