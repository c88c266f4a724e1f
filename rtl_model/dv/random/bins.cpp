// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <algorithm>
#include <cstdio>

#include <hcasim_hw.h>
#include <hcasim_ops.h>
#include <hcasim_verbs.h>

#include "bins.hpp"

namespace
{

enum Data : uint8_t { NONE, INLINE, SGE, SGES };

constexpr uint8_t TYPES[] = {HCASIM_QPT_RC, HCASIM_QPT_UC, HCASIM_QPT_UD, HCASIM_QPT_XRC_SEND,
			     HCASIM_QPT_RAW_PACKET};
const char *const setters[] = {"no data", "set_inline_data", "set_sge", "set_sge_list"};

struct Cell { // an operation on a QP type that carries it out
	uint8_t op, type;
	const struct hcasim_wqe_op_info *info;
	const struct hcasim_wr_rule *rule; // NULL: no ibv_wr_*
	uint8_t data;                      // enum hcasim_wqe_data
	bool reliable;
};

bool takes(const Cell &c, uint8_t data)
{
	switch (c.data) {
	case HCASIM_WQE_DATA_NONE:
		return data == NONE;
	case HCASIM_WQE_DATA_INLINE:
		return data == INLINE;
	case HCASIM_WQE_DATA_GATHER:
		if (data == NONE)
			return c.type != HCASIM_QPT_RAW_PACKET; // a frame has at least its header
		return data != INLINE || (c.rule && c.rule->inline_ok);
	default:
		return data == SGE || (data != INLINE && !c.info->length);
	}
}

// A WQE with this setter can end so.
bool can_end(const Cell &c, uint8_t data, uint8_t status)
{
	switch (status) {
	case HCASIM_CQE_STATUS_OK:
	case HCASIM_CQE_STATUS_WR_FLUSH_ERR:
		return true;
	case HCASIM_CQE_STATUS_LOC_PROT_ERR:
		return data == SGE || data == SGES;
	case HCASIM_CQE_STATUS_MW_BIND_ERR:
		return c.info->local && c.op != HCASIM_WQE_OP_NOP;
	case HCASIM_CQE_STATUS_BAD_RESP_ERR:
	case HCASIM_CQE_STATUS_REM_INV_REQ_ERR:
	case HCASIM_CQE_STATUS_REM_ACCESS_ERR:
	case HCASIM_CQE_STATUS_REM_OP_ERR:
	case HCASIM_CQE_STATUS_RETRY_EXC_ERR:
	case HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR:
		return c.reliable && !c.info->local;
	default:
		return false;
	}
}

// Its WQE is refused so, whatever the setter.
bool can_be_refused(const Cell &c, uint8_t status)
{
	return status == HCASIM_CQE_STATUS_LOC_QP_OP_ERR ||
	       (status == HCASIM_CQE_STATUS_LOC_LEN_ERR && c.data != HCASIM_WQE_DATA_NONE);
}

template <class Function>
void each_cell(Function function)
{
	for (uint8_t op = 0; hcasim_wqe_op_info(op); op++)
		for (uint8_t type : TYPES) {
			const struct hcasim_wqe_op_info *info = hcasim_wqe_op_info(op);

			if (info->qp_types & HCASIM_QPT_BIT(type))
				function(Cell{op, type, info, hcasim_wr_rule_of_wqe_op(op),
					      hcasim_wqe_format(op)->data,
					      type == HCASIM_QPT_RC || type == HCASIM_QPT_XRC_SEND});
		}
}

// Flags that have an effect.
uint32_t flags_of(const Cell &c)
{
	const auto at = HCASIM_QPT_BIT(c.type);

	return HCA_WR_SIGNALED | (c.rule && c.rule->solicited_qp_types & at ? HCA_WR_SOLICITED : 0) |
	       (c.rule && c.rule->fence_qp_types & at ? HCA_WR_FENCE : 0) |
	       (c.rule && c.rule->csum_qp_types & at ? HCA_WR_IP_CSUM : 0);
}

const char *flag_name(uint32_t flag)
{
	return flag == HCA_WR_SIGNALED    ? "SIGNALED"
	       : flag == HCA_WR_SOLICITED ? "SOLICITED"
	       : flag == HCA_WR_FENCE     ? "FENCE"
					  : "IP_CSUM";
}

} // namespace

Bins::Wqe Bins::of(const hca_wr &wr, uint8_t qp_type)
{
	const Data data = wr.flags & HCA_WR_INLINE ? INLINE : wr.num_sge > 1 ? SGES : wr.num_sge ? SGE : NONE;

	return {wr.op, qp_type, data, (uint8_t)wr.flags};
}

template <class Match>
unsigned int Bins::line(FILE *out, uint8_t op, uint8_t type, const char *what, uint8_t status,
			Match match) const
{
	const bool met = std::any_of(met_.begin(), met_.end(), [&](const Met &m) {
		return m.wqe.op == op && m.wqe.qp_type == type && m.status == status && match(m.wqe);
	});

	fprintf(out, "%s|%s|%s|%s|%d\n", hcasim_wqe_op_name(op), hcasim_qpt_name(type), what,
		hcasim_cqe_status_name(status), met);
	return !met;
}

unsigned int Bins::write_setters(FILE *out) const
{
	unsigned int missing = 0;

	each_cell([&](const Cell &c) {
		for (uint8_t status = 0; status <= HCASIM_CQE_STATUS_RNR_RETRY_EXC_ERR; status++) {
			for (uint8_t data : {NONE, INLINE, SGE, SGES})
				if (takes(c, data) && can_end(c, data, status))
					missing += line(out, c.op, c.type, setters[data], status,
							[&](const Wqe &w) { return w.data == data; });
			if (can_be_refused(c, status))
				missing += line(out, c.op, c.type, "any", status,
						[](const Wqe &) { return true; });
		}
	});
	return missing;
}

unsigned int Bins::write_flags(FILE *out) const
{
	unsigned int missing = 0;

	each_cell([&](const Cell &c) {
		for (uint32_t flag : {HCA_WR_SIGNALED, HCA_WR_SOLICITED, HCA_WR_FENCE, HCA_WR_IP_CSUM})
			for (bool set : {false, true})
				for (uint8_t status :
				     {HCASIM_CQE_STATUS_OK, HCASIM_CQE_STATUS_WR_FLUSH_ERR}) {
					char what[32];

					snprintf(what, sizeof(what), "%s%s", set ? "" : "no ",
						 flag_name(flag));
					if (flags_of(c) & flag)
						missing += line(out, c.op, c.type, what, status,
								[&](const Wqe &w) {
									return set == !!(w.flags & flag);
								});
				}
	});
	return missing;
}
