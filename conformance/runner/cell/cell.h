/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One cell of the tables as the driver describes it: what to create, what to post, and what must be
 * observed. The runner contains no rules: every expectation is in the line.
 */
#ifndef CONFORM_CELL_H
#define CONFORM_CELL_H

#include <jansson.h>

#include "cell/names.h"

#define CELL_MAX_WR  24
#define CELL_MAX_SGE 64

enum api {
	API_WR,     /* ibv_wr_* */
	API_POST,   /* ibv_post_send */
	API_RECV,   /* ibv_post_recv */
	API_SRQ,    /* ibv_post_srq_recv */
	API_WRITEV, /* rdma_post_writev */
	API_SUITE,  /* a case outside the matrix: suites/suite.h */
};

enum data_setter { DATA_NONE, DATA_SGE, DATA_SGE_LIST, DATA_INLINE, DATA_INLINE_LIST };
enum qp_setter { QPSET_NONE, QPSET_UD_ADDR, QPSET_XRC_SRQN };

/* Where the bytes go when a work request is executed; names are those of `memory` in spec/wr.yaml. */
/* clang-format off */
#define CELL_EFFECTS(X) \
	X(NONE, "none") X(SEND, "send") X(WRITE, "write") X(READ, "read") X(CMP_SWP, "cmp_swp") \
	X(FETCH_ADD, "fetch_add") X(ATOMIC_WRITE, "atomic_write") X(TSO, "tso")
/* clang-format on */
#define CELL_EFFECT(name, text) EFFECT_##name,
enum effect { CELL_EFFECTS(CELL_EFFECT) };

/* A length that depends on the granted capabilities of the QP. */
enum limit { LIMIT_NONE, LIMIT_INLINE, LIMIT_SGE };

struct cell_wr {
	enum ibv_wr_opcode op;
	enum data_setter data, data_again; /* a second setter gets the same buffers */
	enum qp_setter qp_setter, qp_setter_again;
	int data_of; /* index of an earlier request whose buffers this one sends; -1: it has its own */
	unsigned int num_len;
	uint32_t len[CELL_MAX_SGE];
	enum limit limit;
	int limit_delta;    /* added to the granted limit */
	unsigned int flags; /* enum ibv_send_flags */
	enum effect effect;
	int wc;        /* opcode of the completion, -1: none */
	int recv;      /* opcode of the peer's completion, -1: none */
	bool imm, inv; /* the peer's completion carries them */
};

enum create_expect { CREATE_OK, CREATE_REFUSED };
enum post_expect {
	POST_OK,      /* accepted and executed */
	POST_REFUSED, /* refused, nothing is executed */
	POST_ANY,     /* accepted and executed completely, or refused */
	POST_ERROR,   /* refused, or accepted and completed with `status`, nothing is executed */
};

/* A posting other than that of the cell: of legal requests, or of one that must be refused. */
struct cell_batch {
	enum api api;
	enum post_expect post; /* POST_OK or POST_REFUSED */
	unsigned int num_wr;   /* 0: no such posting */
	struct cell_wr wr[CELL_MAX_WR];
};

struct cell {
	char *id;
	enum api api;
	enum ibv_qp_type qpt;
	uint64_t ask; /* send_ops_flags */
	uint32_t ask_inline, ask_sge;
	unsigned int timeout_ms; /* in place of the DUT's; 0: that one */
	unsigned int num_wr;
	struct cell_wr wr[CELL_MAX_WR];
	unsigned int index;               /* of the request that the cell tests */
	struct cell_batch before, behind; /* posted earlier and later by the same thread */
	struct cell_batch rival;          /* posted by a second thread at the same time */
	bool abort;                       /* ibv_wr_abort instead of ibv_wr_complete */
	bool follow_post;                 /* the SEND after the cell is always posted by ibv_post_send() */
	enum create_expect create;
	int create_errno; /* 0: any */
	enum post_expect post;
	enum ibv_wc_status status; /* POST_ERROR */
	int bad_wr;                /* index of the work request that is refused */
	int event;                 /* of the peer's CQ: 1 must, 0 must not, -1 not looked at */
	char *scenario;            /* API_SUITE */
	json_t *args;              /* API_SUITE: object of integers */
	json_t *excuses;           /* observations that the DUT file tolerates: check -> value; NULL: none */
};

/* NULL, and a message that names the field, if the line is not a valid cell. */
struct cell *cell_parse(json_t *line, char *err, size_t err_size);
void cell_free(struct cell *cell);

#endif
