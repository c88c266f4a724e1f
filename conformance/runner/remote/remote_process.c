/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The peer process: start, calls and end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/watchdog.h"
#include "remote/remote_internal.h"

static struct {
	pid_t pid;       /* 0: no process */
	int to, from;    /* its stdin and stdout */
	int words;       /* its stderr */
	char name[96];   /* its command */
	char why[352];   /* the reason why it cannot be used any more */
	int watchdog_ms; /* for an answer */
	uint16_t number;
	struct peer_bytes sent, got;
	size_t answer; /* bytes of the structure in `got` */
} remote = {.to = -1, .from = -1, .words = -1};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void remote_lock(void)
{
	pthread_mutex_lock(&lock);
}

void remote_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

const char *remote_broken(void)
{
	return *remote.why ? remote.why : NULL;
}

/* The end of its output to stderr, as one line. */
static void stderr_tail(char *to, size_t size)
{
	char text[161];
	off_t end = lseek(remote.words, 0, SEEK_END), most = sizeof(text) - 1;
	ssize_t n = pread(remote.words, text, most, end > most ? end - most : 0);

	*to = 0;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	text[n] = 0;
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	snprintf(to, size, ": %s", text);
}

/* Waits for the end of the process. False: it is still running. */
static bool reap(int timeout_ms, int *status)
{
	int fd = syscall(SYS_pidfd_open, remote.pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool ended = fd >= 0 && poll(&p, 1, timeout_ms) == 1;

	if (fd >= 0)
		close(fd);
	return ended && waitpid(remote.pid, status, 0) == remote.pid;
}

/* How it ended, by its status or by that of a command that reports it as a shell does. */
static void say_end(int status, char *to, size_t size)
{
	int number = WIFSIGNALED(status)         ? WTERMSIG(status)
		     : WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128
						 : 0;
	const char *name = number ? sigabbrev_np(number) : NULL;

	if (name)
		snprintf(to, size, "died of SIG%s", name);
	else
		snprintf(to, size, "ended with status %d", WEXITSTATUS(status));
}

static void stop_process(void)
{
	if (remote.to >= 0)
		close(remote.to);
	if (remote.from >= 0)
		close(remote.from);
	if (remote.pid > 0) {
		kill(remote.pid, SIGKILL);
		waitpid(remote.pid, NULL, 0);
	}
	remote.pid = 0;
	remote.to = remote.from = -1;
}

void remote_complain(const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (!*remote.why)
		snprintf(remote.why, sizeof(remote.why), "the peer process (%s) %s", remote.name, what);
	stop_process();
}

/* Its pipe is closed, so the process is about to end. */
static void complain_gone(const char *call)
{
	char how[64] = "closed its output", words[176];
	int status;

	if (reap(1000, &status)) {
		say_end(status, how, sizeof(how));
		remote.pid = 0;
	}
	stderr_tail(words, sizeof(words));
	remote_complain("%s in %s%s", how, call, words);
}

static void complain_io(int error, const char *call)
{
	if (error == ETIMEDOUT)
		remote_complain("did not answer %s within %d ms and was killed", call, remote.watchdog_ms);
	else
		complain_gone(call);
}

/* Its stdout has something that is not an answer: shows the beginning of it. */
static void complain_garbage(const char *call, const void *begin, size_t length)
{
	char text[64];
	size_t n = length < sizeof(text) ? length : sizeof(text) - 1;
	struct pollfd p = {.fd = remote.from, .events = POLLIN};
	ssize_t more;

	memcpy(text, begin, n);
	if (n < sizeof(text) - 1 && poll(&p, 1, 100) == 1) {
		more = read(remote.from, text + n, sizeof(text) - 1 - n);
		n += more > 0 ? more : 0;
	}
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '.';
	remote_complain("said something that is no answer to %s: '%.*s'", call, (int)n, text);
}

static bool spawn(json_t *command, int in, int out)
{
	size_t num = json_array_size(command);
	char **words = calloc(num + 1, sizeof(*words));
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t pipe_signal;
	int err;

	if (!words || !num) {
		free(words);
		return false;
	}
	for (size_t i = 0; i < num; i++)
		words[i] = (char *)json_string_value(json_array_get(command, i));
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, remote.words, STDERR_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &pipe_signal);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	err = posix_spawnp(&remote.pid, words[0], &files, &attr, words, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	free(words);
	errno = err;
	if (err)
		remote.pid = 0;
	return !err;
}

static bool start_process(json_t *command)
{
	int in[2], out[2];
	bool started;

	remote.words = memfd_create("peer's stderr", MFD_CLOEXEC);
	if (remote.words < 0 || pipe2(in, O_CLOEXEC))
		return false;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return false;
	}
	remote.to = in[1];
	remote.from = out[0];
	started = spawn(command, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	return started;
}

/* The first line: protocol version and stamp of the peer. */
static int read_hello(int timeout_ms)
{
	unsigned int version, stamp;
	char line[128];
	size_t n = 0;
	int err = 0;

	do
		err = peer_read(remote.from, &line[n], 1, timeout_ms);
	while (!err && line[n] != '\n' && ++n < sizeof(line) - 1);
	line[n] = 0;
	if (err && !(n && err == ENODATA)) {
		complain_io(err, "its start");
		return -1;
	}
	if (sscanf(line, PEER_HELLO " %u %x", &version, &stamp) != 2) {
		complain_garbage("its start", line, n);
		return -1;
	}
	if (version != PEER_VERSION)
		remote_complain(
			"speaks version %u of the protocol, this runner speaks %u: both hosts need the "
			"same build",
			version, PEER_VERSION);
	else if (stamp != peer_stamp())
		remote_complain(
			"lays out its structures otherwise (stamp %08x, here %08x): both hosts need the "
			"same build",
			stamp, peer_stamp());
	return *remote.why ? -1 : 0;
}

static void name_command(json_t *command)
{
	size_t i, used = 0;
	json_t *word;

	json_array_foreach(command, i, word)
	{
		if (used < sizeof(remote.name))
			used += snprintf(remote.name + used, sizeof(remote.name) - used, "%s%s", i ? " " : "",
					 json_string_value(word));
	}
}

int remote_start(json_t *command, unsigned int start_ms, unsigned int timeout_ms, char *err, size_t size)
{
	size_t i;
	json_t *word;

	json_array_foreach(command, i, word)
	{
		if (!json_is_string(word)) {
			snprintf(err, size, "DUT: 'peer_command' is not a list of strings");
			return -1;
		}
	}
	if (!json_array_size(command)) {
		snprintf(err, size, "DUT: 'peer_command' is not a list of strings, or has none");
		return -1;
	}
	signal(SIGPIPE, SIG_IGN);
	watchdog_remote();
	name_command(command);
	remote.watchdog_ms = start_ms + 2 * timeout_ms + 1000;
	if (!start_process(command)) {
		snprintf(err, size, "the peer process (%s) cannot be started: %s", remote.name,
			 strerror(errno));
		stop_process();
		return -1;
	}
	if (read_hello(remote.watchdog_ms)) {
		snprintf(err, size, "%s", remote.why);
		return -1;
	}
	remote.watchdog_ms = 2 * timeout_ms + 1000;
	return 0;
}

int remote_stop(char *err, size_t size)
{
	char how[64], words[176];
	int status, ret = 0;

	if (remote.pid > 0) {
		close(remote.to);
		remote.to = -1;
		if (!reap(remote.watchdog_ms, &status)) {
			snprintf(err, size, "the peer process (%s) did not end and was killed", remote.name);
			ret = -1;
		} else {
			remote.pid = 0;
			say_end(status, how, sizeof(how));
			stderr_tail(words, sizeof(words));
			snprintf(err, size, "the peer process (%s) %s%s", remote.name, how, words);
			ret = status ? -1 : 0;
		}
		stop_process();
	}
	if (remote.words >= 0)
		close(remote.words);
	remote.words = -1;
	free(remote.sent.at);
	free(remote.got.at);
	remote.sent = remote.got = (struct peer_bytes){};
	return ret;
}

static int send_call(enum peer_call call, const void *args, struct remote_tail tail)
{
	const struct peer_call_info *info = &peer_calls[call];
	struct peer_head head = {
		.magic = PEER_MAGIC,
		.call = call,
		.number = ++remote.number,
		.length = info->call + tail.length,
	};

	remote.sent.length = 0;
	if (!peer_append(&remote.sent, &head, sizeof(head)) || !peer_append(&remote.sent, args, info->call) ||
	    !peer_append(&remote.sent, tail.at, tail.length))
		return ENOMEM;
	return peer_write(remote.to, remote.sent.at, remote.sent.length, remote.watchdog_ms);
}

/* The structure and the tail after an answer's head. */
static int read_answer(const struct peer_call_info *info, uint32_t length)
{
	remote.got.length = 0;
	remote.answer = info->answer;
	if (!peer_append(&remote.got, NULL, length))
		return ENOMEM;
	return peer_read(remote.from, remote.got.at, length, remote.watchdog_ms);
}

static int call_locked(enum peer_call call, const void *args, struct remote_tail tail, void *answer)
{
	const struct peer_call_info *info = &peer_calls[call];
	struct peer_head head;
	int err;

	if (*remote.why || remote.pid <= 0)
		return ENOTCONN;
	err = send_call(call, args, tail);
	if (!err)
		err = peer_read(remote.from, &head, sizeof(head), remote.watchdog_ms);
	if (!err &&
	    (head.magic != PEER_MAGIC || head.call != call || head.number != remote.number ||
	     head.length > PEER_MAX || (head.error ? head.length != 0 : head.length < info->answer))) {
		complain_garbage(info->name, &head, sizeof(head));
		return ENOTCONN;
	}
	if (!err && head.error)
		return head.error;
	if (!err)
		err = read_answer(info, head.length);
	if (err) {
		complain_io(err, info->name);
		return ENOTCONN;
	}
	memcpy(answer, remote.got.at, info->answer);
	return 0;
}

int remote_call(enum peer_call call, const void *args, struct remote_tail tail, void *answer)
{
	int err;

	remote_lock();
	memset(answer, 0, peer_calls[call].answer);
	err = call_locked(call, args, tail, answer);
	remote_unlock();
	return err;
}

struct remote_tail remote_answer_tail(void)
{
	return (struct remote_tail){remote.got.at + remote.answer, remote.got.length - remote.answer};
}
