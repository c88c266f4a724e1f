/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A FIFO that grows to its high-water mark once and then never allocates again: one per queue of TLPs. */
#ifndef HCASIM_TIMING_RING_H
#define HCASIM_TIMING_RING_H

#include <cstddef>
#include <memory>
#include <utility>

namespace hcasim
{

template <class T>
class Ring
{
	std::unique_ptr<T[]> slots_;
	size_t mask_; /* number of slots - 1 */
	size_t head_ = 0, size_ = 0;

	void grow()
	{
		const size_t bigger_mask = mask_ * 2 + 1;
		std::unique_ptr<T[]> bigger(new T[bigger_mask + 1]);

		for (size_t i = 0; i < size_; i++)
			bigger[i] = std::move((*this)[i]);
		slots_ = std::move(bigger);
		mask_ = bigger_mask;
		head_ = 0;
	}

      public:
	Ring() : slots_(new T[16]), mask_(15)
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
		return slots_[(head_ + i) & mask_];
	}
	const T &operator[](size_t i) const
	{
		return slots_[(head_ + i) & mask_];
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
		if (size_ > mask_)
			grow();
		(*this)[size_++] = std::move(v);
	}
	T pop()
	{
		T v = std::move(slots_[head_]);

		head_ = (head_ + 1) & mask_;
		size_--;
		return v;
	}
};

} // namespace hcasim
#endif
