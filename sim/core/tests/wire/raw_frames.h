/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two raw QPs, on side 0 and side 1, and what goes from the first to the second. */
#ifndef HCASIM_CORE_TESTS_RAW_FRAMES_H
#define HCASIM_CORE_TESTS_RAW_FRAMES_H

#include "fixture.h"

void raw_pair(struct pair *p);
/* A flow to the QP, otherwise like `like`, or like nothing. */
uint32_t raw_flow(struct fixture_qp *qp, const struct hca_flow_attr *like, uint8_t kind, uint16_t priority);
/* Makes Ethernet, IPv4, UDP to the other side's own address in p->mem[0]; its length. */
uint32_t raw_frame(struct pair *p, uint16_t dport, uint32_t payload);
void raw_send(struct pair *p, uint32_t flags, uint32_t len);
void raw_recv(struct pair *p, struct fixture_qp *qp);

#endif
