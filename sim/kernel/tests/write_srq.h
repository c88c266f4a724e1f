/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_KERNEL_TESTS_WRITE_SRQ_H
#define HCASIM_KERNEL_TESTS_WRITE_SRQ_H

#include "harness.h"

/* Each fills request and driver data, after creating the objects they name. */
void fill_create_srq(uint8_t *req, uint8_t *uhw);
void fill_create_xsrq(uint8_t *req, uint8_t *uhw);
void fill_open_xrcd(uint8_t *req, uint8_t *uhw);
void fill_close_xrcd(uint8_t *req, uint8_t *uhw);
void fill_open_qp(uint8_t *req, uint8_t *uhw);
void fill_modify_srq(uint8_t *req, uint8_t *uhw);
void fill_query_srq(uint8_t *req, uint8_t *uhw);
void fill_destroy_srq(uint8_t *req, uint8_t *uhw);

#endif
