// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sc_kernel.h"

#include <cstdlib>
#include <string>

/* The SystemC library has a main() of its own that calls this; programs that link us have theirs. */
extern "C" int sc_main(int, char **)
{
	return EXIT_FAILURE;
}

namespace hcasim
{

bool ScKernel::exists_;

ScKernel::ScKernel()
{
	using namespace sc_core;

	if (exists_)
		throw std::string("machine: there is one in this process already");
	exists_ = true;
	/* Read when the kernel starts; the banner would stand in the output of users' programs. */
	setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
	sc_report_handler::set_actions(SC_INFO, SC_DO_NOTHING);
	sc_report_handler::set_actions(SC_WARNING, SC_DO_NOTHING);
	outer_ = sc_get_curr_simcontext();
	own_ = new sc_simcontext;
	sc_curr_simcontext = own_;
}

ScKernel::~ScKernel()
{
	/* The events went with their modules; asking for what is pending frees their entries in the calendar,
	 * which the kernel would lose. */
	sc_core::sc_pending_activity_at_future_time(own_);
	delete own_;
	sc_core::sc_curr_simcontext = outer_;
	exists_ = false;
}

} // namespace hcasim
