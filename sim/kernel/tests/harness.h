/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A machine without SystemC: real cores, the real native driver, the simulated kernel, and a task whose user
 * memory is an arena of this process. Addresses outside the arena fault, as an application's would. sim/tests
 * builds the ioctl and write suites with a different world.c, in which kernel_open() and the other functions
 * use open() etc. on the device file of a running machine.
 */
#ifndef HCASIM_KERNEL_TESTS_HARNESS_H
#define HCASIM_KERNEL_TESTS_HARNESS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "kernel/priv.h"
#include "hcasim-abi.h"
#include "hcasim_hw.h"

#define NUM_HCAS   2
#define ARENA_SIZE (1u << 20)
#define HOSTILE    0xdead00000000ull
#define MAX_WORDS  512

struct world {
	struct kernel *k;
	struct kfile *f;
	struct task task;
	struct kreply reply;
	char root[64];
	uint8_t *arena; /* user memory; the page after it faults */
	size_t used;    /* bytes used in the arena */
	/* The objects that the helpers below created last. */
	uint32_t pd, cq, qp, mr, lkey, mw, mw_rkey, ah, flow, qpn, srq, xrcd, dm, wq, table;
	struct hcasim_alloc_ucontext_resp context_resp;
	struct hcasim_create_cq_resp cq_resp;
	struct hcasim_alloc_dm_resp dm_resp;
	bool mapped;           /* a process maps all of every BAR */
	unsigned int attached; /* number of attachments to dma-bufs */
	bool ordinary;         /* the program has no capabilities */
	uint64_t pinned;       /* pages */
	uint64_t pin_limit;    /* 0: none */
	struct hcasim_create_qp_resp qp_resp;
	int async_fd, comp_fd;
};

extern struct world w;

int world_init(void); /* machine and sysfs tree */
int world_exit(void);
void file_open(void);  /* a new open file, no context */
void file_close(void); /* closes the file and all descriptors that it returned */
void take_reply(void); /* stores the numbers of w.reply's descriptors where the call wants them */
/* Runs the adapters until nothing is left to do, interrupts included. */
void run_machine(void);
/* Number of descriptors of this process, to find tests that leak one. */
unsigned int count_fds(void);

void *user_alloc(size_t size); /* from the arena; file_open() frees all of it */
#define U(p) ((uint64_t)(uintptr_t)(p))

/* ---- write() ---- */
struct cmd_buf { /* buffers in user memory */
	struct ib_uverbs_cmd_hdr hdr;
	uint8_t body[MAX_WORDS * 4 - sizeof(struct ib_uverbs_cmd_hdr)];
};
/* Runs one command with its request, driver data and response. Returns 0 or the negative errno. */
int do_write(uint32_t cmd, const void *req, size_t req_len, const void *uhw, size_t uhw_len, void *resp,
	     size_t resp_len, void *uhw_out, size_t uhw_out_len);
int do_write_ex(uint32_t cmd, const void *req, size_t req_len, const void *uhw, size_t uhw_len, void *resp,
		size_t resp_len, void *uhw_out, size_t uhw_out_len);

/* ---- ioctl ---- */
struct ioc {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[24];
};
struct ioc *ioc_new(uint16_t object, uint16_t method);
struct ib_uverbs_attr *ioc_add(struct ioc *i, uint16_t id);
struct ib_uverbs_attr *ioc_in(struct ioc *i, uint16_t id, const void *data, uint16_t len);
struct ib_uverbs_attr *ioc_const(struct ioc *i, uint16_t id, uint64_t value);
struct ib_uverbs_attr *ioc_out(struct ioc *i, uint16_t id, void *data, uint16_t len);
struct ib_uverbs_attr *ioc_obj(struct ioc *i, uint16_t id, uint64_t handle);
int ioc_run(struct ioc *i);

/* ---- objects: each returns 0 or the negative errno ---- */
int make_context(void); /* GET_CONTEXT and an async event file, by ioctl */
int make_pd(void);
int make_channel(void);
int make_cq(uint32_t cqe, int channel);
int make_mr(void *addr, uint64_t len, uint32_t access);
int make_dm(uint64_t length, uint32_t log_align);
/* Prepares the ioctl that registers part of w.dm. */
struct ioc *dm_mr_ioc(uint64_t offset, uint64_t length, uint32_t access);
/* Prepares the ioctl that registers memory. */
/* A memfd of 16 KB that serves as a dma-buf, the same one each time. */
int dmabuf_fd(void);
struct ioc *dmabuf_ioc(uint64_t offset, uint64_t length, uint64_t iova, int fd, uint32_t access);
/* Completion counters; the handle of a new one is the data of attribute 0. */
struct ioc *comp_cntr_ioc(uint32_t type);
struct ioc *comp_cntr_modify_ioc(uint32_t cntr, uint64_t entry, uint64_t op, uint64_t value);
struct ioc *comp_cntr_read_ioc(uint32_t cntr, uint64_t entry, uint64_t *value);
struct ioc *comp_cntr_attach_ioc(uint32_t qp, uint32_t cntr, uint32_t ops);
struct ioc *reg_mr_ioc(uint32_t dmah, uint64_t addr, uint64_t length, uint32_t access);
int make_xrcd(int fd, uint32_t oflags);
int make_mw(uint8_t type);
int make_srq(uint32_t max_wr, uint32_t limit);
int make_qp(uint8_t type);
int make_flow(void); /* of w.qp: all frames that no other flow takes */
/* Fill the requests of address handles, flows and multicast groups, after creating the objects they name. */
void fill_ah(uint8_t *req, uint8_t *uhw);
void fill_mcast(uint8_t *req, uint8_t *uhw);
void fill_detach(uint8_t *req, uint8_t *uhw);
void fill_flow(uint8_t *req, uint8_t *uhw);
void fill_destroy_flow(uint8_t *req, uint8_t *uhw);
int make_ah(const uint8_t dgid[16], uint8_t sgid_index);
int destroy(uint32_t cmd, uint32_t handle); /* commands whose request is a handle */
int destroy_cq(uint32_t handle, struct ib_uverbs_destroy_cq_resp *resp);
int destroy_qp(uint32_t handle, struct ib_uverbs_destroy_qp_resp *resp);
int modify_qp(const struct ib_uverbs_modify_qp *m);
int query_qp(struct ib_uverbs_query_qp_resp *r);
/* Valid attributes for `w.qp` of `type`, connected to itself. */
void good_attrs(struct ib_uverbs_modify_qp *m, uint8_t type);
/* Brings w.qp (in RESET) to `state` by legal steps. */
int qp_to_state(uint8_t type, unsigned int state);
uint32_t required_mask(uint8_t type, unsigned int from, unsigned int to);

#define CHECK_ERR(expr, err)                                                                                 \
	do {                                                                                                 \
		const int got_ = (expr);                                                                     \
		if (got_ != (err))                                                                           \
			fprintf(stderr, "\n%s:%d: %s is %d, expected %d\n", __FILE__, __LINE__, #expr, got_, \
				(int)(err));                                                                 \
		CU_ASSERT_EQUAL(got_, err);                                                                  \
	} while (0)
#define CHECK(expr) CHECK_ERR(!!(expr), 1)

void add_object_suite(void);
void add_growth_suite(void);
void add_ioctl_suite(void);
void add_write_suite(void);
void add_state_suite(void);
void add_event_suite(void);
void add_records_suite(void);
void add_log_suite(void);
void add_methods_suite(void);
void add_wq_suite(void);
/* Creates w.wq, in RESET, with its PD and CQ; then w.table, which has only this work queue. */
int make_wq(void);
int make_table(void);
void fill_create_wq(uint8_t *req, uint8_t *uhw);
void fill_modify_wq(uint8_t *req, uint8_t *uhw);
void fill_destroy_wq(uint8_t *req, uint8_t *uhw);
void fill_create_table(uint8_t *req, uint8_t *uhw);
void fill_destroy_table(uint8_t *req, uint8_t *uhw);
void add_srq_suite(void);
void add_sysfs_suite(void);
void add_flow_suite(void);
void add_dm_suite(void);
void add_dmabuf_suite(void);
void add_comp_cntr_suite(void);
void add_dmah_suite(void);
void add_odp_suite(void);
void add_ucma_suite(void);
void add_ucma_hostile_suite(void);
void add_releases_suite(void);

#endif
