// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "figures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace hcasim
{
namespace
{

/* Smallest number of characters to insert, remove or replace (Levenshtein). */
size_t distance(const std::string &a, const std::string &b)
{
	std::vector<size_t> row(b.size() + 1);

	std::iota(row.begin(), row.end(), 0);
	for (size_t i = 0; i < a.size(); i++) {
		size_t corner = row[0]++;

		for (size_t j = 0; j < b.size(); j++) {
			const size_t replaced = corner + (a[i] != b[j]);

			corner = row[j + 1];
			row[j + 1] = std::min({replaced, corner + 1, row[j] + 1});
		}
	}
	return row[b.size()];
}

std::string last_word(const std::string &key)
{
	return key.substr(key.rfind('.') + 1);
}

/* Keys of figures, and what they begin with, up to each dot. */
std::vector<std::string> known_keys(const std::vector<Figure> &figures)
{
	std::vector<std::string> keys;

	for (const Figure &f : figures) {
		const std::string key = f.key;

		for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
			keys.push_back(key.substr(0, dot));
		keys.push_back(key);
	}
	return keys;
}

std::string because(const Figure &f)
{
	return *f.limit ? std::string(" (") + f.limit + ")" : "";
}

} // namespace

const Figure *figure_find(const std::vector<Figure> &figures, const std::string &key)
{
	const auto found =
		std::find_if(figures.begin(), figures.end(), [&](const Figure &f) { return f.key == key; });

	return found == figures.end() ? nullptr : &*found;
}

bool figure_group(const std::vector<Figure> &figures, const std::string &key)
{
	return std::any_of(figures.begin(), figures.end(), [&](const Figure &f) {
		return std::string(f.key).compare(0, key.size() + 1, key + ".") == 0;
	});
}

std::string figure_unknown(const std::vector<Figure> &figures, const std::string &key)
{
	size_t least = std::numeric_limits<size_t>::max();
	std::string closest;

	for (const std::string &known : known_keys(figures)) {
		/* "mps" and "msp" mean pcie.mps. */
		const bool whole = key.find('.') != std::string::npos;
		const size_t d = distance(key, whole ? known : last_word(known));

		if (d < least) {
			least = d;
			closest = known;
		}
	}
	return "unknown key '" + key + "'; the closest one is '" + closest + "'";
}

void figure_store(const Figure &f, const std::string &text)
{
	const std::string key = f.key;
	char *end;
	double v = strtod(text.c_str(), &end);

	if (text.empty() || *end || !std::isfinite(v))
		throw key + ": value '" + text + "' is not a number";
	if (v < f.min || v > f.max) {
		char range[80];

		snprintf(range, sizeof(range), "%.15g to %.15g %s", f.min, f.max, f.unit);
		throw key + ": value " + text + " is out of range, " + range + because(f);
	}
	if (f.kind != Figure::ANY && v != std::floor(v))
		throw key + ": value " + text + " must be a whole number";
	if (f.kind == Figure::POWER_OF_2 && (static_cast<uint64_t>(v) & (static_cast<uint64_t>(v) - 1)))
		throw key + ": value " + text + " must be a power of two" + because(f);
	*f.place = v * f.scale;
}

/* Without an exponent, which is no number to some readers of YAML, and without the error of the scale. */
std::string figure_value(const Figure &f)
{
	char text[400];

	snprintf(text, sizeof(text), "%.15g", *f.place / f.scale);
	const auto end =
		std::to_chars(text, text + sizeof(text), strtod(text, nullptr), std::chars_format::fixed);

	return {text, end.ptr};
}

void figures_fill(const std::vector<Figure> &figures, const Profile &profile)
{
	for (const Figure &f : figures) {
		if (!f.optional || profile.source.count(f.key))
			continue;
		*f.place = *f.as ? *figure_find(figures, f.as)->place : f.otherwise * f.scale;
	}
}

void figures_check(const std::vector<Figure> &figures, const ProfileFigures &values)
{
	const auto &pcie = values.pcie;

	for (const FigureRule &rule : profile_rules) {
		const Figure *low = figure_find(figures, rule.key),
			     *high = figure_find(figures, rule.at_most);

		if (*low->place > *high->place)
			throw std::string(rule.key) + ": value " + figure_value(*low) + " is larger than " +
				rule.at_most + ", " + figure_value(*high) + " " + high->unit + ": " +
				rule.reason;
	}
	if (8 / pcie.ack_limit + 8 / pcie.fc_guide + pcie.skip_size / pcie.skip_interval >= 1)
		throw std::string("pcie.ack_limit, fc_guide, skip_size and skip_interval leave no "
				  "bandwidth for TLPs");
}

} // namespace hcasim
