// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <cstdio>

#include "wave.hpp"

constexpr uint32_t MAX_WINDOW = 1u << 30; // twice as many halves are counted

Wave::Wave(VerilatedContext &context) : context_(context)
{
	context_.traceEverOn(true);
}

Wave::~Wave()
{
	close();
}

void Wave::begin()
{
	file_ = std::make_unique<VerilatedFstC>();
	add_(*file_);
	file_->open(path_.c_str());
	halves_ = 0;
}

int Wave::open(uint32_t window, const char *path, const Add &add)
{
	close();
	add_ = add;
	window_ = window < MAX_WINDOW ? window : MAX_WINDOW;
	path_ = path;
	begin();
	if (file_->isOpen())
		return 0;
	file_.reset();
	return -EIO;
}

int Wave::close()
{
	if (file_)
		file_->close();
	file_.reset();
	return 0;
}

void Wave::half()
{
	if (!file_)
		return;
	if (halves_++ == 2 * window_) {
		file_->close();
		rename(path_.c_str(), (path_ + ".before").c_str());
		begin();
	}
	file_->dump(context_.time());
	context_.timeInc(1);
}
