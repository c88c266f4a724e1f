/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "remote/wire.h"

const struct peer_call_info peer_calls[PEER_NUM_CALLS] = {
#define CALL(name, objects, values, answer, tail)                                                            \
	{#name, sizeof(struct peer_##name), sizeof(struct peer_##name##_answer), tail},
#include "remote/calls.h"
};

uint32_t peer_stamp(void)
{
	const uint16_t order = 0x0102;
	uint32_t stamp = *(const uint8_t *)&order + PEER_VERSION * 31 + sizeof(void *);

	for (int i = 0; i < PEER_NUM_CALLS; i++)
		stamp = (stamp * 31 + peer_calls[i].call) * 31 + peer_calls[i].answer;
	return stamp * 31 + sizeof(struct peer_send_wr) + sizeof(struct peer_recv_wr) + sizeof(struct ibv_wc);
}

bool peer_append(struct peer_bytes *b, const void *from, size_t length)
{
	if (b->room - b->length < length) {
		size_t room = 2 * (b->length + length) + 1024;
		uint8_t *grown = realloc(b->at, room);

		if (!grown)
			return false;
		b->at = grown;
		b->room = room;
	}
	if (from && length)
		memcpy(b->at + b->length, from, length);
	b->length += length;
	return true;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

/* Waits until the descriptor is ready; deadline < 0: without a limit. 0 or an errno. */
static int wait_ready(int fd, short events, int64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};
	int ret;

	do {
		int64_t left = deadline < 0 ? -1 : deadline - now_ms();

		ret = poll(&p, 1, left < 0 && deadline >= 0 ? 0 : (int)left);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? errno : ret ? 0 : ETIMEDOUT;
}

int peer_read(int fd, void *to, size_t length, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;

	for (size_t done = 0; done < length;) {
		int ret = wait_ready(fd, POLLIN, deadline);
		ssize_t n = ret ? 0 : read(fd, (uint8_t *)to + done, length - done);

		if (ret)
			return ret;
		if (!n)
			return ENODATA;
		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}

int peer_write(int fd, const void *from, size_t length, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;

	for (size_t done = 0; done < length;) {
		/* a pipe that poll() reports as writable accepts only PIPE_BUF bytes without blocking */
		size_t piece = length - done < 4096 ? length - done : 4096;
		int ret = wait_ready(fd, POLLOUT, deadline);
		ssize_t n = ret ? 0 : write(fd, (const uint8_t *)from + done, piece);

		if (ret)
			return ret;
		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}
