// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What random WQEs have met: operation, QP type, setter or flag, and how it ended.
#ifndef HCASIM_RTL_RANDOM_BINS_HPP
#define HCASIM_RTL_RANDOM_BINS_HPP

#include <cstdio>
#include <set>
#include <tuple>

#include "core/personality.h"

class Bins
{
      public:
	// A WQE, as far as bins tell WQEs apart.
	struct Wqe {
		uint8_t op, qp_type, data, flags;
	};
	static Wqe of(const hca_wr &wr, uint8_t qp_type);

	void ended(const Wqe &wqe, uint8_t status)
	{
		met_.insert({wqe, status});
	}
	// A line for each bin: operation, QP type, setter or flag, status, and 1 if it was met. Returns how many were not.
	unsigned int write(FILE *out) const
	{
		return write_setters(out) + write_flags(out);
	}

      private:
	struct Met {
		Wqe wqe;
		uint8_t status;
		bool operator<(const Met &b) const
		{
			return std::tie(wqe.op, wqe.qp_type, wqe.data, wqe.flags, status) <
			       std::tie(b.wqe.op, b.wqe.qp_type, b.wqe.data, b.wqe.flags, b.status);
		}
	};

	unsigned int write_setters(FILE *out) const;
	unsigned int write_flags(FILE *out) const;
	template <class Match>
	unsigned int line(FILE *out, uint8_t op, uint8_t type, const char *what, uint8_t status,
			  Match match) const;

	std::set<Met> met_;
};

#endif
