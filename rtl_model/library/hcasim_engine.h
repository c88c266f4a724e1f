/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libhcasim-engine: the send engine in SystemVerilog for other test benches, as plain C functions. All types are those of
 * DPI-C: chandle (void *), int, int unsigned, longint unsigned, bit [511:0] (16 words, least significant first, bytes
 * little-endian), so a SystemVerilog bench imports the functions as they are (examples/bench.sv), and Python calls them
 * by ctypes (examples/bench.py). rtl_model/doc/library.md has the calls in their order.
 *
 * The bench is the adapter around the engine: host memory, wire and clock. An engine has up to 65,536 QPs. Its clock runs
 * only inside these calls. Units: bytes, picoseconds, 24-bit PSNs, ring indices in basic blocks of 64 bytes. Functions
 * that return int give 0 or more, or a negative errno: -EINVAL for a QP number, tag or value that does not exist,
 * -ENOMEM. One engine is used by one thread at a time.
 */
#ifndef HCASIM_ENGINE_LIB_H
#define HCASIM_ENGINE_LIB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What hcasim_engine_next() returns: what the engine asks for, or hands out. Its fields are HCASIM_FIELD_*. */
enum hcasim_engine_event {
	HCASIM_EVENT_IDLE,   /* nothing more to do before the bench does something */
	HCASIM_EVENT_READ,   /* read the PIECEs of host memory: answer with _data() and _read_done(TAG) */
	HCASIM_EVENT_PACKET, /* a packet: OPCODE, PSN, ...; when it leaves: _leave(TAG), then _released(TAG) */
	HCASIM_EVENT_COMPLETION, /* a WQE has ended: INDEX, BLOCKS, STATUS */
	HCASIM_EVENT_RESULT,     /* a response's payload goes to the PIECEs: _written(TAG) when it is there */
	HCASIM_EVENT_TIMER,      /* the timer of QPN is set to AT, or cleared (all ones): _timer(QPN) then */
	HCASIM_EVENT_FAILED      /* QPN has gone to the state STATUS (SQE or ERR) */
};

enum hcasim_engine_field {
	HCASIM_FIELD_QPN,
	HCASIM_FIELD_TAG,
	HCASIM_FIELD_PIECES, /* pieces of host memory: hcasim_engine_piece() */
	HCASIM_FIELD_LENGTH, /* READ, RESULT: of all pieces; PACKET: of its payload */
	HCASIM_FIELD_OPCODE, /* PACKET: BTH opcode (spec/wire.yaml) */
	HCASIM_FIELD_PSN,    /* PACKET */
	HCASIM_FIELD_DEST_QPN,
	HCASIM_FIELD_ACKREQ,
	HCASIM_FIELD_VA, /* PACKET: RETH, AtomicETH */
	HCASIM_FIELD_RKEY,
	HCASIM_FIELD_DMALEN,
	HCASIM_FIELD_HEAD,   /* PACKET: bytes of the payload that come with it: hcasim_engine_head() */
	HCASIM_FIELD_INDEX,  /* COMPLETION: ring index of the WQE */
	HCASIM_FIELD_BLOCKS, /* COMPLETION: its basic blocks */
	HCASIM_FIELD_STATUS, /* COMPLETION: enum hcasim_cqe_status; FAILED: state of the QP */
	HCASIM_FIELD_AT      /* TIMER: ps */
};

/* NULL: no memory. */
void *hcasim_engine_open(void);
void hcasim_engine_close(void *engine);

/*
 * An RC QP in RTS with `blocks` basic blocks (a power of 2, at most 32768) of send queue at host address `ring`. `mtu`:
 * 256 to 4096. ACK timeout 67 ms, 7 retries.
 */
int hcasim_engine_qp(void *engine, uint32_t qpn, uint64_t ring, uint32_t blocks, uint32_t mtu,
		     uint32_t dest_qpn, uint32_t psn);
int hcasim_engine_qp_destroy(void *engine, uint32_t qpn);
/* Memory region `lkey`: `length` bytes of host memory from address `addr`, which the engine may read and write. */
int hcasim_engine_key(void *engine, uint32_t lkey, uint64_t addr, uint64_t length);

/* Device time of the bench; it only grows. */
void hcasim_engine_time(void *engine, uint64_t ps);
/* WQEs are posted up to ring index `pi`. */
int hcasim_engine_doorbell(void *engine, uint32_t qpn, uint32_t pi);

/* Lets the engine work until there is an event, and removes it: enum hcasim_engine_event. */
int hcasim_engine_next(void *engine);
/* Of that event; 0 for a field that it does not have. */
uint64_t hcasim_engine_field(void *engine, int field);
/* Piece `i` of it: address and length. */
int hcasim_engine_piece(void *engine, uint32_t i, uint64_t *addr, uint32_t *length);
/* 64 bytes from byte `at` of the payload that comes with a packet (inline data), 0 behind its end. */
int hcasim_engine_head(void *engine, uint32_t at, uint32_t *bytes);

/* 64 bytes from byte `at` of what was read; then the answer. `status`: 0, or not: the read was refused. */
int hcasim_engine_data(void *engine, uint32_t at, const uint32_t *bytes);
int hcasim_engine_read_done(void *engine, uint32_t tag, int status);
/* 1: the packet leaves, 0: it does not, because its WQE has failed before. `failed`: its payload could not be read. */
int hcasim_engine_leave(void *engine, uint32_t tag, int failed);
int hcasim_engine_released(void *engine, uint32_t tag);
/* An ACK, NAK or RNR NAK: AETH `kind` and `value` (spec/wire.yaml). */
int hcasim_engine_ack(void *engine, uint32_t qpn, uint32_t psn, uint32_t kind, uint32_t value);
/* A READ response with `length` bytes; `last`: the last packet of it. */
int hcasim_engine_read_response(void *engine, uint32_t qpn, uint32_t psn, uint32_t length, int last);
int hcasim_engine_written(void *engine, uint32_t tag, int status);
/* The timer of the QP has expired. */
int hcasim_engine_timer(void *engine, uint32_t qpn);

/* Clock cycles of all calls so far. */
uint64_t hcasim_engine_cycles(void *engine);

#ifdef __cplusplus
}
#endif
#endif
