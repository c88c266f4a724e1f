// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* For tests: a profile by name. In a file of its own, so that hcasim-dma does not name the source tree. */
#include "link_bench.h"

#include <stdexcept>

using namespace hcasim;

Profile link_profile(const char *name)
{
	Profile p;
	std::string err;

	if (!profile_load((std::string(PROFILE_DIR "/") + name + ".yaml").c_str(), p, err))
		throw std::runtime_error(err);
	return p;
}
