/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fields in rows of bits, as Verilator has them: words of 32 bits, the lowest bits first. */
#ifndef HCASIM_RTL_BITS_HPP
#define HCASIM_RTL_BITS_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

template <unsigned int Count>
struct Bits {
	static constexpr bool WIDE = Count > 64; // then the value is a row, too
	using Number =
		std::conditional_t<Count <= 8, uint8_t,
				   std::conditional_t<Count <= 16, uint16_t,
						      std::conditional_t<Count <= 32, uint32_t, uint64_t>>>;
	using Value = std::conditional_t<WIDE, std::array<uint32_t, (Count + 31) / 32>, Number>;

	static Value get(const uint32_t *row, unsigned int at)
	{
		Value value{};

		if constexpr (WIDE) {
			for (unsigned int i = 0; i < Count; i += 32)
				value[i / 32] = (uint32_t)number(row, at + i, std::min(32U, Count - i));
		} else {
			value = (Value)number(row, at, Count);
		}
		return value;
	}

	// Bits of the value beyond the field are ignored.
	static void put(uint32_t *row, unsigned int at, const Value &value)
	{
		for (unsigned int i = 0, n; i < Count; i += n) {
			const unsigned int to = (at + i) % 32;
			uint32_t part;

			n = std::min({32 - to, 32 - i % 32, Count - i});
			if constexpr (WIDE)
				part = value[i / 32] >> (i % 32);
			else
				part = (uint32_t)((uint64_t)value >> i);
			const uint32_t mask = (uint32_t)((1ULL << n) - 1) << to;
			uint32_t &word = row[(at + i) / 32];
			word = (word & ~mask) | (part << to & mask);
		}
	}

      private:
	static uint64_t number(const uint32_t *row, unsigned int at, unsigned int count)
	{
		uint64_t value = 0;

		for (unsigned int i = 0, n; i < count; i += n) {
			const unsigned int from = (at + i) % 32;

			n = std::min(32 - from, count - i);
			value |= (uint64_t)(row[(at + i) / 32] >> from & (uint32_t)((1ULL << n) - 1)) << i;
		}
		return value;
	}
};

// The value of a field with these bytes.
template <unsigned int Bytes>
typename Bits<8 * Bytes>::Value from_bytes(const uint8_t (&bytes)[Bytes])
{
	typename Bits<8 * Bytes>::Value value{};

	memcpy(&value, bytes, Bytes);
	return value;
}

#endif
