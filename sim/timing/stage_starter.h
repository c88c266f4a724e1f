/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Told after every call into the core: stages may have got work, and the core must not be asked inside. */
#ifndef HCASIM_TIMING_STAGE_STARTER_H
#define HCASIM_TIMING_STAGE_STARTER_H

namespace hcasim
{

class StageStarter
{
      public:
	virtual ~StageStarter() = default;
	virtual void start_ready() = 0;
};

} // namespace hcasim
#endif
