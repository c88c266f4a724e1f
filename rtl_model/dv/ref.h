/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What of sim/core the modules are compared with, for C++. */
#ifndef HCASIM_RTL_DV_REF_H
#define HCASIM_RTL_DV_REF_H

#include "core/personality.h"
#include "core/wire/headers.h"

#include <hcasim_hw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a frame from its Ethernet header to its padding, as it stands behind it. */
void ref_icrc(const uint8_t *frame, uint32_t len, uint8_t icrc[4]);

/* The headers of a packet. Returns their bytes; `out` holds 128. `spec->port` is 1, and its GID 0 is `sgid`. */
uint32_t ref_headers(const struct pkt_spec *spec, const uint8_t smac[6], const uint8_t sgid[16],
		     uint8_t *out);

/*
 * The frame of a packet with this payload; `raw`: the payload is the frame. `sums`: with the checksums of its headers. As
 * ref_headers(); `out` holds 5000 bytes.
 */
uint32_t ref_frame(const struct pkt_spec *spec, const uint8_t smac[6], const uint8_t sgid[16], bool raw,
		   bool sums, const uint8_t *payload, uint8_t *out);

/* True: the opcode is that of a request. */
bool ref_is_request(uint8_t opcode);

struct ref_qp {
	uint8_t type;
	uint32_t qpn, port_mtu, max_inline;
	uint8_t max_rd_atomic;
	uint8_t port;
};

struct ref_wr {
	struct hca_wr wr; /* its pointers do not count */
	uint8_t status, vendor_err;
	uint32_t data_at; /* of the inline bytes inside the WQE */
	struct hca_sge sge[HCA_WQE_MAX / sizeof(struct hca_sge)];
};

/* What the C engine makes of the WQE at `index` (at most 4), up to which NOPs stand; `posted` blocks from there on. */
void ref_decode(const struct ref_qp *qp, const uint8_t *wqe, uint32_t posted, uint16_t index,
		struct ref_wr *out);

/* ---- ref_send.c: the C engine with all that it needs around it ---- */

struct ref_send_qp {
	struct ref_qp qp;
	uint32_t mtu, qkey, dest_qpn, psn; /* psn: of the first packet */
	uint16_t udp_sport;
	uint8_t smac[6], sgid[16]; /* the port's; every entry of its table */
	struct hca_av av;
	bool bad_lines,
		gone_keys; /* not both: which of them a WQE fails by depends on the order of reads and look-ups */
};

#define REF_BAD_KEY(lkey) (((lkey)&0x3f) == 1) /* keys that there are not */
/*
 * Keys that are removed after the WQE's keys were checked, so that some of its pieces are refused; if the QP says that
 * there are some.
 */
#define REF_GONE_KEY(lkey, addr) (((lkey)&3) == 2 && ((addr) >> 9 & 3) == 3)
#define REF_BAD_LOCAL(rkey)      (((rkey)&7) == 1) /* keys that cannot be bound or invalidated */
/* Lines of host memory that cannot be read, if the QP says that there are some. */
static inline bool ref_bad_line(uint64_t host_addr)
{
	return ((host_addr >> 6) * 0xd6e8feb86659fd93ull) >> 57 == 1;
}

/* Where a key's memory lies in the host: not as aligned as its addresses. */
static inline uint64_t ref_translate(uint64_t addr)
{
	return addr + 0x12345;
}

/* Frames stand at multiples of 64 KiB from here on: Ethernet, IPv4 and TCP headers of a packet of 500 bytes. */
#define REF_FRAMES 0x7ea0000000000000ull

/* What stands there. */
static inline uint8_t ref_memory(uint64_t host_addr)
{
	static const uint8_t frame[] = {2,    0, 0,  0,   0,    1,   2,    0,    0, 0, 0,    2,    8,  0,
					0x46, 0, 1,  244, 1,    2,   0,    0,    9, 6, 0xff, 0xfe, 10, 0,
					0,    1, 10, 0,   0,    2,   1,    1,    1, 1, 3,    4,    5,  6,
					7,    8, 9,  10,  0xff, 0xf, 0x50, 0x18, 1, 0, 7,    7,    0,  0};

	if (host_addr >> 48 == REF_FRAMES >> 48 && (host_addr & 0xffff) < sizeof(frame))
		return frame[host_addr & 0xffff];
	return (uint8_t)((host_addr * 0x9e3779b97f4a7c15ull) >> 56);
}

#define REF_WINDOW 512 /* unacknowledged packets of a message that the C engine sends */

struct ref_sent {
	uint32_t frames; /* that leave */
	uint32_t made, sges;
	uint8_t *frame[REF_WINDOW]; /* to be freed */
	uint32_t len[REF_WINDOW];
	uint32_t psns; /* that the message takes */
	uint8_t status, vendor_err;
};

/*
 * All frames of the WQE at index 0; or, if `from` is not 0, those that are sent when the peer asks for packet `from` of
 * the message after it has seen all before it.
 */
void ref_send(const struct ref_send_qp *qp, const uint8_t *wqe, uint32_t posted, uint32_t from,
	      struct ref_sent *out);

#ifdef __cplusplus
}
#endif
#endif
