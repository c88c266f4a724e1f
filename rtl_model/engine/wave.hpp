/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The waveform of the models of one adapter: the op `wave`. Time is in half clock cycles of whichever model runs. */
#ifndef HCASIM_RTL_WAVE_HPP
#define HCASIM_RTL_WAVE_HPP

#include <functional>
#include <memory>
#include <string>

#include <verilated.h>
#include <verilated_fst_c.h>

class Wave
{
      public:
	// `add` makes the models part of a file that is about to be opened.
	using Add = std::function<void(VerilatedFstC &)>;

	~Wave();
	// The last cycles, at most `window`, go to `path`, those before them to `path`.before. 0 or -errno.
	int open(const Add &add, uint32_t window, const char *path);
	int close();
	// A model has been evaluated for half a clock cycle.
	void half(VerilatedContext &context);

      private:
	void begin();

	std::unique_ptr<VerilatedFstC> file_;
	Add add_;
	std::string path_;
	uint32_t window_ = 0, halves_ = 0; // in this file
};

#endif
