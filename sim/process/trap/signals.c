// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SIGSEGV is shared with the application. From the first BAR mapping on, our handler is the one that the
 * kernel knows. The handler that the application (or a sanitizer, or a virtual machine's runtime) installs is
 * kept here and called for every fault that is not ours, with the mask, the flags and the stack it asked for.
 * SIGSEGV is never blocked for long: a fault while it is blocked would end the process.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/preload/preload.h"
#include "process/trap/valgrind.h"
#include "process/trap/signals.h"

/*
 * The action that the application installed. Two copies, of which `current` selects one, so that the handler
 * never reads a partly written one.
 */
static struct sigaction app_action[2];
static _Atomic unsigned int current;
static _Atomic bool installed;
static pthread_mutex_t action_lock = PTHREAD_MUTEX_INITIALIZER;

static void set_action(const struct sigaction *act)
{
	unsigned int next = !atomic_load(&current);

	app_action[next] = *act;
	atomic_store_explicit(&current, next, memory_order_release);
}

void signals_default(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};

	REAL(sigaction)(SIGSEGV, &dfl, NULL);
}

void signals_chain(int sig, siginfo_t *info, void *context)
{
	struct sigaction act = app_action[atomic_load_explicit(&current, memory_order_acquire)];
	ucontext_t *uc = context;
	sigset_t mask;

	if (act.sa_handler == SIG_IGN && info->si_code <= 0)
		return; /* sent by kill() and ignored */
	/* A real fault cannot be ignored: Linux ends the process as if it were SIG_DFL. */
	if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) {
		signals_default();
		if (info->si_code <= 0) /* a signal that was sent does not repeat as a fault does */
			raw_syscall(SYS_tgkill, getpid(), raw_syscall(SYS_gettid), sig);
		return;
	}
	if (act.sa_flags & SA_RESETHAND) {
		struct sigaction dfl = {.sa_handler = SIG_DFL};

		set_action(&dfl);
	}
	sigorset(&mask, &uc->uc_sigmask, &act.sa_mask);
	if (!(act.sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	if (act.sa_flags & SA_SIGINFO)
		act.sa_sigaction(sig, info, context);
	else
		act.sa_handler(sig);
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (!trap_handle(info, context))
		signals_chain(sig, info, context);
}

int signals_install(void)
{
	/*
	 * Run on the alternate stack if the thread has one: an application's own handler for stack overflow
	 * needs it. All other signals wait while a store is carried out.
	 */
	struct sigaction act = {.sa_sigaction = valgrind_handler_of(on_segv),
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	struct sigaction old;
	int ret = 0;

	if (atomic_load(&installed))
		return 0;
	pthread_mutex_lock(&action_lock);
	sigfillset(&act.sa_mask);
	sigdelset(&act.sa_mask, SIGSEGV);
	if (!atomic_load(&installed)) {
		/* Store the old action before the first fault can be passed on to it. */
		ret = REAL(sigaction)(SIGSEGV, NULL, &old) ? -errno : 0;
		if (!ret) {
			set_action(&old);
			ret = REAL(sigaction)(SIGSEGV, &act, NULL) ? -errno : 0;
		}
		atomic_store(&installed, !ret);
	}
	pthread_mutex_unlock(&action_lock);
	return ret;
}

PRELOAD_API int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction open_;

	if (sig == SIGSEGV && atomic_load(&installed)) {
		pthread_mutex_lock(&action_lock);
		if (old)
			*old = app_action[atomic_load(&current)];
		if (act)
			set_action(act);
		pthread_mutex_unlock(&action_lock);
		return 0;
	}
	if (act && path_runtime() && sig != SIGSEGV) {
		open_ = *act;
		sigdelset(&open_.sa_mask, SIGSEGV);
		act = &open_;
	}
	return REAL(sigaction)(sig, act, old);
}

PRELOAD_API sighandler_t signal(int sig, sighandler_t handler)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	if (sig != SIGSEGV || !atomic_load(&installed))
		return REAL(signal)(sig, handler);
	if (sigaction(sig, &act, &old))
		return SIG_ERR;
	return old.sa_handler;
}

static const sigset_t *without_segv(int how, const sigset_t *set, sigset_t *copy)
{
	if (!set || how == SIG_UNBLOCK || !path_runtime())
		return set;
	*copy = *set;
	sigdelset(copy, SIGSEGV);
	return copy;
}

PRELOAD_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	return REAL(sigprocmask)(how, without_segv(how, set, &copy), old);
}

PRELOAD_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	return REAL(pthread_sigmask)(how, without_segv(how, set, &copy), old);
}
