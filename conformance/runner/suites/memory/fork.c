/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Regions and child processes. libibverbs only has to do something for them after ibv_fork_init(), which the runner
 * cannot call any more: RDMAV_FORK_SAFE=1 has the same effect.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suites/kit.h"

#define PAGE  4096u
#define PAGES 4u
#define MARK  0x5a

static uint8_t *marked_pages(void)
{
	uint8_t *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned int i = 0; at != MAP_FAILED && i < PAGES; i++)
		at[i * PAGE] = MARK;
	return at == MAP_FAILED ? NULL : at;
}

/* A child has the page: the kernel takes a byte from there. */
static void child_has(struct kit *k, const uint8_t *page, const char *what)
{
	int status = -1, ends[2] = {-1, -1};
	uint8_t got = 0;
	pid_t child;

	log_call(&k->res->log, "/* fork(): the child writes the first byte of %s to a pipe */", what);
	child = pipe(ends) ? -1 : fork();
	if (!child)
		_exit(write(ends[1], page, 1) != 1);
	if (child < 0 || waitpid(child, &status, 0) != child)
		KIT_FAULT(k, "pipe, fork or waitpid failed with %s", errno_name(errno));
	else if (!kit_holds(k, !status && read(ends[0], &got, 1) == 1 && got == MARK))
		KIT_FAULT(k, "a child does not have %s", what);
	close(ends[0]);
	close(ends[1]);
}

static struct ibv_mr *region(struct kit *k, uint8_t *at, unsigned int pages, int access)
{
	struct ibv_mr *mr =
		ibv_reg_mr(k->r->dut.requester.pd, at, pages * (size_t)PAGE, IBV_ACCESS_LOCAL_WRITE | access);

	if (!kit_holds(k, mr))
		KIT_FAULT(k, "ibv_reg_mr of %u pages failed with %s", pages, errno_name(errno));
	return mr;
}

static void deregister(struct kit *k, struct ibv_mr *mr)
{
	const int ret = mr ? ibv_dereg_mr(mr) : 0;

	if (ret)
		KIT_FAULT(k, "ibv_dereg_mr failed with %s", errno_name(ret));
}

/* Without RDMAV_FORK_SAFE it is too late: there are regions. */
static void fork_init(struct kit *k, struct ibv_mr *mr)
{
	const enum ibv_fork_status status = ibv_is_fork_initialized();
	const int want = status == IBV_FORK_DISABLED ? EINVAL : 0, ret = ibv_fork_init();

	log_call(&k->res->log, "ibv_fork_init()");
	if (!kit_holds(k, mr && ret == want))
		KIT_FAULT(k, "ibv_fork_init returned %s with a region, expected %s", errno_name(ret),
			  errno_name(want));
	seen(k->res, "ibv_is_fork_initialized() says %d; ", status);
}

/* One page of a region is in a second one, and its last page is unmapped when it is deregistered. */
static void fork_released(struct kit *k)
{
	struct ibv_mr *whole, *part = NULL;
	uint8_t *at = marked_pages();

	KIT_CHECK(k, at, "mmap failed with %s", errno_name(errno));
	whole = region(k, at, PAGES, 0);
	if (whole)
		part = region(k, at + PAGE, 1, 0);
	if (part)
		fork_init(k, part);
	munmap(at + (PAGES - 1) * PAGE, PAGE);
	deregister(k, whole);
	if (KIT_GOOD(k))
		child_has(k, at, "page 0 of a deregistered region");
	deregister(k, part);
	if (KIT_GOOD(k))
		child_has(k, at + PAGE, "page 1 of two deregistered regions");
	munmap(at, (PAGES - 1) * PAGE);
}

SCENARIO(fork_released) = {
	{"released", SUITE("fork"), QPS("RC"), CLAUSE("ibv_fork_init/DESCRIPTION"),
	 ALSO("ibv_fork_init/RETURN-VALUE/EINVAL"),
	 SAYS("a child has the pages of a deregistered region, of which one had been unmapped")},
	{},
};

static void fork_on_demand(struct kit *k)
{
	uint8_t *at = marked_pages();
	struct ibv_mr *mr;

	KIT_CHECK(k, at, "mmap failed with %s", errno_name(errno));
	munmap(at + (PAGES - 1) * PAGE, PAGE);
	mr = region(k, at, PAGES, IBV_ACCESS_ON_DEMAND);
	if (mr)
		child_has(k, at, "page 0 of a region on demand");
	deregister(k, mr);
	munmap(at, (PAGES - 1) * PAGE);
}

SCENARIO(fork_on_demand) = {
	{"on-demand", SUITE("fork"), QPS("RC"), CLAUSE("ibv_reg_mr/DESCRIPTION/IBV_ACCESS_ON_DEMAND"),
	 ALSO("ibv_fork_init/DESCRIPTION"), NEEDS("on_demand/{qp}/SEND"),
	 SAYS("a region on demand can be made where the process has no memory yet")},
	{},
};
