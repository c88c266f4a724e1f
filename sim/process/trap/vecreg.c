// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Vector and mask registers in a signal frame: the standard (not compacted) XSAVE format, Intel SDM volume 1,
 * chapter 13. A component whose XSTATE_BV bit is clear is in its initial state, zero; its bytes are ignored
 * then.
 */
#include <cpuid.h>
#include <string.h>

#include "process/trap/insn.h"

enum { XC_SSE = 1, XC_AVX = 2, XC_OPMASK = 5, XC_ZMM_HI256 = 6, XC_HI16_ZMM = 7, XC_NUM = 8 };

#define FP_XSTATE_MAGIC1 0x46505853u
#define XSAVE_HEADER     512
#define SSE_OFFSET       160 /* of XMM0 in the legacy area */

struct sw_bytes { /* what the kernel writes to the unused part of the legacy area, at byte 464 */
	uint32_t magic1;
	uint32_t extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size;
};

static struct {
	uint32_t offset, size;
} component[XC_NUM];

/* CPUID may trap in a virtual machine, so it is read once, outside of any handler. */
__attribute__((constructor)) static void find_components(void)
{
	unsigned int a, b, c, d;

	for (unsigned int i = XC_AVX; i < XC_NUM; i++) {
		if (!__get_cpuid_count(0xd, i, &a, &b, &c, &d))
			return;
		component[i].size = a;
		component[i].offset = b;
	}
}

static uint8_t *frame(const ucontext_t *uc)
{
	return (uint8_t *)uc->uc_mcontext.fpregs;
}

/* True if the frame has room for component `i`. */
static bool present(const ucontext_t *uc, unsigned int i)
{
	struct sw_bytes sw;

	if (!frame(uc))
		return false;
	if (i == XC_SSE)
		return true;
	memcpy(&sw, frame(uc) + 464, sizeof(sw));
	return sw.magic1 == FP_XSTATE_MAGIC1 && (sw.xfeatures >> i & 1) && component[i].size &&
	       component[i].offset + component[i].size <= sw.xstate_size;
}

static bool extended(const ucontext_t *uc)
{
	uint32_t magic;

	memcpy(&magic, frame(uc) + 464, sizeof(magic));
	return magic == FP_XSTATE_MAGIC1;
}

static uint8_t *bytes_of(const ucontext_t *uc, unsigned int i)
{
	return frame(uc) + (i == XC_SSE ? SSE_OFFSET : component[i].offset);
}

static bool in_use(const ucontext_t *uc, unsigned int i)
{
	uint64_t bv;

	if (!extended(uc))
		return true;
	memcpy(&bv, frame(uc) + XSAVE_HEADER, sizeof(bv));
	return bv >> i & 1;
}

/* Before a write: marks the component as in use and zeroes it if it was in its initial state. */
static void use(ucontext_t *uc, unsigned int i)
{
	uint64_t bv;

	if (in_use(uc, i))
		return;
	memset(bytes_of(uc, i), 0, i == XC_SSE ? 256 : component[i].size);
	memcpy(&bv, frame(uc) + XSAVE_HEADER, sizeof(bv));
	bv |= 1ull << i;
	memcpy(frame(uc) + XSAVE_HEADER, &bv, sizeof(bv));
}

/* Finds byte `off` of register `reg`: the component, the offset in it, and how many bytes follow there. */
static unsigned int locate(unsigned int reg, unsigned int off, unsigned int *at, unsigned int *room)
{
	if (reg >= 16) {
		*at = (reg - 16) * 64 + off;
		*room = 64 - off;
		return XC_HI16_ZMM;
	}
	if (off < 16) {
		*at = reg * 16 + off;
		*room = 16 - off;
		return XC_SSE;
	}
	if (off < 32) {
		*at = reg * 16 + off - 16;
		*room = 32 - off;
		return XC_AVX;
	}
	*at = reg * 32 + off - 32;
	*room = 64 - off;
	return XC_ZMM_HI256;
}

bool vecreg_read(const ucontext_t *uc, unsigned int reg, unsigned int off, void *data, unsigned int len)
{
	uint8_t *out = data;
	unsigned int at, room, i;

	for (; len; off += room, out += room, len -= room) {
		i = locate(reg, off, &at, &room);
		if (!present(uc, i))
			return false;
		room = room < len ? room : len;
		if (in_use(uc, i))
			memcpy(out, bytes_of(uc, i) + at, room);
		else
			memset(out, 0, room);
	}
	return true;
}

static void put(ucontext_t *uc, unsigned int reg, unsigned int off, const uint8_t *data, unsigned int len)
{
	unsigned int at, room, i;

	for (; len; off += room, len -= room) {
		i = locate(reg, off, &at, &room);
		room = room < len ? room : len;
		if (!present(uc, i))
			continue; /* beyond the registers of this processor there are only zeros to write */
		use(uc, i);
		if (data)
			memcpy(bytes_of(uc, i) + at, data, room);
		else
			memset(bytes_of(uc, i) + at, 0, room);
		data = data ? data + room : NULL;
	}
}

bool vecreg_write(ucontext_t *uc, unsigned int reg, unsigned int off, const void *data, unsigned int len,
		  unsigned int clear_to)
{
	uint8_t old[INSN_MAX_MEM];

	if (!vecreg_read(uc, reg, off, old, len))
		return false;
	put(uc, reg, off, data, len);
	if (clear_to > off + len)
		put(uc, reg, off + len, NULL, clear_to - off - len);
	return true;
}

bool vecreg_opmask(const ucontext_t *uc, unsigned int k, uint64_t *mask)
{
	if (!present(uc, XC_OPMASK))
		return false;
	*mask = 0;
	if (in_use(uc, XC_OPMASK))
		memcpy(mask, bytes_of(uc, XC_OPMASK) + 8 * k, sizeof(*mask));
	return true;
}
