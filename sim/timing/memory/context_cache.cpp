// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "context_cache.h"

#include "timing/watch.h"

namespace hcasim
{

ContextCache::ContextCache(const std::string &adapter, const char *name, const CacheFigures &figures,
			   hca_dma_class class_of_reads, DmaPort &port)
    : sc_module((adapter + "_" + name).c_str()), name_(name), class_(class_of_reads),
      read_(uint32_t(figures.read)), miss_(hca_ps(figures.miss)), misses_(size_t(figures.misses)),
      port_(port), cache_(size_t(figures.entries), size_t(figures.ways))
{
	SC_METHOD(run);
	sensitive << alarm_.event();
	dont_initialize();
}

bool ContextCache::use(const CacheKey &key, uint32_t qpn, CacheWaiter &waiter)
{
	const auto under_way = fills_.find(key);

	if (under_way != fills_.end()) {
		under_way->second->waiting.push_back({&waiter, now_ps()});
		return false;
	}
	if (!cache_.use(key)) {
		begin(key, qpn, waiter);
		return false;
	}
	if (watch_)
		watch_->lookup(name(), key, now_ps(), now_ps(), true);
	return true;
}

void ContextCache::arrived(const CacheKey &key)
{
	due_.push({now_ps() + miss_, key});
	alarm_.set(due_.front().at);
}

/* The address is that of the entry in its table, for traces: where the driver put the table is not modelled. */
void ContextCache::begin(const CacheKey &key, uint32_t qpn, CacheWaiter &waiter)
{
	auto &fill = fills_[key];

	fill = std::make_unique<Fill>();
	fill->cache = this;
	fill->key = key;
	fill->keep = true;
	fill->waiting = {{&waiter, now_ps()}};
	fill->bytes.resize(read_);
	fill->piece.addr = (uint64_t(key.table) << 32) + key.number * read_;
	fill->piece.len = read_;
	fill->class_ = class_;
	fill->pasid = HCA_PASID_CONTEXT;
	fill->qpn = qpn;
	fill->len = read_;
	fill->nseg = 1;
	fill->seg = &fill->piece;
	fill->buf = fill->bytes.data();
	fill->done = [](hca *, hca_dma *dma) {
		const Fill *f = static_cast<Fill *>(dma);

		f->cache->arrived(f->key);
	};
	if (under_way_ < misses_)
		read(*fill);
	else
		later_.push(fill.get());
}

void ContextCache::read(Fill &fill)
{
	under_way_++;
	if (read_)
		port_.transfer(&fill);
	else
		arrived(fill.key);
}

void ContextCache::next()
{
	under_way_--;
	if (!later_.empty())
		read(*later_.pop());
}

void ContextCache::run()
{
	alarm_.fired();
	while (!due_.empty() && due_.front().at <= now_ps()) {
		const CacheKey key = due_.pop().key;
		const std::unique_ptr<Fill> fill = std::move(fills_[key]);

		fills_.erase(key);
		next();
		if (fill->keep && !fill->status)
			cache_.add(key);
		for (const Fill::Waiting &w : fill->waiting) {
			if (watch_)
				watch_->lookup(name(), key, w.since, now_ps(), false);
			w.who->filled(*fill);
		}
	}
	if (!due_.empty())
		alarm_.set(due_.front().at);
}

void ContextCache::add(const CacheKey &key)
{
	if (!fills_.count(key) && !cache_.use(key))
		cache_.add(key);
}

void ContextCache::drop(const CacheKey &key)
{
	const auto under_way = fills_.find(key);

	cache_.drop(key);
	if (under_way != fills_.end())
		under_way->second->keep = false;
}

void ContextCache::drop_table(uint32_t table)
{
	cache_.drop_table(table);
	for (auto &[key, fill] : fills_)
		if (key.table == table)
			fill->keep = false;
}

} // namespace hcasim
