/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Compares observed with expected results. Pure functions without verbs calls, so that a test can
 * pass wrong data to each of them.
 */
#ifndef CONFORM_JUDGE_H
#define CONFORM_JUDGE_H

#include <stddef.h>

#include "cell/cell.h"

#define VERDICT_MAX   12
#define VERDICT_CHECK 64
#define VERDICT_VALUE 96

/* What a check saw in place of what it expects. */
struct observation {
	char check[VERDICT_CHECK]; /* name of the check: stable, DUT files and --diff refer to it */
	char value[VERDICT_VALUE]; /* the same in each run */
	bool excused;
};

struct verdict {
	unsigned int num; /* faults found, including those that did not fit; without those that are excused */
	char fault[VERDICT_MAX][384];
	const json_t *excuses;     /* of the cell: check -> value, or NULL */
	unsigned int num_observed; /* different observations, at most VERDICT_MAX */
	struct observation observed[VERDICT_MAX];
};

/* True: the DUT file excuses this observation, so that the cell goes on. */
bool observe(struct verdict *v, const char *check, const char *value, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* As observe(). The sentence is the check: its words are the name, what it prints is the value, else "yes". */
bool fault(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The value that a check of this cell may have, or NULL. */
const char *excuse(const struct verdict *v, const char *check);

struct wc_expect {
	uint64_t wr_id;
	bool foreign; /* of no request that was built: any wr_id */
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t qp_num;
	bool frame; /* received by a RAW_PACKET QP or a work queue: qp_num may be 0 (erratum FRAME-QPN) */
	bool check_len;
	uint32_t byte_len;
	bool with_imm, with_inv, with_grh;
	__be32 imm;
	uint32_t inv_rkey;
	bool check_src;
	uint32_t src_qp;
};

/* Whether a completion has the number of this queue, or that of a received frame 0. */
bool judge_number(const struct ibv_wc *got, uint32_t want, bool frame);
/* side: "requester" or "responder" */
void judge_wc(struct verdict *v, const char *side, const struct wc_expect *want, const struct ibv_wc *got);
void judge_extra_wc(struct verdict *v, const char *side, const struct ibv_wc *got);
void judge_missing_wc(struct verdict *v, const char *side, const struct wc_expect *want);

/* what: "memory of the responder"; both images have len bytes */
void judge_bytes(struct verdict *v, const char *what, const uint8_t *want, const uint8_t *got, size_t len);

/* rc as returned; bad: index that *bad_wr named, -1 where the API has none; invalid: errno of a refusal, 0: any */
void judge_post(struct verdict *v, const struct cell *cell, int rc, int bad, int invalid);
/* The DUT file declares the errno of refusals; 0: it does not. */
void judge_errno(struct verdict *v, int rc, int declared);

/* A posting other than that of the cell: POST_OK or POST_REFUSED. */
void judge_other(struct verdict *v, enum post_expect post, int rc);

/* err: 0 or the errno of the refusal */
void judge_create(struct verdict *v, const struct cell *cell, int err);

void judge_event(struct verdict *v, int want, bool seen);

#endif
