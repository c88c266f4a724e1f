/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The clock of the models of one adapter, and their waveform: the op `wave`. Time is in half clock cycles of whichever
 * model runs.
 */
#ifndef HCASIM_RTL_WAVE_HPP
#define HCASIM_RTL_WAVE_HPP

#include <cerrno>
#include <functional>
#include <memory>
#include <string>

#include <verilated.h>

#ifdef RTL_FAST

// For models of which a cycle is one evaluation, and which have no waveform: rtl_verilate(FAST).
class Wave
{
      public:
	explicit Wave(VerilatedContext &)
	{
	}

	template <class... Top>
	int open(uint32_t, const char *, Top &...)
	{
		return -EOPNOTSUPP;
	}

	int close()
	{
		return 0;
	}

	template <class Top>
	void settle(Top &top)
	{
		top.eval();
	}

	template <class Top>
	void cycle(Top &top)
	{
		top.clk_i = !top.clk_i;
		top.eval();
	}
};

#else

#include <verilated_fst_c.h>

class Wave
{
      public:
	explicit Wave(VerilatedContext &context);
	~Wave();

	// The last cycles, at most `window`, go to `path`, those before them to `path`.before. 0 or -errno.
	template <class... Top>
	int open(uint32_t window, const char *path, Top &...top)
	{
		return open(window, path, [&top...](VerilatedFstC &file) { (top.trace(&file, 99), ...); });
	}
	int close();

	// Outputs follow the inputs that have been set.
	template <class Top>
	void settle(Top &top)
	{
		top.clk_i = 0;
		top.eval();
	}

	template <class Top>
	void cycle(Top &top)
	{
		settle(top);
		half();
		top.clk_i = 1;
		top.eval();
		half();
	}

      private:
	// Makes the models part of a file that is about to be opened.
	using Add = std::function<void(VerilatedFstC &)>;

	int open(uint32_t window, const char *path, const Add &add);
	void begin();
	void half();

	VerilatedContext &context_;
	std::unique_ptr<VerilatedFstC> file_;
	Add add_;
	std::string path_;
	uint32_t window_ = 0, halves_ = 0; // in this file
};

#endif
#endif
