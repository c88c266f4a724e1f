/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Calls to a peer process with random arguments: numbers of no object or of one of another kind, wrong lengths, unmapped
 * addresses. Each call must be answered, and the peer must exit without an error.
 * Arguments: the runner, the device, a seed, the number of calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/wire.h"

#define BASE       0x2f0000000000
#define TIMEOUT_MS 20000
#define TAIL       (2 * sizeof(struct peer_send_wr))

static int to, from;
static uint16_t number;
static uint64_t state;

static uint32_t random_word(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static void stop(const char *what, enum peer_call call)
{
	fprintf(stderr, "%s, call %u %s\n", what, number, peer_calls[call].name);
	exit(1);
}

/* Sends a call and reads its answer. Returns the errno of the answer. */
static int say(enum peer_call call, const void *args, size_t length, void *answer)
{
	struct peer_head head = {PEER_MAGIC, call, ++number, 0, length};
	static uint8_t bytes[1 << 20];

	if (peer_write(to, &head, sizeof(head), TIMEOUT_MS) || peer_write(to, args, length, TIMEOUT_MS))
		stop("the peer does not listen", call);
	if (peer_read(from, &head, sizeof(head), TIMEOUT_MS))
		stop("no answer", call);
	if (head.magic != PEER_MAGIC || head.call != call || head.number != number ||
	    head.length > sizeof(bytes) ||
	    (head.error ? head.length : head.length < peer_calls[call].answer) != 0)
		stop("a wrong answer", call);
	if (peer_read(from, bytes, head.length, TIMEOUT_MS))
		stop("an answer that is cut short", call);
	if (answer && !head.error)
		memcpy(answer, bytes, peer_calls[call].answer);
	return head.error;
}

/* A random value, mostly one that is valid in some field. */
static uint32_t word(void)
{
	static const uint32_t some[] = {0,          1,          2,      3,          4,         5,
					6,          8,          16,     17,         4095,      4096,
					1 << 20,    0x7fffffff, 0x2f00, 64,         1024,      1025,
					0x80000000, 0xffffffff, 65,     0x10000000, 16u << 20, 7};
	uint32_t r = random_word();

	return r % 8 ? some[r / 8 % (sizeof(some) / sizeof(some[0]))] : random_word();
}

/* A call with a random number and random arguments. */
static void random_call(void)
{
	static uint32_t words[(4096 + TAIL) / 4];
	enum peer_call call = random_word() % PEER_NUM_CALLS;
	size_t length = peer_calls[call].call;

	if (call == PEER_open || call == PEER_release) /* keep the device open, and most objects */
		call = PEER_wait, length = peer_calls[call].call;
	for (size_t i = 0; i < sizeof(words) / 4; i++)
		words[i] = word();
	if (peer_calls[call].tail)
		length += random_word() % 3 ? random_word() % TAIL : sizeof(struct peer_recv_wr);
	say(call, words, length, NULL);
}

/* Numbers 2 to 6 are objects of several kinds. */
static void make_objects(const char *device)
{
	struct peer_open open = {.port = 1, .timeout_ms = 20};
	const struct peer_map map = {BASE, PEER_POOL};
	struct peer_create_cq cq = {.cqe = 16};
	struct peer_open_answer opened;
	struct peer_create_cq_answer made;

	snprintf(open.device, sizeof(open.device), "%s", device);
	if (say(PEER_open, &open, sizeof(open), &opened) || say(PEER_map, &map, sizeof(map), NULL) ||
	    say(PEER_create_cq, &cq, sizeof(cq), &made) || say(PEER_create_channel, NULL, 0, NULL))
		stop("no objects", PEER_open);
	const struct peer_create_qp qp = {.pd = opened.pd,
					  .send_cq = made.id,
					  .recv_cq = made.id,
					  .type = IBV_QPT_RC,
					  .cap = {4, 4, 2, 2, 16}};
	const struct peer_reg_mr reg = {opened.pd, IBV_ACCESS_LOCAL_WRITE, BASE, 4096, BASE};
	const struct peer_reg_mr outside = {opened.pd, IBV_ACCESS_LOCAL_WRITE, BASE - 4096, 8192, BASE};

	if (say(PEER_create_qp, &qp, sizeof(qp), NULL) || say(PEER_reg_mr, &reg, sizeof(reg), NULL))
		stop("no QP or no region", PEER_create_qp);
	if (say(PEER_reg_mr, &outside, sizeof(outside), NULL) != EFAULT)
		stop("memory of its own was registered", PEER_reg_mr);
}

static pid_t start(char *runner)
{
	char *words[] = {runner, "--peer", NULL}, line[128];
	posix_spawn_file_actions_t files;
	int in[2], out[2];
	size_t n = 0;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		stop("no pipe", PEER_open);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	if (posix_spawn(&pid, runner, &files, NULL, words, environ))
		stop("no peer", PEER_open);
	posix_spawn_file_actions_destroy(&files);
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
	do
		if (n == sizeof(line) || peer_read(from, &line[n], 1, TIMEOUT_MS))
			stop("no line to begin with", PEER_open);
	while (line[n++] != '\n');
	return pid;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc != 5) {
		fprintf(stderr, "usage: %s RUNNER DEVICE SEED CALLS\n", argv[0]);
		return 2;
	}
	state = strtoul(argv[3], NULL, 0);
	pid = start(argv[1]);
	make_objects(argv[2]);
	for (unsigned long left = strtoul(argv[4], NULL, 0); left; left--)
		random_call();
	close(to);
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "the peer ended with wait status 0x%x\n", status);
		return 1;
	}
	return 0;
}
