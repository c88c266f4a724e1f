// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Quick restart of the device process in the build with generated mutants: the linker puts this in place of server_run()
 * (--wrap), which the process calls when it is initialised. The process stays there and serves from a copy of itself.
 * SIGKILL to the copy is a restart: the next copy has nothing of what the last one, or a mutant in it, has changed.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/device/server.h"
#include "switch.h"

void __real_server_run(struct server *s, int signal_fd, int launcher);
void __wrap_server_run(struct server *s, int signal_fd, int launcher);

/* An epoll instance is shared with copies, and keeps what they have registered. */
static void renew(int epoll)
{
	int fresh = epoll_create1(EPOLL_CLOEXEC);

	if (fresh < 0 || dup3(fresh, epoll, O_CLOEXEC) < 0)
		_exit(1);
	close(fresh);
}

/* In the copy: returns when the machine is to end. */
static void serve(struct server *s, int signal_fd, int launcher)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	renew(s->epoll);
	renew(kernel_event_fd(s->kernel));
	__real_server_run(s, signal_fd, launcher);
}

/* Ends as the copy did; the guardian waits for this process. */
static void end_like(int status)
{
	const struct rlimit none = {0};

	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(1);
}

void __wrap_server_run(struct server *s, int signal_fd, int launcher)
{
	int status = 0;
	pid_t copy;

	if (!hcasim_mutants_shared()) {
		__real_server_run(s, signal_fd, launcher);
		return;
	}
	do {
		copy = fork();
		if (!copy) {
			serve(s, signal_fd, launcher);
			return;
		}
	} while (copy > 0 && waitpid(copy, &status, 0) == copy && WIFSIGNALED(status) &&
		 WTERMSIG(status) == SIGKILL);
	end_like(status);
}
