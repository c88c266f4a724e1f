/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Simulated time inside the SystemC shell: plain picoseconds, the resolution of the SystemC kernel. */
#ifndef HCASIM_TIMING_UNITS_H
#define HCASIM_TIMING_UNITS_H

#include <systemc>

#include "../core/hca.h"

namespace hcasim
{

inline hca_ps now_ps()
{
	return sc_core::sc_get_curr_simcontext()->time_stamp().value();
}

inline sc_core::sc_time to_sc(hca_ps ps)
{
	return sc_core::sc_time::from_value(ps);
}

/* To the nearest one, from 0 <= `ps` < 2^62; llround() is a call, and conversion to an unsigned number is slower. */
inline hca_ps round_ps(double ps)
{
	return hca_ps(int64_t(2 * ps) + 1) / 2;
}

/* A time that may lie in the "never" range plus a delay, without wrapping. */
inline hca_ps after(hca_ps t, hca_ps delay)
{
	return t > HCA_PS_NEVER - delay ? HCA_PS_NEVER : t + delay;
}

} // namespace hcasim
#endif
