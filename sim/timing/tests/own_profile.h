/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A profile that differs from the default one where a test wants it. */
#ifndef HCASIM_TIMING_TESTS_OWN_PROFILE_H
#define HCASIM_TIMING_TESTS_OWN_PROFILE_H

#include <CUnit/Basic.h>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "fabric.h"
#include "profile/profile.h"
#include "scratch.h"

/* A profile of its own in a folder of its own: the default one with some values replaced. */
class OwnProfile
{
	Scratch dir_;

      public:
	OwnProfile(std::initializer_list<std::pair<const char *, const char *>> values)
	{
		std::ifstream in(DEFAULT_PROFILE);
		std::string text{std::istreambuf_iterator<char>(in), {}};

		for (const auto &[key, value] : values) {
			std::string from = std::string("\n  ") + key + ": {value: ";
			size_t at = text.find(from);

			CU_ASSERT_FATAL(at != std::string::npos);
			at += from.size();
			text.replace(at, text.find(',', at) - at, value);
		}
		std::ofstream(path()) << text;
	}
	/* The default one with figures replaced as by --set. */
	explicit OwnProfile(const std::vector<std::string> &sets)
	{
		hcasim::Profile profile;
		std::string err;

		CU_ASSERT_FATAL(hcasim::profile_load(DEFAULT_PROFILE, profile, err));
		CU_ASSERT_FATAL(hcasim::profile_set(profile, sets, err));
		std::ofstream(path()) << hcasim::profile_text(profile);
	}
	std::string folder() const
	{
		return dir_.path();
	}
	std::string path() const
	{
		return dir_.path() / "own.yaml";
	}
};

#endif
