/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The file of a record: one line of text with the version of the format and the schema, then one zstd frame, with its
 * checksum, of events: kind (1 byte), picoseconds since the event before and length of the fields (LEB128), fields.
 */
#ifndef HCASIM_RECORD_STREAM_H
#define HCASIM_RECORD_STREAM_H

#include "record/event.h"

#define RECORD_VERSION 1u

struct writer;
/* NULL, and one sentence in `err`, if the file cannot be made. */
struct writer *writer_open(const char *path, char *err, size_t err_size);
void writer_event(struct writer *w, uint8_t kind, hca_ps time, const struct out *fields);
/* Appends EVENT_END. False, and one sentence in `err`: the file is not complete. */
bool writer_close(struct writer *w, char *err, size_t err_size);

struct reader;
/*
 * Reads all of the file once, so that one that is not complete, or not as it was written, is refused before its first
 * event is used. NULL: one sentence in `err`.
 */
struct reader *reader_open(const char *path, char *err, size_t err_size);
/* The next event, valid until the next call. False: that was EVENT_END. */
bool reader_next(struct reader *r, struct event *e);
void reader_close(struct reader *r);

#endif
