/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the files of the lockstep engine. */
#ifndef HCASIM_ENGINES_LOCKSTEP_IMPL_H
#define HCASIM_ENGINES_LOCKSTEP_IMPL_H

#include "engines/lockstep.h"

#define NO_QP    UINT32_MAX
#define SEEN     64 /* WQEs that are kept for the report */
#define MAX_NAME 24

struct lockstep_qp {
	uint32_t qpn;
	uint8_t type;
	uint16_t retired; /* ring index up to which the second one has reported WQEs */
};

struct seen_wqe {
	uint32_t qpn, len; /* len 0: none */
	uint16_t index;
	uint8_t raw[HCA_WQE_MAX];
};

struct engine {
	struct lockstep_config cfg;
	const struct engine_ops *ops[2];
	struct engine *engine[2];
	const struct hca_personality *pers;
	const struct engine_ports *ports; /* the adapter's */
	void *host;
	bool second;  /* the second one runs */
	bool differs; /* it no longer runs */
	bool inside;  /* the first one is inside a port that may call ops */
	const char *op;
	uint32_t op_qpn;               /* QP of the op, as far as known; NO_QP */
	unsigned int op_call;          /* port calls of the second one in this op */
	uint32_t next[HCA_NUM_STAGES]; /* QP of the next step */
	uint8_t *log;                  /* port calls of the op: name, arguments, results */
	size_t len, room, at;
	struct lockstep_qp *qp;
	unsigned int num_qps, room_qps, turn;
	struct seen_wqe seen[SEEN];
	unsigned int num_seen;
	uint64_t num_retired; /* records of the second one */
	bool completes;       /* the op takes this completion */
	struct engine_completion completed;
	char wave[512]; /* file */
	int wave_error;
};

/* lockstep_ports.c */
extern const struct engine_ports lockstep_ports;
/* Name of the port call of the first engine that is next in the log; NULL: none. */
const char *lockstep_next_call(const struct engine *e);

/* lockstep_retired.c */
void lockstep_retired(struct engine *e, const struct engine_retired *r);
/* Before a completion of the QP is taken. */
void lockstep_completes(struct engine *e, uint32_t qpn);
/* After an op. */
void lockstep_compare_retired(struct engine *e);
void lockstep_forget_retired(struct engine *e, uint32_t qpn);

/* lockstep_report.c */
const char *lockstep_second_name(const struct engine *e);
void lockstep_difference(struct engine *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lockstep_compare_frames(struct engine *e, const uint8_t *first, uint32_t first_len,
			     const uint8_t *second, uint32_t second_len);
void lockstep_saw(struct engine *e, uint32_t qpn, uint16_t index, const void *raw, uint32_t len);
/* The states of one QP. */
void lockstep_compare_state(struct engine *e, uint32_t qpn);

#endif
