/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What of sim/core the modules are compared with, for C++. */
#ifndef HCASIM_RTL_DV_REF_H
#define HCASIM_RTL_DV_REF_H

#include "core/personality.h"
#include "core/wire/headers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a frame from its Ethernet header to its padding, as it stands behind it. */
void ref_icrc(const uint8_t *frame, uint32_t len, uint8_t icrc[4]);

/* The headers of a packet. Returns their bytes; `out` holds 128. `spec->port` is 1, and its GID 0 is `sgid`. */
uint32_t ref_headers(const struct pkt_spec *spec, const uint8_t smac[6], const uint8_t sgid[16],
		     uint8_t *out);

/* True: the opcode is that of a request. */
bool ref_is_request(uint8_t opcode);

struct ref_qp {
	uint8_t type;
	uint32_t qpn, port_mtu, max_inline;
	uint8_t max_rd_atomic;
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

#ifdef __cplusplus
}
#endif
#endif
