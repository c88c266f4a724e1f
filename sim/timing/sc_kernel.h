/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A SystemC kernel of our own, so that a process may make one machine after another. All modules are
 * made and unmade while it exists; only one at a time may.
 */
#ifndef HCASIM_TIMING_SC_KERNEL_H
#define HCASIM_TIMING_SC_KERNEL_H

#include <systemc>

namespace hcasim
{

class ScKernel
{
	sc_core::sc_simcontext *outer_, *own_;
	static bool exists_;

      public:
	/* Throws std::string if there is one already. */
	ScKernel();
	~ScKernel();
	ScKernel(const ScKernel &) = delete;
	ScKernel &operator=(const ScKernel &) = delete;
};

} // namespace hcasim
#endif
