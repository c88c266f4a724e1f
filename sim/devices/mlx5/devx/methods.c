// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The methods of DEVX: which commands each lets through, and what is checked before the adapter gets them. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "devices/mlx5/devx/devx.h"
#include "devices/mlx5/qos/qos.h"

#define HEAD          sizeof(struct hcasim_mlx5_cmd_in)
#define OPCODE(name)  HCASIM_MLX5_CMD_##name
#define MODIFY_QP     sizeof(struct hcasim_mlx5_cmd_modify_qp)
#define QUERY_COUNTER sizeof(struct hcasim_mlx5_cmd_query_flow_counter)
#define GENERAL_END   0xd00 /* opcodes from SYNC_STEERING on, and below this, are general commands */
#define GENERAL_FIRST HCASIM_MLX5_CMD_SYNC_STEERING

_Static_assert(sizeof(struct hcasim_mlx5_cmd_out) == HEAD, "heads have one size");

enum method { METHOD_OTHER, METHOD_CREATE, METHOD_MODIFY, METHOD_QUERY };

struct command {
	uint16_t opcode, min_in, min_out;
	mlx5_devx_run run;
	enum mlx5_devx_kind of; /* MODIFY, QUERY: what it is about */
};

/* A command of a ConnectX-6 that this adapter does not have. */
#define ABSENT(name)                                                                                         \
	{                                                                                                    \
		OPCODE(name), 0, 0, NULL, MLX5_DEVX_NONE                                                     \
	}

/* The ports are no bond: lag_state is 0. */
static uint8_t query_lag(struct mlx5_devx_cmd *cmd)
{
	return HCASIM_MLX5_CMD_STATUS_OK;
}

static const struct command other[] = {
	{OPCODE(QUERY_HCA_CAP), HEAD, HEAD + sizeof(struct hcasim_mlx5_hca_cap), mlx5_devx_query_hca_cap,
	 MLX5_DEVX_NONE},
	ABSENT(QUERY_ADAPTER),
	ABSENT(QUERY_ISSI),
	ABSENT(QUERY_NIC_VPORT_CONTEXT),
	ABSENT(QUERY_ROCE_ADDRESS),
	{OPCODE(QUERY_LAG), HEAD, HEAD, query_lag, MLX5_DEVX_NONE},
};
static const struct command create[] = {
	{OPCODE(CREATE_GENERAL_OBJECT), HEAD, HEAD, mlx5_devx_create_general, MLX5_DEVX_NONE},
	{OPCODE(CREATE_MKEY), sizeof(struct hcasim_mlx5_cmd_create_mkey), HEAD, mlx5_devx_create_mkey,
	 MLX5_DEVX_NONE},
	{OPCODE(ALLOC_PD), HEAD, HEAD, mlx5_devx_alloc_pd, MLX5_DEVX_NONE},
	{OPCODE(CREATE_CQ), sizeof(struct hcasim_mlx5_cmd_create_cq), HEAD, mlx5_devx_create_cq,
	 MLX5_DEVX_NONE},
	{OPCODE(CREATE_QP), sizeof(struct hcasim_mlx5_cmd_create_qp), HEAD, mlx5_devx_create_qp,
	 MLX5_DEVX_NONE},
	{OPCODE(CREATE_RMP), sizeof(struct hcasim_mlx5_cmd_create_rmp), HEAD, mlx5_devx_create_rmp,
	 MLX5_DEVX_NONE},
	{OPCODE(ALLOC_FLOW_COUNTER), HEAD, HEAD, mlx5_devx_alloc_flow_counter, MLX5_DEVX_NONE},
	{OPCODE(CREATE_TIR), sizeof(struct hcasim_mlx5_cmd_create_tir), HEAD, mlx5_devx_create_tir,
	 MLX5_DEVX_NONE},
	{OPCODE(CREATE_FLOW_TABLE), sizeof(struct hcasim_mlx5_cmd_create_flow_table), HEAD,
	 mlx5_devx_create_flow_table, MLX5_DEVX_NONE},
	{OPCODE(CREATE_FLOW_GROUP), sizeof(struct hcasim_mlx5_cmd_create_flow_group), HEAD,
	 mlx5_devx_create_flow_group, MLX5_DEVX_NONE},
	{OPCODE(SET_FLOW_TABLE_ENTRY), sizeof(struct hcasim_mlx5_cmd_set_fte), HEAD, mlx5_devx_set_flow_entry,
	 MLX5_DEVX_NONE},
	/* The others that mlx5_ib lets through (devx_is_obj_create_cmd()). */
	ABSENT(CREATE_SQ),
	ABSENT(CREATE_RQ),
	ABSENT(CREATE_RQT),
	ABSENT(CREATE_TIS),
	ABSENT(ALLOC_Q_COUNTER),
	ABSENT(CREATE_SRQ),
	ABSENT(CREATE_XRC_SRQ),
	ABSENT(CREATE_XRQ),
	ABSENT(CREATE_DCT),
	ABSENT(ALLOC_XRCD),
	ABSENT(ATTACH_TO_MCG),
	ABSENT(CREATE_PSV),
	ABSENT(CREATE_SCHEDULING_ELEMENT),
	ABSENT(ADD_VXLAN_UDP_DPORT),
	ABSENT(SET_L2_TABLE_ENTRY),
	ABSENT(ALLOC_PACKET_REFORMAT_CONTEXT),
	ABSENT(ALLOC_MODIFY_HEADER_CONTEXT),
};
static const struct command modify[] = {
	{OPCODE(RST2INIT_QP), MODIFY_QP, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(INIT2INIT_QP), MODIFY_QP, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(INIT2RTR_QP), MODIFY_QP, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(RTR2RTS_QP), MODIFY_QP, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(RTS2RTS_QP), MODIFY_QP, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(SQERR2RTS_QP), MODIFY_QP, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(TO_ERR_QP), HEAD, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(TO_RST_QP), HEAD, HEAD, mlx5_devx_modify_qp, MLX5_DEVX_QP},
	{OPCODE(MODIFY_CQ), sizeof(struct hcasim_mlx5_cmd_create_cq), HEAD, mlx5_devx_modify_cq,
	 MLX5_DEVX_CQ},
	{OPCODE(MODIFY_SQ), sizeof(struct hcasim_mlx5_cmd_modify_sq), HEAD, mlx5_devx_modify_sq,
	 MLX5_DEVX_QP},
	{OPCODE(MODIFY_GENERAL_OBJECT), sizeof(struct hcasim_mlx5_cmd_sched_elem), HEAD,
	 mlx5_devx_modify_sched_elem, MLX5_DEVX_SCHED_ELEM},
	ABSENT(SET_FLOW_TABLE_ENTRY),
};
static const struct command query[] = {
	{OPCODE(QUERY_QP), HEAD, sizeof(struct hcasim_mlx5_cmd_query_qp_out), mlx5_devx_query_qp,
	 MLX5_DEVX_QP},
	{OPCODE(QUERY_CQ), HEAD, sizeof(struct hcasim_mlx5_cmd_query_cq_out), mlx5_devx_query_cq,
	 MLX5_DEVX_CQ},
	{OPCODE(QUERY_FLOW_COUNTER), QUERY_COUNTER, HEAD + sizeof(struct hcasim_mlx5_traffic_counter),
	 mlx5_devx_query_flow_counter, MLX5_DEVX_FLOW_COUNTER},
	ABSENT(QUERY_FLOW_TABLE),
	ABSENT(QUERY_GENERAL_OBJECT),
};
#define TABLE(t)                                                                                             \
	{                                                                                                    \
		t, sizeof(t) / sizeof((t)[0])                                                                \
	}
static const struct {
	const struct command *command;
	unsigned int num;
} tables[] = {[METHOD_OTHER] = TABLE(other),
	      [METHOD_CREATE] = TABLE(create),
	      [METHOD_MODIFY] = TABLE(modify),
	      [METHOD_QUERY] = TABLE(query)};

static const struct command *find(enum method method, uint16_t opcode)
{
	static const struct command unknown;

	for (unsigned int i = 0; i < tables[method].num; i++) {
		if (tables[method].command[i].opcode == opcode)
			return &tables[method].command[i];
	}
	return method == METHOD_OTHER && opcode >= GENERAL_FIRST && opcode < GENERAL_END ? &unknown : NULL;
}

static uint8_t run(const struct command *which, struct mlx5_devx_cmd *cmd)
{
	if (!which->run)
		return HCASIM_MLX5_CMD_STATUS_BAD_OP_ERR;
	if (cmd->in_len < which->min_in)
		return HCASIM_MLX5_CMD_STATUS_BAD_INP_LEN_ERR;
	if (cmd->out_len < which->min_out)
		return HCASIM_MLX5_CMD_STATUS_BAD_OUTP_LEN_ERR;
	return which->run(cmd);
}

/* As the firmware answers; the details of an error are its own business. */
static void fill_head(struct mlx5_devx_cmd *cmd, uint8_t status)
{
	const uint32_t details = (uint32_t)status << 16 | be16toh(cmd->head.opcode);
	const struct hcasim_mlx5_cmd_out head = {
		.status = status,
		.syndrome = htobe32(status ? details : 0),
		.number = htobe32(cmd->number),
		.ece = htobe32(cmd->ece),
	};

	memcpy(cmd->out, &head, sizeof(head));
}

static int answer(struct mlx5_devx_cmd *cmd, uint8_t status, uint16_t out_id)
{
	int ret;

	fill_head(cmd, status);
	ret = cmd->call->ops->put(cmd->call, out_id, cmd->out, cmd->out_len);
	if (ret)
		return ret;
	return status ? -EREMOTEIO : 0;
}

/*
 * Objects that there are not are refused before the adapter sees the command: libraries take this for a feature that
 * is absent, and the adapter's BAD_OP_ERR for a mistake of theirs.
 */
static int execute(struct mlx5_devx_cmd *cmd, enum method method, uint16_t out_id)
{
	const struct command *which = find(method, be16toh(cmd->head.opcode));

	if (!which)
		return -EINVAL;
	if (!which->run && method != METHOD_OTHER)
		return -EOPNOTSUPP;
	return answer(cmd, run(which, cmd), out_id);
}

/* Reads the command, and clears its answer. Both are of the lengths that the program says, at most 64 KiB each. */
static int prepare(struct mlx5_devx_cmd *cmd, uint16_t in_id, size_t out_len, uint8_t **mem)
{
	const struct drv_call_ops *ops = cmd->call->ops;
	int ret;

	if (!cmd->call->ctx || !mlx5_ctx(cmd->call->ctx)->devx)
		return -EINVAL;
	cmd->in_len = ops->size(cmd->call, in_id);
	cmd->out_len = out_len;
	if (cmd->in_len < HEAD || cmd->out_len < HEAD)
		return -EINVAL;
	*mem = calloc(1, cmd->in_len + cmd->out_len);
	if (!*mem)
		return -ENOMEM;
	ret = ops->get(cmd->call, in_id, *mem, cmd->in_len);
	memcpy(&cmd->head, *mem, HEAD);
	cmd->in = *mem;
	cmd->out = *mem + cmd->in_len;
	return ret;
}

int mlx5_devx_other(struct drv_call *c)
{
	struct mlx5_devx_cmd cmd = {.call = c};
	uint8_t *mem = NULL;
	int ret = prepare(&cmd, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
			  c->ops->size(c, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT), &mem);

	if (!ret)
		ret = execute(&cmd, METHOD_OTHER, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
	free(mem);
	return ret;
}

int mlx5_devx_create(struct drv_call *c)
{
	const uint16_t in = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, out = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
	struct mlx5_devx_cmd cmd = {.call = c};
	uint8_t *mem = NULL;
	int ret = prepare(&cmd, in, c->ops->size(c, out), &mem);

	if (!ret) {
		cmd.obj = c->ops->create(c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, sizeof(*cmd.obj));
		ret = cmd.obj ? 0 : -ENOMEM;
	}
	if (!ret) {
		cmd.obj->dev = c->dev;
		cmd.obj->ctx = c->ctx;
		TAILQ_INIT(&cmd.obj->subs);
		ret = execute(&cmd, METHOD_CREATE, out);
	}
	free(mem);
	return ret;
}

/* The number of the object that a command is about. */
static uint32_t number_in(const struct mlx5_devx_cmd *cmd, const struct command *which)
{
	struct hcasim_mlx5_cmd_query_flow_counter counter = {0};

	if (which->of != MLX5_DEVX_FLOW_COUNTER)
		return HCASIM_FIELD_GET(HCASIM_MLX5_CMD_IN_OBJECT_MASK, be32toh(cmd->head.number));
	if (cmd->in_len >= sizeof(counter))
		memcpy(&counter, cmd->in, sizeof(counter));
	return be32toh(counter.flow_counter_id);
}

static bool has_number(const struct mlx5_devx_obj *obj, uint32_t number)
{
	return obj->block ? number - obj->number < obj->block : number == obj->number;
}

/*
 * The command must be about the object of the handle, if the adapter has the command. As in mlx5_ib, a queue pair of
 * verbs is such an object; there are no commands for others of verbs.
 */
static int get_object(struct mlx5_devx_cmd *cmd, enum method method, uint16_t id)
{
	const struct command *which = find(method, be16toh(cmd->head.opcode));
	void *obj = cmd->call->ops->object(cmd->call, id);
	const uint16_t type = cmd->call->ops->type(cmd->call, id);
	const bool devx = type == MLX5_IB_OBJECT_DEVX_OBJ;

	if (!obj || !which || (!devx && type != UVERBS_OBJECT_QP))
		return -EINVAL;
	if (devx) {
		cmd->obj = obj;
		cmd->qp = cmd->obj->kind == MLX5_DEVX_QP ? &cmd->obj->qp.base : NULL;
		if (!which->run)
			return 0;
		return which->of == cmd->obj->kind && has_number(cmd->obj, number_in(cmd, which)) ? 0
												  : -EINVAL;
	}
	cmd->qp = obj;
	return which->of == MLX5_DEVX_QP && !cmd->qp->rss && cmd->qp->qpn == number_in(cmd, which) ? 0
												   : -EINVAL;
}

static int on_object(struct drv_call *c, enum method method, uint16_t handle, uint16_t in, uint16_t out)
{
	struct mlx5_devx_cmd cmd = {.call = c};
	uint8_t *mem = NULL;
	int ret = prepare(&cmd, in, c->ops->size(c, out), &mem);

	if (!ret)
		ret = get_object(&cmd, method, handle);
	if (!ret)
		ret = execute(&cmd, method, out);
	free(mem);
	return ret;
}

int mlx5_devx_modify(struct drv_call *c)
{
	return on_object(c, METHOD_MODIFY, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
			 MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
}

int mlx5_devx_query(struct drv_call *c)
{
	return on_object(c, METHOD_QUERY, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
			 MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
}

/* What the program reads from its file: its number of the command, and the answer, which says whether it failed. */
static int push_answer(const struct mlx5_devx_cmd *cmd, uint64_t wr_id)
{
	struct drv_file *f = cmd->call->ops->file(cmd->call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD);
	uint8_t *rec = malloc(sizeof(wr_id) + cmd->out_len);
	int ret;

	if (!rec)
		return -ENOMEM;
	memcpy(rec, &wr_id, sizeof(wr_id));
	memcpy(rec + sizeof(wr_id), cmd->out, cmd->out_len);
	ret = mlx5_dev(cmd->call->dev)->kernel->file_push(f, rec, sizeof(wr_id) + cmd->out_len);
	free(rec);
	return ret;
}

int mlx5_devx_async_query(struct drv_call *c)
{
	const struct command *which;
	struct mlx5_devx_cmd cmd = {.call = c};
	uint64_t wr_id = 0, out_len = 0;
	uint8_t *mem = NULL;
	int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, &out_len, sizeof(out_len));

	if (!ret)
		ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, &wr_id, sizeof(wr_id));
	if (!ret && out_len > UINT16_MAX)
		ret = -EINVAL;
	if (!ret)
		ret = prepare(&cmd, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, out_len, &mem);
	if (!ret)
		ret = get_object(&cmd, METHOD_QUERY, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE);
	which = find(METHOD_QUERY, be16toh(cmd.head.opcode));
	if (!ret && !which->run)
		ret = -EOPNOTSUPP;
	if (!ret) {
		fill_head(&cmd, run(which, &cmd));
		ret = push_answer(&cmd, wr_id);
	}
	free(mem);
	return ret;
}

int mlx5_devx_query_eqn(struct drv_call *c)
{
	uint32_t vector, eqn;
	int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, &vector, sizeof(vector));

	if (ret)
		return ret;
	if (!c->ctx || vector >= COMMON_COMP_VECTORS)
		return -EINVAL;
	eqn = common_dev(c->dev)->eq[1 + vector].eqn;
	return c->ops->put(c, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

/* A page that the program knows by its place among the static ones: those that it has allocated have no other number. */
int mlx5_devx_query_uar(struct drv_call *c)
{
	const struct mlx5_ucontext *ctx = c->ctx ? mlx5_ctx(c->ctx) : NULL;
	uint32_t index;
	int ret = c->ops->get(c, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, &index, sizeof(index));

	if (ret)
		return ret;
	if (!ctx || index >= ctx->num_pages)
		return -EINVAL;
	return c->ops->put(c, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &ctx->page[index],
			   sizeof(ctx->page[index]));
}
