// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include <yaml.h>

#include "figures.h"

namespace hcasim
{
namespace
{

class Reader
{
	const std::string path_;
	yaml_document_t *doc_;
	const std::vector<Figure> figures_;
	std::set<std::string> seen_;
	Profile &out_;

	[[noreturn]] void fail(const yaml_node_t *node, const std::string &what) const
	{
		throw path_ + ":" + std::to_string(node ? node->start_mark.line + 1 : 1) + ": " + what;
	}
	const yaml_node_t *node(int id) const
	{
		return yaml_document_get_node(doc_, id);
	}
	std::string scalar(const yaml_node_t *n, const std::string &key) const
	{
		if (n->type != YAML_SCALAR_NODE)
			fail(n, key + " must be a single value");
		return {reinterpret_cast<const char *>(n->data.scalar.value), n->data.scalar.length};
	}
	void figure(const yaml_node_t *n, const Figure &f);
	void part(const yaml_node_t *n, const Figure &f, const std::string &key, const std::string &what);
	void text(const yaml_node_t *n, const std::string &key);

      public:
	Reader(const char *path, yaml_document_t *doc, Profile &out)
	    : path_(path), doc_(doc), figures_(profile_figures(out)), out_(out)
	{
	}
	void group(const yaml_node_t *n, const std::string &prefix);
	void end() const;
};

/* One of value, unit and source. */
void Reader::part(const yaml_node_t *n, const Figure &f, const std::string &key, const std::string &what)
{
	if (key == "source" && what.empty())
		fail(n, std::string(f.key) + ": the source is empty");
	if (key == "source")
		out_.source[f.key] = what;
	else if (key == "unit" && what != f.unit)
		fail(n, std::string(f.key) + ": unit '" + what + "' is not '" + f.unit + "'");
	else if (key == "value")
		try {
			figure_store(f, what);
		} catch (const std::string &why) {
			fail(n, why);
		}
	else if (key != "unit")
		fail(n, std::string(f.key) + ": unknown key '" + key + "'");
}

void Reader::figure(const yaml_node_t *n, const Figure &f)
{
	std::set<std::string> have;

	if (n->type != YAML_MAPPING_NODE)
		fail(n, std::string(f.key) + " must be {value, unit, source}");
	for (auto *pair = n->data.mapping.pairs.start; pair < n->data.mapping.pairs.top; pair++) {
		std::string key = scalar(node(pair->key), f.key);
		const yaml_node_t *v = node(pair->value);
		std::string what = scalar(v, std::string(f.key) + "." + key);

		if (!have.insert(key).second)
			fail(v, std::string(f.key) + ": '" + key + "' is given twice");
		part(v, f, key, what);
	}
	for (const char *key : {"value", "unit", "source"})
		if (!have.count(key))
			fail(n, std::string(f.key) + ": no '" + key + "'");
}

void Reader::text(const yaml_node_t *n, const std::string &key)
{
	std::string v = scalar(n, key);

	if (v.empty())
		fail(n, key + " is empty");
	(key == "name" ? out_.name : out_.description) = v;
}

void Reader::group(const yaml_node_t *n, const std::string &prefix)
{
	if (n->type != YAML_MAPPING_NODE)
		fail(n, (prefix.empty() ? std::string("the profile") : prefix) + " must be a mapping");
	for (auto *pair = n->data.mapping.pairs.start; pair < n->data.mapping.pairs.top; pair++) {
		const yaml_node_t *k = node(pair->key), *v = node(pair->value);
		std::string key = (prefix.empty() ? "" : prefix + ".") + scalar(k, "a key");
		const Figure *f = figure_find(figures_, key);

		if (!seen_.insert(key).second)
			fail(k, "key '" + key + "' is given twice");
		if (f)
			figure(v, *f);
		else if (key == "name" || key == "description")
			text(v, key);
		else if (figure_group(figures_, key))
			group(v, key);
		else
			fail(k, figure_unknown(figures_, key));
	}
}

void Reader::end() const
{
	for (const Figure &f : figures_)
		if (!f.optional && !seen_.count(f.key))
			fail(nullptr, std::string("no key '") + f.key + "'");
	for (const char *key : {"name", "description"})
		if (!seen_.count(key))
			fail(nullptr, std::string("no key '") + key + "'");
	figures_fill(figures_, out_);
	try {
		figures_check(figures_, out_);
	} catch (const std::string &why) {
		fail(nullptr, why);
	}
}

void load(const char *path, yaml_parser_t &parser, Profile &out)
{
	yaml_document_t doc;

	if (!yaml_parser_load(&parser, &doc))
		throw std::string(path) + ":" + std::to_string(parser.problem_mark.line + 1) + ": " +
			(parser.problem ? parser.problem : "not YAML");
	try {
		const yaml_node_t *root = yaml_document_get_root_node(&doc);
		Reader reader(path, &doc, out);

		if (!root)
			throw std::string(path) + ": the profile is empty";
		reader.group(root, "");
		reader.end();
	} catch (...) {
		yaml_document_delete(&doc);
		throw;
	}
	yaml_document_delete(&doc);
}

} // namespace

bool profile_load(const char *path, Profile &out, std::string &err)
{
	yaml_parser_t parser;
	FILE *file = fopen(path, "r");
	bool ok = true;

	if (!file) {
		err = std::string("profile ") + path + ": " + strerror(errno);
		return false;
	}
	yaml_parser_initialize(&parser);
	yaml_parser_set_input_file(&parser, file);
	try {
		load(path, parser, out);
	} catch (const std::string &what) {
		err = "profile " + what;
		ok = false;
	}
	yaml_parser_delete(&parser);
	fclose(file);
	return ok;
}

} // namespace hcasim
