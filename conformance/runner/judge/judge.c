/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "judge/judge.h"

const char *excuse(const struct verdict *v, const char *check)
{
	return json_string_value(json_object_get(v->excuses, check));
}

static bool same_observation(const struct observation *a, const char *check, const char *value)
{
	return !strcmp(a->check, check) && !strcmp(a->value, value);
}

/* Records it once. True: it is excused. */
static bool record(struct verdict *v, const char *check, const char *value)
{
	const char *tolerated = excuse(v, check);
	bool excused = tolerated && !strcmp(tolerated, value);
	struct observation *o = &v->observed[v->num_observed];

	for (unsigned int i = 0; i < v->num_observed; i++)
		if (same_observation(&v->observed[i], check, value))
			return excused;
	if (v->num_observed < VERDICT_MAX) {
		snprintf(o->check, sizeof(o->check), "%s", check);
		snprintf(o->value, sizeof(o->value), "%s", value);
		o->excused = excused;
		v->num_observed++;
	}
	return excused;
}

static bool add(struct verdict *v, const char *check, const char *value, const char *fmt, va_list ap)
{
	if (record(v, check, value))
		return true;
	if (v->num < VERDICT_MAX)
		vsnprintf(v->fault[v->num], sizeof(v->fault[0]), fmt, ap);
	v->num++;
	return false;
}

bool observe(struct verdict *v, const char *check, const char *value, const char *fmt, ...)
{
	bool excused;
	va_list ap;

	va_start(ap, fmt);
	excused = add(v, check, value, fmt, ap);
	va_end(ap);
	return excused;
}

static void append(char *buf, size_t size, const char *text, size_t len)
{
	size_t used = strlen(buf);

	if (len > size - used - 1)
		len = size - used - 1;
	memcpy(buf + used, text, len);
	buf[used + len] = 0;
}

/* A letter or digit of the sentence; anything else separates words. */
static void append_word(char *check, char c)
{
	size_t used = strlen(check);
	char lower = tolower((unsigned char)c);

	if (isalnum((unsigned char)c) || c == '_')
		append(check, VERDICT_CHECK, &lower, 1);
	else if (used && check[used - 1] != '-')
		append(check, VERDICT_CHECK, "-", 1);
}

/* The end of a conversion specification. */
static const char *skip_conversion(const char *fmt)
{
	fmt += 1 + strspn(fmt + 1, "0123456789.*-+ #lhzjt");
	return *fmt ? fmt + 1 : fmt;
}

/* Divides a sentence into the words of its format and what was printed between them. */
static void divide(const char *fmt, const char *text, char *check, char *value)
{
	while (*fmt) {
		const char *end, *words;
		size_t len;

		if (*fmt != '%' || fmt[1] == '%') {
			append_word(check, *fmt);
			fmt += *fmt == '%' ? 2 : 1;
			text += *text != 0;
			continue;
		}
		fmt = words = skip_conversion(fmt);
		len = words[0] == '%' && words[1] == '%' ? 1 : strcspn(words, "%");
		end = len ? memmem(text, strlen(text), words, len) : NULL;
		if (!end)
			end = text + strlen(text);
		append(value, VERDICT_VALUE, ",", *value != 0);
		append(value, VERDICT_VALUE, text, end - text);
		text = end;
	}
}

bool fault(struct verdict *v, const char *fmt, ...)
{
	char text[sizeof(v->fault[0])], check[VERDICT_CHECK] = "", value[VERDICT_VALUE] = "";
	bool excused;
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	vsnprintf(text, sizeof(text), fmt, again);
	va_end(again);
	divide(fmt, text, check, value);
	if (!*value)
		snprintf(value, sizeof(value), "yes");
	excused = add(v, check, value, fmt, ap);
	va_end(ap);
	return excused;
}

/* observe() of a member of a completion. */
static void observe_wc(struct verdict *v, const char *side, const char *member, const char *value,
		       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void observe_wc(struct verdict *v, const char *side, const char *member, const char *value,
		       const char *fmt, ...)
{
	char check[VERDICT_CHECK];
	va_list ap;

	snprintf(check, sizeof(check), "%s.wc.%s", side, member);
	va_start(ap, fmt);
	add(v, check, value, fmt, ap);
	va_end(ap);
}

/* Numbers of queues and keys, and immediate data, differ from run to run. */
#define ANOTHER "another"

bool judge_number(const struct ibv_wc *got, uint32_t want, bool frame)
{
	return got->qp_num == want || (frame && got->status == IBV_WC_SUCCESS && !got->qp_num);
}

/* Only these are valid when status is not IBV_WC_SUCCESS (ibv_poll_cq(3)). */
static void judge_always_valid(struct verdict *v, const char *side, const struct wc_expect *want,
			       const struct ibv_wc *got)
{
	if (!want->foreign && got->wr_id != want->wr_id)
		observe_wc(v, side, "wr_id", ANOTHER, "%s CQE: wr_id 0x%" PRIx64 ", expected 0x%" PRIx64,
			   side, got->wr_id, want->wr_id);
	if (got->status != want->status)
		observe_wc(v, side, "status", value_name(status_names, got->status),
			   "%s CQE: status %s, expected %s (vendor_err 0x%x)", side,
			   value_name(status_names, got->status), value_name(status_names, want->status),
			   got->vendor_err);
	if (!judge_number(got, want->qp_num, want->frame))
		observe_wc(v, side, "qp_num", ANOTHER, "%s CQE: qp_num 0x%x, expected 0x%x", side,
			   got->qp_num, want->qp_num);
}

static void judge_wc_flags(struct verdict *v, const char *side, const struct wc_expect *want,
			   const struct ibv_wc *got)
{
	/* ibv_poll_cq(3): IBV_WC_GRH is "valid only for UD QPs", those whose completions have a src_qp */
	unsigned int silent = IBV_WC_IP_CSUM_OK | (want->check_src || want->with_grh ? 0 : IBV_WC_GRH);
	unsigned int flags = got->wc_flags & ~silent;
	unsigned int expected = (want->with_imm ? IBV_WC_WITH_IMM : 0) |
				(want->with_inv ? IBV_WC_WITH_INV : 0) | (want->with_grh ? IBV_WC_GRH : 0);
	char names[VERDICT_VALUE];

	if (flags != (expected & ~silent))
		observe_wc(v, side, "wc_flags", flags_name(wc_flag_names, "", flags, names, sizeof(names)),
			   "%s CQE: wc_flags 0x%x, expected 0x%x", side, flags, expected & ~silent);
	if (want->with_imm && got->imm_data != want->imm)
		observe_wc(v, side, "imm_data", ANOTHER, "%s CQE: imm_data 0x%08x, expected 0x%08x", side,
			   be32toh(got->imm_data), be32toh(want->imm));
	if (want->with_inv && got->invalidated_rkey != want->inv_rkey)
		observe_wc(v, side, "invalidated_rkey", ANOTHER,
			   "%s CQE: invalidated_rkey 0x%x, expected 0x%x", side, got->invalidated_rkey,
			   want->inv_rkey);
}

static const char *number(long n, char text[24])
{
	snprintf(text, 24, "%ld", n);
	return text;
}

void judge_wc(struct verdict *v, const char *side, const struct wc_expect *want, const struct ibv_wc *got)
{
	char text[24];

	judge_always_valid(v, side, want, got);
	if (got->status != IBV_WC_SUCCESS || want->status != IBV_WC_SUCCESS)
		return;
	if (got->opcode != want->opcode)
		observe_wc(v, side, "opcode", value_name(wc_names, got->opcode),
			   "%s CQE: opcode %s, expected %s", side, value_name(wc_names, got->opcode),
			   value_name(wc_names, want->opcode));
	if (want->check_len && got->byte_len != want->byte_len)
		observe_wc(v, side, "byte_len", number(got->byte_len, text),
			   "%s CQE: byte_len %u, expected %u", side, got->byte_len, want->byte_len);
	if (want->check_src && got->src_qp != want->src_qp)
		observe_wc(v, side, "src_qp", ANOTHER, "%s CQE: src_qp 0x%x, expected 0x%x", side,
			   got->src_qp, want->src_qp);
	judge_wc_flags(v, side, want, got);
}

void judge_extra_wc(struct verdict *v, const char *side, const struct ibv_wc *got)
{
	observe_wc(v, side, "extra", value_name(status_names, got->status),
		   "%s CQE that nothing asked for: wr_id 0x%" PRIx64 ", status %s", side, got->wr_id,
		   value_name(status_names, got->status));
}

void judge_missing_wc(struct verdict *v, const char *side, const struct wc_expect *want)
{
	observe_wc(v, side, "missing", value_name(wc_names, want->opcode),
		   "%s CQE %s of wr_id 0x%" PRIx64 " did not come", side, value_name(wc_names, want->opcode),
		   want->wr_id);
}

void judge_bytes(struct verdict *v, const char *what, const uint8_t *want, const uint8_t *got, size_t len)
{
	char check[VERDICT_CHECK] = "bytes.", value[VERDICT_VALUE];
	size_t first = len, wrong = 0;

	if (!memcmp(want, got, len))
		return;
	for (size_t i = 0; i < len; i++)
		if (want[i] != got[i]) {
			if (!wrong)
				first = i;
			wrong++;
		}
	for (const char *c = what; *c; c++)
		append_word(check, *c);
	snprintf(value, sizeof(value), "%zu at %zu", wrong, first);
	if (wrong)
		observe(v, check, value,
			"%s: %zu bytes are wrong, the first at offset %zu: 0x%02x, expected 0x%02x", what,
			wrong, first, got[first], want[first]);
}

void judge_errno(struct verdict *v, int rc, int declared)
{
	if (rc && declared && rc != declared)
		observe(v, "post.errno", errno_name(rc), "refused with %d (%s), the DUT file declares %s", rc,
			errno_name(rc), errno_name(declared));
}

void judge_post(struct verdict *v, const struct cell *cell, int rc, int bad, int invalid)
{
	char text[24];

	if (cell->post == POST_OK && rc)
		observe(v, "post.rc", errno_name(rc), "posting was refused with %d (%s), must be accepted",
			rc, errno_name(rc));
	if (cell->post == POST_REFUSED && !rc)
		observe(v, "post.rc", "0", "posting was accepted, must be refused");
	if (rc < 0 && cell->api != API_WR) /* ibv_wr_complete(): "will return failure" */
		observe(v, "post.rc", number(rc, text), "posting returned %d, which is no value of errno",
			rc);
	if (cell->post != POST_OK && rc && bad >= 0 && bad != cell->bad_wr)
		observe(v, "post.bad_wr", number(bad, text), "bad_wr names work request %d, expected %d", bad,
			cell->bad_wr);
	if (cell->post != POST_OK)
		judge_errno(v, rc, invalid);
}

void judge_other(struct verdict *v, enum post_expect post, int rc)
{
	if (post == POST_OK && rc)
		observe(v, "other_post.rc", errno_name(rc),
			"the posting next to it was refused with %d (%s), must be accepted", rc,
			errno_name(rc));
	if (post == POST_REFUSED && !rc)
		observe(v, "other_post.rc", "0", "the bad posting before it was accepted, must be refused");
}

void judge_create(struct verdict *v, const struct cell *cell, int err)
{
	if (cell->create == CREATE_OK && err)
		observe(v, "create.errno", errno_name(err), "set-up was refused with %s", errno_name(err));
	if (cell->create == CREATE_REFUSED && !err)
		observe(v, "create.errno", "0", "creation of the QP succeeded, must fail");
	if (cell->create == CREATE_REFUSED && err && cell->create_errno && err != cell->create_errno)
		observe(v, "create.errno", errno_name(err), "creation of the QP failed with %s, expected %s",
			errno_name(err), errno_name(cell->create_errno));
}

void judge_event(struct verdict *v, int want, bool seen)
{
	if (want == 1 && !seen)
		observe(v, "event.solicited", "none", "no completion event came for a solicited message");
	if (want == 0 && seen)
		observe(v, "event.solicited", "came", "a completion event came, nothing was solicited");
}
