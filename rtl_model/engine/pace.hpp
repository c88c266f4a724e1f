/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How often what stands around the models answers, and with what their registers start: always, and zeros; in tests, at random. */
#ifndef HCASIM_RTL_PACE_HPP
#define HCASIM_RTL_PACE_HPP

#include <random>

class Pace
{
      public:
	bool ready()
	{
		return !seed || random_() % 100 < percent_;
	}
	bool idle()
	{
		return idles && !ready();
	}
	static inline bool idles = false;
	// Of those that are made from here on; `seed` 0: always.
	static void set(uint32_t seed, unsigned int percent)
	{
		next_seed_ = seed;
		next_percent_ = percent;
	}

      private:
	static inline uint32_t next_seed_ = 0;
	static inline unsigned int next_percent_ = 100;

      public:
	const uint32_t seed = next_seed_;

      private:
	const unsigned int percent_ = next_percent_;
	std::minstd_rand random_{next_seed_};
};

#endif
