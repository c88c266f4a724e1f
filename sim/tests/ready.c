/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Preloaded into a server under test: when the server has called listen(), one byte goes to the
 * descriptor that HCASIM_READY_FD names. So a client is started neither too early nor after a guess.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int listen(int fd, int backlog)
{
	int (*real)(int, int) = dlsym(RTLD_NEXT, "listen");
	const char *ready = getenv("HCASIM_READY_FD");
	int ret = real(fd, backlog);

	if (!ret && ready && write(atoi(ready), "", 1) == 1)
		unsetenv("HCASIM_READY_FD");
	return ret;
}
