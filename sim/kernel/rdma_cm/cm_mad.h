/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Datagrams of communication management: IBTA 12.6, 12.11 and 13.4. Offsets are from the start of the datagram. */
#ifndef HCASIM_KERNEL_CM_MAD_H
#define HCASIM_KERNEL_CM_MAD_H

#include <stdint.h>
#include <string.h>

#include "containers/bytes.h"

enum { /* the common header */
       MAD_BASE_VERSION = 0,
       MAD_CLASS = 1,
       MAD_CLASS_VERSION = 2,
       MAD_METHOD = 3,
       MAD_TID = 8,
       MAD_ATTR = 16,
       MAD_ATTR_MOD = 20,
       MAD_CM = 24,

       CLASS_CM = 7,
       CLASS_VERSION_CM = 2,
       METHOD_SEND = 3,
};

enum cm_attr {
	ATTR_REQ = 0x10,
	ATTR_MRA,
	ATTR_REJ,
	ATTR_REP,
	ATTR_RTU,
	ATTR_DREQ,
	ATTR_DREP,
	ATTR_SIDR_REQ,
	ATTR_SIDR_REP,
};

enum { /* the start of every message except those of service resolution */
       CM_LOCAL = MAD_CM,
       CM_REMOTE = MAD_CM + 4,

       REQ_VENDOR = MAD_CM + 5, /* 24 bits */
       REQ_SERVICE = MAD_CM + 8,
       REQ_GUID = MAD_CM + 16,
       REQ_QPN = MAD_CM + 32,
       REQ_RESPONDER = MAD_CM + 35,
       REQ_DEPTH = MAD_CM + 39,
       REQ_FLAGS = MAD_CM + 43, /* remote CM response timeout, transport service type, flow control */
       REQ_PSN = MAD_CM + 44,
       REQ_RETRY = MAD_CM + 47, /* local CM response timeout, retry count */
       REQ_PKEY = MAD_CM + 48,
       REQ_MTU = MAD_CM + 50,     /* path MTU, RDC exists, RNR retry count */
       REQ_RETRIES = MAD_CM + 51, /* max CM retries, SRQ, extended transport type */
       REQ_LIDS = MAD_CM + 52,
       REQ_LOCAL_GID = MAD_CM + 56,
       REQ_REMOTE_GID = MAD_CM + 72,
       REQ_FLOW = MAD_CM + 88, /* flow label, packet rate */
       REQ_CLASS = MAD_CM + 92,
       REQ_HOPS = MAD_CM + 93,
       REQ_SL = MAD_CM + 94,
       REQ_ACK_TIMEOUT = MAD_CM + 95,
       REQ_ALTERNATE_GID = MAD_CM + 100,
       REQ_PRIVATE = MAD_CM + 140,

       MRA_WHAT = MAD_CM + 8,
       MRA_TIMEOUT = MAD_CM + 9,

       REJ_WHAT = MAD_CM + 8,
       REJ_INFO_LEN = MAD_CM + 9,
       REJ_REASON = MAD_CM + 10,
       REJ_INFO = MAD_CM + 12,
       REJ_PRIVATE = MAD_CM + 84,

       REP_QPN = MAD_CM + 12,
       REP_VENDOR_HIGH = MAD_CM + 15,
       REP_EECN = MAD_CM + 16,
       REP_VENDOR_MID = MAD_CM + 19,
       REP_PSN = MAD_CM + 20,
       REP_VENDOR_LOW = MAD_CM + 23,
       REP_RESPONDER = MAD_CM + 24,
       REP_DEPTH = MAD_CM + 25,
       REP_FLAGS = MAD_CM + 26, /* target ACK delay, failover accepted, flow control */
       REP_RNR = MAD_CM + 27,   /* RNR retry count, SRQ */
       REP_GUID = MAD_CM + 28,
       REP_PRIVATE = MAD_CM + 36,

       DREQ_QPN = MAD_CM + 8,

       SIDR_ID = MAD_CM,
       SIDR_REQ_PKEY = MAD_CM + 4,
       SIDR_REQ_SERVICE = MAD_CM + 8,
       SIDR_REQ_PRIVATE = MAD_CM + 16,
       SIDR_STATUS = MAD_CM + 4,
       SIDR_QPN = MAD_CM + 8,
       SIDR_SERVICE = MAD_CM + 12,
       SIDR_QKEY = MAD_CM + 20,
       SIDR_REP_PRIVATE = MAD_CM + 96,
};

enum { /* bytes of private data */
       REQ_PRIVATE_SIZE = 92,
       REP_PRIVATE_SIZE = 196,
       REJ_PRIVATE_SIZE = 148,
       SIDR_REQ_PRIVATE_SIZE = 216,
       SIDR_REP_PRIVATE_SIZE = 136,
};

enum { WHAT_REQ, WHAT_REP, WHAT_OTHER }; /* MRA_WHAT, REJ_WHAT: the upper two bits */
enum { TRANSPORT_RC, TRANSPORT_UC, TRANSPORT_EXTENDED = 3, EXTENDED_XRC = 1 };
enum { SIDR_SUCCESS, SIDR_UNSUPPORTED, SIDR_REJECT };

/* What rdma_cm puts before the program's private data (IBTA annex A11.4). */
enum {
	HDR_VERSION = 0,
	HDR_IP = 1, /* IP version, in the upper half */
	HDR_PORT = 2,
	HDR_SRC = 4,
	HDR_DST = 20,
	HDR_SIZE = 36,
};

#endif
