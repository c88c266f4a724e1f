/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "judge/judge.h"

void fault(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	if (v->num < VERDICT_MAX) {
		va_start(ap, fmt);
		vsnprintf(v->fault[v->num], sizeof(v->fault[0]), fmt, ap);
		va_end(ap);
	}
	v->num++;
}

bool judge_number(const struct ibv_wc *got, uint32_t want, bool frame)
{
	return got->qp_num == want || (frame && got->status == IBV_WC_SUCCESS && !got->qp_num);
}

/* Only these are valid when status is not IBV_WC_SUCCESS (ibv_poll_cq(3)). */
static void judge_always_valid(struct verdict *v, const char *side, const struct wc_expect *want,
			       const struct ibv_wc *got)
{
	if (got->wr_id != want->wr_id)
		fault(v, "%s CQE: wr_id 0x%" PRIx64 ", expected 0x%" PRIx64, side, got->wr_id, want->wr_id);
	if (got->status != want->status)
		fault(v, "%s CQE: status %s, expected %s (vendor_err 0x%x)", side,
		      value_name(status_names, got->status), value_name(status_names, want->status),
		      got->vendor_err);
	if (!judge_number(got, want->qp_num, want->frame))
		fault(v, "%s CQE: qp_num 0x%x, expected 0x%x", side, got->qp_num, want->qp_num);
}

static void judge_wc_flags(struct verdict *v, const char *side, const struct wc_expect *want,
			   const struct ibv_wc *got)
{
	/* ibv_poll_cq(3): IBV_WC_GRH is "valid only for UD QPs", those whose completions have a src_qp */
	unsigned int silent = IBV_WC_IP_CSUM_OK | (want->check_src || want->with_grh ? 0 : IBV_WC_GRH);
	unsigned int flags = got->wc_flags & ~silent;
	unsigned int expected = (want->with_imm ? IBV_WC_WITH_IMM : 0) |
				(want->with_inv ? IBV_WC_WITH_INV : 0) | (want->with_grh ? IBV_WC_GRH : 0);

	if (flags != (expected & ~silent))
		fault(v, "%s CQE: wc_flags 0x%x, expected 0x%x", side, flags, expected & ~silent);
	if (want->with_imm && got->imm_data != want->imm)
		fault(v, "%s CQE: imm_data 0x%08x, expected 0x%08x", side, be32toh(got->imm_data),
		      be32toh(want->imm));
	if (want->with_inv && got->invalidated_rkey != want->inv_rkey)
		fault(v, "%s CQE: invalidated_rkey 0x%x, expected 0x%x", side, got->invalidated_rkey,
		      want->inv_rkey);
}

void judge_wc(struct verdict *v, const char *side, const struct wc_expect *want, const struct ibv_wc *got)
{
	judge_always_valid(v, side, want, got);
	if (got->status != IBV_WC_SUCCESS || want->status != IBV_WC_SUCCESS)
		return;
	if (got->opcode != want->opcode)
		fault(v, "%s CQE: opcode %s, expected %s", side, value_name(wc_names, got->opcode),
		      value_name(wc_names, want->opcode));
	if (want->check_len && got->byte_len != want->byte_len)
		fault(v, "%s CQE: byte_len %u, expected %u", side, got->byte_len, want->byte_len);
	if (want->check_src && got->src_qp != want->src_qp)
		fault(v, "%s CQE: src_qp 0x%x, expected 0x%x", side, got->src_qp, want->src_qp);
	judge_wc_flags(v, side, want, got);
}

void judge_extra_wc(struct verdict *v, const char *side, const struct ibv_wc *got)
{
	fault(v, "%s CQE that nothing asked for: wr_id 0x%" PRIx64 ", status %s", side, got->wr_id,
	      value_name(status_names, got->status));
}

void judge_missing_wc(struct verdict *v, const char *side, const struct wc_expect *want)
{
	fault(v, "%s CQE %s of wr_id 0x%" PRIx64 " did not come", side, value_name(wc_names, want->opcode),
	      want->wr_id);
}

void judge_bytes(struct verdict *v, const char *what, const uint8_t *want, const uint8_t *got, size_t len)
{
	size_t first = len, wrong = 0;

	if (!memcmp(want, got, len))
		return;
	for (size_t i = 0; i < len; i++)
		if (want[i] != got[i]) {
			if (!wrong)
				first = i;
			wrong++;
		}
	if (wrong)
		fault(v, "%s: %zu bytes are wrong, the first at offset %zu: 0x%02x, expected 0x%02x", what,
		      wrong, first, got[first], want[first]);
}

void judge_errno(struct verdict *v, int rc, int declared)
{
	if (rc && declared && rc != declared)
		fault(v, "refused with %d (%s), the DUT file declares %s", rc, errno_name(rc),
		      errno_name(declared));
}

void judge_post(struct verdict *v, const struct cell *cell, int rc, int bad, int invalid)
{
	if (cell->post == POST_OK && rc)
		fault(v, "posting was refused with %d (%s), must be accepted", rc, errno_name(rc));
	if (cell->post == POST_REFUSED && !rc)
		fault(v, "posting was accepted, must be refused");
	if (rc < 0 && cell->api != API_WR) /* ibv_wr_complete(): "will return failure" */
		fault(v, "posting returned %d, which is no value of errno", rc);
	if (cell->post != POST_OK && rc && bad >= 0 && bad != cell->bad_wr)
		fault(v, "bad_wr names work request %d, expected %d", bad, cell->bad_wr);
	if (cell->post != POST_OK)
		judge_errno(v, rc, invalid);
}

void judge_other(struct verdict *v, enum post_expect post, int rc)
{
	if (post == POST_OK && rc)
		fault(v, "the posting next to it was refused with %d (%s), must be accepted", rc,
		      errno_name(rc));
	if (post == POST_REFUSED && !rc)
		fault(v, "the bad posting before it was accepted, must be refused");
}

void judge_create(struct verdict *v, const struct cell *cell, int err)
{
	if (cell->create == CREATE_OK && err)
		fault(v, "set-up was refused with %s", errno_name(err));
	if (cell->create == CREATE_REFUSED && !err)
		fault(v, "creation of the QP succeeded, must fail");
	if (cell->create == CREATE_REFUSED && err && cell->create_errno && err != cell->create_errno)
		fault(v, "creation of the QP failed with %s, expected %s", errno_name(err),
		      errno_name(cell->create_errno));
}

void judge_event(struct verdict *v, int want, bool seen)
{
	if (want == 1 && !seen)
		fault(v, "no completion event came for a solicited message");
	if (want == 0 && seen)
		fault(v, "a completion event came, nothing was solicited");
}
