/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A FIFO that grows to its high-water mark once and then never allocates again: one per queue of TLPs. */
#ifndef HCASIM_TIMING_RING_H
#define HCASIM_TIMING_RING_H

#include <cstddef>
#include <utility>
#include <vector>

namespace hcasim
{

template <class T>
class Ring
{
	std::vector<T> slots_;
	size_t head_ = 0, size_ = 0;

	void grow()
	{
		std::vector<T> bigger(slots_.size() * 2);

		for (size_t i = 0; i < size_; i++)
			bigger[i] = std::move((*this)[i]);
		slots_.swap(bigger);
		head_ = 0;
	}

      public:
	Ring() : slots_(16)
	{
	}
	bool empty() const
	{
		return size_ == 0;
	}
	size_t size() const
	{
		return size_;
	}
	T &operator[](size_t i)
	{
		return slots_[(head_ + i) & (slots_.size() - 1)];
	}
	const T &operator[](size_t i) const
	{
		return slots_[(head_ + i) & (slots_.size() - 1)];
	}
	T &front()
	{
		return slots_[head_];
	}
	const T &front() const
	{
		return slots_[head_];
	}
	T &back()
	{
		return (*this)[size_ - 1];
	}
	void push(T v)
	{
		if (size_ == slots_.size())
			grow();
		size_++;
		back() = std::move(v);
	}
	T pop()
	{
		T v = std::move(slots_[head_]);

		head_ = (head_ + 1) & (slots_.size() - 1);
		size_--;
		return v;
	}
};

} // namespace hcasim
#endif
