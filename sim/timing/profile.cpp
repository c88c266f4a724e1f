// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "profile.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include <yaml.h>

namespace hcasim
{
namespace
{

/* Description of a figure: key, unit, range, and its place (multiplied by `scale`). */
struct Figure {
	std::string key;
	const char *unit;
	double min, max;
	enum { ANY, WHOLE, POWER_OF_2 } kind;
	double scale;
	double *out;
};

constexpr double ns = 1000.0;

void pcie_figures(std::vector<Figure> &t, Profile &p)
{
	t.insert(t.end(),
		 {{"pcie.raw_rate", "Gb/s", 1, 8192, Figure::ANY, 1, &p.pcie.raw_gbps},
		  {"pcie.ack_limit", "B", 32, 65536, Figure::WHOLE, 1, &p.pcie.ack_bytes},
		  {"pcie.fc_guide", "B", 32, 65536, Figure::WHOLE, 1, &p.pcie.fc_bytes},
		  {"pcie.skip_size", "B", 0, 64, Figure::WHOLE, 1, &p.pcie.skip_bytes},
		  {"pcie.skip_interval", "B", 64, 65536, Figure::WHOLE, 1, &p.pcie.skip_interval},
		  {"pcie.write_overhead", "B", 12, 64, Figure::WHOLE, 1, &p.pcie.mwr_overhead},
		  {"pcie.read_overhead", "B", 12, 64, Figure::WHOLE, 1, &p.pcie.mrd_overhead},
		  {"pcie.completion_overhead", "B", 12, 64, Figure::WHOLE, 1, &p.pcie.cpl_overhead},
		  {"pcie.mps", "B", 128, 4096, Figure::POWER_OF_2, 1, &p.pcie.mps},
		  {"pcie.mrrs", "B", 128, 4096, Figure::POWER_OF_2, 1, &p.pcie.mrrs},
		  {"pcie.rcb", "B", 64, 128, Figure::POWER_OF_2, 1, &p.pcie.rcb},
		  {"pcie.transmit_buffer", "B", 0, 65536, Figure::WHOLE, 1, &p.pcie.transmit_buffer},
		  {"pcie.latency", "ns", 0, 1e6, Figure::ANY, ns, &p.pcie.latency},
		  {"pcie.posted_headers", "TLPs", 1, 4096, Figure::WHOLE, 1, &p.pcie.posted_headers},
		  {"pcie.posted_data", "B", 4096, 1 << 20, Figure::WHOLE, 1, &p.pcie.posted_bytes},
		  {"pcie.nonposted_headers", "TLPs", 1, 4096, Figure::WHOLE, 1, &p.pcie.nonposted_headers},
		  {"pcie.tags", "reads", 1, 1024, Figure::WHOLE, 1, &p.pcie.tags},
		  {"root.read_latency", "ns", 0, 1e6, Figure::ANY, ns, &p.root.read_latency},
		  {"root.interleave", "reads", 1, 1024, Figure::WHOLE, 1, &p.root.interleave},
		  {"root.store_latency", "ns", 0, 1e6, Figure::ANY, ns, &p.root.store_latency},
		  {"root.wc_buffers", "lines", 1, 64, Figure::WHOLE, 1, &p.root.wc_buffers},
		  {"root.wc_age", "ns", 1, 1e6, Figure::ANY, ns, &p.root.wc_age},
		  {"host.page_fault", "us", 0, 1e6, Figure::ANY, 1000 * ns, &p.host.page_fault},
		  {"host.page_fault_per_page", "ns", 0, 1e6, Figure::ANY, ns, &p.host.page_fault_per_page}});
}

void other_figures(std::vector<Figure> &t, Profile &p)
{
	t.insert(t.end(),
		 {{"engine.clock", "MHz", 1, 10000, Figure::ANY, 1, &p.engine.clock_mhz},
		  {"engine.read_latency", "ns", 0, 1e6, Figure::ANY, ns, &p.engine.read_latency},
		  {"engine.read_rate", "Gb/s", 1, 8192, Figure::ANY, 1, &p.engine.read_gbps},
		  {"engine.dm_latency", "ns", 0, 1e6, Figure::ANY, ns, &p.engine.dm_latency},
		  {"engine.dm_rate", "Gb/s", 1, 8192, Figure::ANY, 1, &p.engine.dm_gbps},
		  {"wire.rate", "Gb/s", 0.1, 8192, Figure::ANY, 1, &p.wire.gbps},
		  {"wire.propagation", "ns", 0, 1e8, Figure::ANY, ns, &p.wire.propagation},
		  {"wire.switch_latency", "ns", 0, 1e8, Figure::ANY, ns, &p.wire.switch_latency},
		  {"wire.preamble_and_gap", "B", 0, 64, Figure::WHOLE, 1, &p.wire.preamble_gap},
		  {"wire.fcs", "B", 0, 8, Figure::WHOLE, 1, &p.wire.fcs},
		  {"wire.min_frame", "B", 0, 128, Figure::WHOLE, 1, &p.wire.min_frame},
		  {"wire.mtu", "B", 352, 16384, Figure::WHOLE, 1, &p.wire.mtu},
		  {"wire.tx_buffer", "frames", 1, 4096, Figure::WHOLE, 1, &p.wire.tx_frames},
		  {"adapter.max_qp", "objects", 2, 1 << 20, Figure::WHOLE, 1, &p.adapter.max_qp},
		  {"adapter.max_cq", "objects", 1, 1 << 20, Figure::WHOLE, 1, &p.adapter.max_cq},
		  {"adapter.max_mr", "objects", 1, 1 << 20, Figure::WHOLE, 1, &p.adapter.max_mr},
		  {"adapter.max_mw", "objects", 1, 1 << 20, Figure::WHOLE, 1, &p.adapter.max_mw},
		  {"adapter.max_srq", "objects", 0, 1 << 20, Figure::WHOLE, 1, &p.adapter.max_srq},
		  {"adapter.max_rd_atomic", "reads", 1, 128, Figure::WHOLE, 1, &p.adapter.max_rd_atomic},
		  {"adapter.acks_after_landing", "bool", 0, 1, Figure::WHOLE, 1,
		   &p.adapter.acks_after_landing}});
	for (int s = 0; s < HCA_NUM_STAGES; s++) {
		std::string key = std::string("engine.stages.") + hca_stage_name(static_cast<hca_stage>(s));
		StageCost &cost = p.engine.stage[s];

		t.insert(t.end(),
			 {{key + ".fixed", "cycles", 0, 1e6, Figure::ANY, 1, &cost.fixed},
			  {key + ".per_item", "cycles", 0, 1e6, Figure::ANY, 1, &cost.per_item},
			  {key + ".width", "B/cycle", 0, 4096, Figure::ANY, 1, &cost.bytes_per_cycle}});
	}
}

class Reader
{
	const std::string path_;
	yaml_document_t *doc_;
	std::vector<Figure> figures_;
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
	const Figure *find(const std::string &key) const;
	bool is_group(const std::string &key) const;
	void figure(const yaml_node_t *n, const Figure &f);
	void store(const yaml_node_t *n, const Figure &f, const std::string &text) const;
	void text(const yaml_node_t *n, const std::string &key);

      public:
	Reader(const char *path, yaml_document_t *doc, Profile &out) : path_(path), doc_(doc), out_(out)
	{
		pcie_figures(figures_, out);
		other_figures(figures_, out);
	}
	void group(const yaml_node_t *n, const std::string &prefix);
	void all_seen() const;
};

const Figure *Reader::find(const std::string &key) const
{
	for (const Figure &f : figures_)
		if (f.key == key)
			return &f;
	return nullptr;
}

bool Reader::is_group(const std::string &key) const
{
	for (const Figure &f : figures_)
		if (f.key.compare(0, key.size() + 1, key + ".") == 0)
			return true;
	return false;
}

void Reader::store(const yaml_node_t *n, const Figure &f, const std::string &text) const
{
	char *end;
	double v = strtod(text.c_str(), &end);

	if (text.empty() || *end || !std::isfinite(v))
		fail(n, f.key + ": value '" + text + "' is not a number");
	if (v < f.min || v > f.max) {
		char range[80];

		snprintf(range, sizeof(range), "%g to %g %s", f.min, f.max, f.unit);
		fail(n, f.key + ": value " + text + " is out of range, " + range);
	}
	if (f.kind != Figure::ANY && v != std::floor(v))
		fail(n, f.key + ": value " + text + " must be a whole number");
	if (f.kind == Figure::POWER_OF_2 && (static_cast<uint64_t>(v) & (static_cast<uint64_t>(v) - 1)))
		fail(n, f.key + ": value " + text + " must be a power of two");
	*f.out = v * f.scale;
}

void Reader::figure(const yaml_node_t *n, const Figure &f)
{
	std::set<std::string> have;

	if (n->type != YAML_MAPPING_NODE)
		fail(n, f.key + " must be {value, unit, source}");
	for (auto *pair = n->data.mapping.pairs.start; pair < n->data.mapping.pairs.top; pair++) {
		std::string key = scalar(node(pair->key), f.key);
		const yaml_node_t *v = node(pair->value);
		std::string what = scalar(v, f.key + "." + key);

		if (!have.insert(key).second)
			fail(v, f.key + ": '" + key + "' is given twice");
		if (key == "value")
			store(v, f, what);
		else if (key == "unit" && what != f.unit)
			fail(v, f.key + ": unit '" + what + "' is not '" + f.unit + "'");
		else if (key == "source" && what.empty())
			fail(v, f.key + ": the source is empty");
		else if (key != "unit" && key != "source")
			fail(v, f.key + ": unknown key '" + key + "'");
	}
	for (const char *key : {"value", "unit", "source"})
		if (!have.count(key))
			fail(n, f.key + ": no '" + key + "'");
}

void Reader::text(const yaml_node_t *n, const std::string &key)
{
	std::string v = scalar(n, key);

	if (v.empty())
		fail(n, key + " is empty");
	if (key == "name")
		out_.name = v;
}

void Reader::group(const yaml_node_t *n, const std::string &prefix)
{
	if (n->type != YAML_MAPPING_NODE)
		fail(n, (prefix.empty() ? std::string("the profile") : prefix) + " must be a mapping");
	for (auto *pair = n->data.mapping.pairs.start; pair < n->data.mapping.pairs.top; pair++) {
		const yaml_node_t *k = node(pair->key), *v = node(pair->value);
		std::string key = (prefix.empty() ? "" : prefix + ".") + scalar(k, "a key");
		const Figure *f = find(key);

		if (!seen_.insert(key).second)
			fail(k, "key '" + key + "' is given twice");
		if (f)
			figure(v, *f);
		else if (key == "name" || key == "description")
			text(v, key);
		else if (is_group(key))
			group(v, key);
		else
			fail(k, "unknown key '" + key + "'");
	}
}

void Reader::all_seen() const
{
	for (const Figure &f : figures_)
		if (!seen_.count(f.key))
			fail(nullptr, "no key '" + f.key + "'");
	for (const char *key : {"name", "description"})
		if (!seen_.count(key))
			fail(nullptr, std::string("no key '") + key + "'");
	if (out_.pcie.mrrs < out_.pcie.rcb || out_.pcie.mps < out_.pcie.rcb)
		fail(nullptr, "pcie.rcb is larger than pcie.mps or pcie.mrrs");
	/* What cannot be true of a link: overheads that leave nothing, credits too few for one TLP. */
	if (8 / out_.pcie.ack_bytes + 8 / out_.pcie.fc_bytes +
		    out_.pcie.skip_bytes / out_.pcie.skip_interval >=
	    1)
		fail(nullptr, "pcie.ack_limit, fc_guide and skip_* leave no bandwidth for TLPs");
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
		reader.all_seen();
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
