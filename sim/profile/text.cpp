// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A profile as text, and figures that are set from the command line. */
#include <cstdio>

#include "figures.h"

namespace hcasim
{
namespace
{

/* A YAML scalar in double quotes. */
std::string quoted(const std::string &text)
{
	std::string out = "\"";

	for (const char c : text) {
		char escaped[8];

		if (c == '"' || c == '\\')
			out += '\\';
		if (static_cast<unsigned char>(c) >= ' ') {
			out += c;
			continue;
		}
		snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned int>(c));
		out += escaped;
	}
	return out + "\"";
}

std::vector<std::string> words(const std::string &key)
{
	std::vector<std::string> out;
	size_t from = 0, dot;

	while ((dot = key.find('.', from)) != std::string::npos) {
		out.push_back(key.substr(from, dot - from));
		from = dot + 1;
	}
	out.push_back(key.substr(from));
	return out;
}

void set(Profile &p, const std::vector<Figure> &figures, const std::string &text)
{
	const size_t equals = text.find('=');
	const std::string key = text.substr(0, equals);

	if (equals == std::string::npos)
		throw std::string("is not KEY=VALUE");
	const Figure *f = figure_find(figures, key);

	if (!f)
		throw figure_unknown(figures, key);
	figure_store(*f, text.substr(equals + 1));
	p.source[key] = "--set " + text;
}

/* One that the profile does not have is a comment, so that it still follows the figure that it is as. */
std::string figure_line(const Profile &p, const Figure &f, const std::string &key)
{
	const auto source = p.source.find(f.key);
	const bool has = source != p.source.end();
	const std::string other = *f.as ? "as " + words(f.as).back() : "default";

	return (has ? "" : "# ") + key + ": {value: " + figure_value(f) + ", unit: " + f.unit +
	       ", source: " + quoted(has ? source->second : other) + "}\n";
}

/* One of which the profile has no figure is a comment, too: a mapping has at least one. */
std::string group_line(const Profile &p, const std::vector<std::string> &path, size_t depth)
{
	std::string prefix;

	for (size_t i = 0; i <= depth; i++)
		prefix += path[i] + ".";
	const auto first = p.source.lower_bound(prefix);
	const bool has = first != p.source.end() && first->first.compare(0, prefix.size(), prefix) == 0;

	return (has ? "" : "# ") + path[depth] + ":\n";
}

} // namespace

bool profile_set(Profile &p, const std::vector<std::string> &sets, std::string &err)
{
	const std::vector<Figure> figures = profile_figures(p);
	std::string at;

	try {
		for (const std::string &text : sets) {
			at = " '" + text + "'";
			set(p, figures, text);
		}
		at = "";
		figures_fill(figures, p);
		figures_check(figures, p);
	} catch (const std::string &what) {
		err = "profile " + p.name + ": --set" + at + ": " + what;
		return false;
	}
	return true;
}

std::string profile_text(const Profile &p)
{
	Profile copy = p;
	std::string out = "name: " + quoted(p.name) + "\ndescription: " + quoted(p.description) + "\n";
	std::vector<std::string> open; /* the groups that the last line was in */

	for (const Figure &f : profile_figures(copy)) {
		std::vector<std::string> path = words(f.key);
		size_t same = 0;

		while (same < open.size() && open[same] == path[same])
			same++;
		for (size_t i = same; i + 1 < path.size(); i++)
			out += (i ? "" : "\n") + std::string(2 * i, ' ') + group_line(p, path, i);
		out += std::string(2 * (path.size() - 1), ' ') + figure_line(p, f, path.back());
		path.pop_back();
		open = path;
	}
	return out;
}

} // namespace hcasim
