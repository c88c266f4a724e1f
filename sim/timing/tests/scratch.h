/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A folder for what a test writes, in that of the system for temporary files ($TMPDIR). */
#ifndef HCASIM_TIMING_TESTS_SCRATCH_H
#define HCASIM_TIMING_TESTS_SCRATCH_H

#include <CUnit/Basic.h>
#include <cstdlib>
#include <filesystem>
#include <string>

class Scratch
{
	std::filesystem::path path_;

      public:
	Scratch()
	{
		std::string name = std::filesystem::temp_directory_path() / "hcasim-timing-test-XXXXXX";

		CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(name.data()));
		path_ = name;
	}
	Scratch(const Scratch &) = delete;
	Scratch &operator=(const Scratch &) = delete;
	~Scratch()
	{
		std::filesystem::remove_all(path_);
	}
	const std::filesystem::path &path() const
	{
		return path_;
	}
};

#endif
