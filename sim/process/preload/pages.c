// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: the device process is notified of unmapped memory, as a kernel driver is by its MMU notifiers,
 * once the application has an on-demand region. The notification is sent after the call: later look-ups of the
 * adapter use the new mappings. Calls inside libc (free() unmaps memory) are not intercepted; the adapter's accesses
 * use the current mappings in any case, so only the fault is not counted.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "process/preload/preload.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

static bool drops(int advice)
{
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_PAGEOUT:
	case MADV_DONTNEED_LOCKED:
		return true;
	default:
		return false;
	}
}

PRELOAD_API int madvise(void *addr, size_t len, int advice)
{
	int ret = REAL(madvise)(addr, len, advice);

	if (!ret && drops(advice))
		client_unmapped(addr, len);
	return ret;
}

PRELOAD_API int mprotect(void *addr, size_t len, int prot)
{
	int ret = REAL(mprotect)(addr, len, prot);

	if (!ret)
		client_unmapped(addr, len);
	return ret;
}

PRELOAD_API void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	void *to = NULL, *p;
	va_list args;

	va_start(args, flags);
	if (flags & MREMAP_FIXED)
		to = va_arg(args, void *);
	va_end(args);
	p = REAL(mremap)(old, old_len, len, flags, to);
	if (p == MAP_FAILED)
		return p;
	if (p != old)
		client_unmapped(old, old_len);
	else if (len < old_len)
		client_unmapped((char *)old + len, old_len - len);
	if (flags & MREMAP_FIXED)
		client_unmapped(p, len);
	return p;
}

/* The length of the segment is unknown: check everything that is mapped. */
PRELOAD_API int shmdt(const void *addr)
{
	int ret = REAL(shmdt)(addr);

	if (!ret)
		client_unmapped_all();
	return ret;
}
