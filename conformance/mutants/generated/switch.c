// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which generated mutant is active: read once, when the program or the provider is loaded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "switch.h"

static struct hcasim_mutants own;

struct hcasim_mutants *hcasim_mutants = &own;
__thread uint32_t hcasim_mutant_tried;

int hcasim_mutants_shared(void)
{
	return hcasim_mutants != &own;
}

static void refuse(const char *name, const char *value)
{
	fprintf(stderr, "%s is '%s': %s\n", name, value,
		errno ? strerror(errno) : "not the number of a mutant");
	exit(2);
}

static void choose(const char *text)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || number >= sizeof(own.reached))
		refuse("HCASIM_MUTANT", text);
	own.chosen = number;
}

static void share(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd >= 0)
		map = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		refuse("HCASIM_MUTANT_MAP", path);
	close(fd);
	hcasim_mutants = map;
}

__attribute__((constructor)) static void hcasim_mutants_init(void)
{
	const char *number = getenv("HCASIM_MUTANT"), *path = getenv("HCASIM_MUTANT_MAP");

	if (path && *path)
		share(path);
	else if (number && *number)
		choose(number);
}
