// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the module tests share: a Verilated model with its clock, random numbers that repeat, wide ports as bytes.
#ifndef HCASIM_RTL_DV_TB_HPP
#define HCASIM_RTL_DV_TB_HPP

#include <CUnit/CUnit.h>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <typeinfo>
#include <vector>
#include <verilated.h>
#ifdef HCASIM_RTL_COVERAGE
#include <verilated_cov.h>
#endif

struct test {
	const char *name;
	void (*fn)();
};

// The seeds of a run: from the command line, or so many that a test gives, from 1 on.
class Seeds
{
      public:
	static void set(uint32_t first, uint32_t count)
	{
		first_ = first;
		count_ = count;
	}
	static uint32_t first()
	{
		return first_;
	}
	static uint32_t count(uint32_t usual)
	{
		return count_ ? count_ : usual;
	}
	static bool given()
	{
		return count_;
	}

      private:
	static inline uint32_t first_ = 1, count_ = 0;
};

class Random
{
      public:
	explicit Random(uint32_t seed) : engine_(seed)
	{
	}
	uint32_t below(uint32_t n)
	{
		return (uint32_t)(((uint64_t)engine_() * n) >> 32);
	}
	bool chance(unsigned int percent)
	{
		return below(100) < percent;
	}
	uint32_t u32()
	{
		return (uint32_t)engine_();
	}
	uint64_t u64()
	{
		return (uint64_t)u32() << 32 | u32();
	}
	void fill(void *data, size_t len)
	{
		for (auto *p = (uint8_t *)data; len--; p++)
			*p = (uint8_t)u32();
	}

      private:
	std::mt19937 engine_;
};

// Whatever is not reset starts with random bits, other ones for each seed: a module that lets them out differs.
template <class Model>
class Dut
{
      public:
	explicit Dut(uint32_t seed) : random(seed)
	{
		context_.randReset(2);
		context_.randSeed((int)(seed & 0x7fffffff));
		model_ = std::make_unique<Model>(&context_);
		model_->rst_i = 1;
		for (int i = 0; i < 2; i++)
			clock();
		model_->rst_i = 0;
	}
	~Dut()
	{
		model_->final();
#ifdef HCASIM_RTL_COVERAGE
		static unsigned int number;
		context_.coveragep()->write(
			(std::string(typeid(Model).name()) + "." + std::to_string(number++) + ".dat")
				.c_str());
#endif
	}
	Model *operator->()
	{
		return model_.get();
	}
	// Inputs have been set; outputs follow them.
	void settle()
	{
		model_->clk_i = 0;
		model_->eval();
	}
	// A rising edge.
	void clock()
	{
		settle();
		model_->clk_i = 1;
		model_->eval();
		context_.timeInc(1);
	}

	// Assertions that fail from here on are printed, and end nothing.
	void go_on()
	{
		context_.errorLimit(INT_MAX);
	}

	Random random;

      private:
	VerilatedContext context_;
	std::unique_ptr<Model> model_;
};

template <size_t words>
void to_port(VlWide<words> &port, const void *data, size_t len)
{
	memset(port.m_storage, 0, sizeof(port.m_storage));
	memcpy(port.m_storage, data, len);
}

using Bytes = std::vector<uint8_t>;

template <size_t words>
Bytes from_port(const VlWide<words> &port, size_t len)
{
	const auto *p = (const uint8_t *)port.m_storage;

	return Bytes(p, p + len);
}

#endif
