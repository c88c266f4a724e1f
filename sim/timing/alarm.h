/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One event at the earliest of the requested times. A module has one process and one alarm; the process checks its
 * calendars, does what is due, and sets the alarm again. There are no clock ticks.
 */
#ifndef HCASIM_TIMING_ALARM_H
#define HCASIM_TIMING_ALARM_H

#include "units.h"

namespace hcasim
{

class Alarm
{
	sc_core::sc_event event_;
	hca_ps at_ = HCA_PS_NEVER;

      public:
	explicit Alarm(const char *name) : event_(name)
	{
	}
	const sc_core::sc_event &event() const
	{
		return event_;
	}
	/* Makes the process run at `t`, unless it runs earlier anyway. */
	void set(hca_ps t)
	{
		if (t >= at_)
			return;
		hca_ps now = now_ps();

		at_ = t < now ? now : t;
		event_.notify(to_sc(at_ - now));
	}
	/* Nothing is requested any more. */
	void clear()
	{
		if (at_ != HCA_PS_NEVER)
			event_.cancel();
		at_ = HCA_PS_NEVER;
	}
	/* The first thing that the process does. */
	void fired()
	{
		at_ = HCA_PS_NEVER;
	}
};

} // namespace hcasim
#endif
