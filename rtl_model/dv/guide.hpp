/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The waveforms of ../doc: a line for each port. - is 1, _ is 0, a number is hexadecimal, or . where it does not count. */
#ifndef HCASIM_RTL_DV_GUIDE_HPP
#define HCASIM_RTL_DV_GUIDE_HPP

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tb.hpp"

class Waveform
{
      public:
	explicit Waveform(const std::vector<std::string> &names)
	{
		for (const std::string &name : names)
			rows_.push_back({name, ""});
	}

	static char bit(bool value)
	{
		return value ? '-' : '_';
	}
	static char digit(bool counts, unsigned int value)
	{
		return counts ? "0123456789abcdef"[value & 15] : '.';
	}

	// A clock cycle: a character for each port.
	void cycle(const std::vector<char> &values)
	{
		for (size_t i = 0; i < rows_.size(); i++)
			rows_[i].values += values[i];
	}

	void clear()
	{
		for (Row &row : rows_)
			row.values.clear();
	}

	// Fails unless the page has just these lines.
	void check(const std::string &page) const
	{
		std::string text, found;
		size_t width = 0;

		for (const Row &row : rows_)
			width = std::max(width, row.name.size());
		for (const Row &row : rows_)
			text += row.name + std::string(width + 1 - row.name.size(), ' ') + row.values + "\n";
		FILE *f = fopen((RTL_DOC "/" + page).c_str(), "r");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		for (int c; (c = getc(f)) != EOF;)
			found += (char)c;
		fclose(f);
		const bool there = found.find("\n" + text + "```") != std::string::npos;
		CU_ASSERT_TRUE(there);
		if (!there)
			printf("\n%s has not:\n%s", page.c_str(), text.c_str());
	}

      private:
	struct Row {
		std::string name, values;
	};

	std::vector<Row> rows_;
};

#endif
