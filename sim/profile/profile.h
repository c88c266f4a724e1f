/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A timing profile: latencies, rates and sizes. spec/profile.yaml declares its figures. Read from YAML, where each
 * figure is {value, unit, source}; see docs/profiles.md.
 */
#ifndef HCASIM_PROFILE_PROFILE_H
#define HCASIM_PROFILE_PROFILE_H

#include <map>
#include <string>
#include <vector>

#include "core/hca.h"

#include <hcasim_profile.h>

namespace hcasim
{

struct Profile : ProfileFigures {
	std::string name, description;
	std::map<std::string, std::string> source; /* of each figure, by its key */
};

/* False, and one sentence that names file, key and value in `err`. */
bool profile_load(const char *path, Profile &out, std::string &err);
/* Replaces figures, each by a text such as "pcie.mps=128". False, and one sentence that names it in `err`. */
bool profile_set(Profile &profile, const std::vector<std::string> &sets, std::string &err);
/* As YAML that profile_load() reads. */
std::string profile_text(const Profile &profile);

} // namespace hcasim
#endif
