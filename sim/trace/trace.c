// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "trace_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PS_PER_S  1000000000000ull
#define PS_PER_NS 1000ull

static const char *const log_names[TRACE_NUM_LOGS] = {
	[TRACE_TLP] = "tlp.log",       [TRACE_WQE] = "wqe.log",     [TRACE_CQE] = "cqe.log",
	[TRACE_RETIRE] = "retire.log", [TRACE_FAULT] = "fault.log", [TRACE_EVENTS] = "events.log",
	[TRACE_VERBS] = "verbs.log",   [TRACE_POSTS] = "posts.log",
};

static bool open_logs(struct trace *t, char *err, size_t err_size)
{
	char path[sizeof(t->dir) + 16];

	for (int i = 0; i < TRACE_NUM_LOGS; i++) {
		snprintf(path, sizeof(path), "%s/%s", t->dir, log_names[i]);
		if (i == TRACE_EVENTS && t->no_events) {
			unlink(path); /* of an earlier run */
			continue;
		}
		t->log[i] = fopen(path, "we");
		if (!t->log[i]) {
			snprintf(err, err_size, "trace: cannot write %s: %s", path, strerror(errno));
			return false;
		}
	}
	return true;
}

static bool open_pcap(struct trace *t, char *err, size_t err_size)
{
	char path[sizeof(t->dir) + 16];

	snprintf(path, sizeof(path), "%s/wire.pcap", t->dir);
	t->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	if (!t->pcap) {
		snprintf(err, err_size, "trace: libpcap cannot prepare %s", path);
		return false;
	}
	t->frames = pcap_dump_open(t->pcap, path);
	if (!t->frames) {
		snprintf(err, err_size, "trace: cannot write %s: %s", path, pcap_geterr(t->pcap));
		return false;
	}
	return true;
}

static void release(struct trace *t)
{
	for (int i = 0; i < TRACE_NUM_LOGS; i++)
		if (t->log[i])
			fclose(t->log[i]);
	if (t->frames)
		pcap_dump_close(t->frames);
	if (t->pcap)
		pcap_close(t->pcap);
	free(t);
}

static bool open_folder(struct trace *t, const char *dir, char *err, size_t err_size)
{
	if (snprintf(t->dir, sizeof(t->dir), "%s", dir) >= (int)sizeof(t->dir) || !*dir) {
		snprintf(err, err_size, "trace: directory name '%.80s' is %s", dir,
			 *dir ? "too long" : "empty");
		return false;
	}
	if (mkdir(dir, 0777) && errno != EEXIST) {
		snprintf(err, err_size, "trace: cannot make directory %s: %s", dir, strerror(errno));
		return false;
	}
	return open_logs(t, err, err_size) && open_pcap(t, err, err_size);
}

struct trace *trace_open(const char *dir, bool events, const struct trace_observer *observer, void *ctx,
			 char *err, size_t err_size)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t) {
		snprintf(err, err_size, "trace: out of memory");
		return NULL;
	}
	t->observer = observer;
	t->ctx = ctx;
	t->no_events = !events;
	if (dir && !open_folder(t, dir, err, err_size)) {
		release(t);
		return NULL;
	}
	return t;
}

void trace_adapters(struct trace *t, const char *const *names, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++)
		snprintf(t->names[i], sizeof(t->names[i]), "%s", names[i]);
	if (trace_wants_events(t))
		trace_events_head(t, num);
}

static void check_files(const struct trace *t)
{
	for (int i = 0; i < TRACE_NUM_LOGS; i++)
		if (t->log[i] && (fflush(t->log[i]) || ferror(t->log[i])))
			fprintf(stderr, "hcasim: trace %s/%s is incomplete: %s\n", t->dir, log_names[i],
				strerror(errno));
	if (pcap_dump_flush(t->frames) || ferror(pcap_dump_file(t->frames)))
		fprintf(stderr, "hcasim: trace %s/wire.pcap is incomplete: %s\n", t->dir, strerror(errno));
}

void trace_close(struct trace *t)
{
	trace_events_end(t);
	if (*t->dir)
		check_files(t);
	release(t);
}

FILE *trace_verbs(const struct trace *t)
{
	return t->log[TRACE_VERBS];
}

FILE *trace_posts(const struct trace *t)
{
	return t->log[TRACE_POSTS];
}

void trace_frame(struct trace *t, hca_ps time, const void *data, uint32_t len)
{
	struct pcap_pkthdr hdr = {
		.ts = {.tv_sec = time / PS_PER_S, .tv_usec = time % PS_PER_S / PS_PER_NS},
		.caplen = len,
		.len = len,
	};

	if (t->observer)
		t->observer->frame(t->ctx, time, data, len);
	t->num_frames++;
	if (*t->dir)
		pcap_dump((unsigned char *)t->frames, &hdr, data);
}

void trace_hex(FILE *f, const char *key, const void *data, uint32_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = data;

	fprintf(f, ",\"%s\":\"", key);
	for (uint32_t i = 0; i < len; i++) {
		putc_unlocked(digits[p[i] >> 4], f);
		putc_unlocked(digits[p[i] & 15], f);
	}
	putc_unlocked('"', f);
}

void trace_fault(struct trace *t, hca_ps time, unsigned int from, const char *what, uint32_t len)
{
	if (t->observer)
		t->observer->fault(t->ctx, time, from, what, len);
	if (*t->dir)
		fprintf(t->log[TRACE_FAULT], "{\"ps\":%llu,\"from\":\"%s\",\"what\":\"%s\",\"len\":%u}\n",
			(unsigned long long)time, t->names[from], what, len);
}
