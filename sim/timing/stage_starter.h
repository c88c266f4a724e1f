/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Called after every call of the core: stages may have new work, which cannot be queried during the call. */
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
