/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The objects of the peer process by number. */
#include <errno.h>

#include "remote/agent.h"

peer_id agent_keep(struct agent *a, enum agent_kind kind, void *object)
{
	for (peer_id id = 1; id < PEER_OBJECTS; id++) {
		if (a->objects[id].kind == KIND_NONE) {
			a->objects[id] =
				(struct agent_object){.kind = kind, .at = object, .born = ++a->births};
			return id;
		}
	}
	return 0;
}

static int destroy(enum agent_kind kind, void *object)
{
	switch (kind) {
	case KIND_PD:
		return ibv_dealloc_pd(object);
	case KIND_DM:
		return ibv_free_dm(object);
	case KIND_MR:
		return ibv_dereg_mr(object);
	case KIND_CHANNEL:
		return ibv_destroy_comp_channel(object);
	case KIND_CQ:
		return ibv_destroy_cq(object);
	case KIND_SRQ:
		return ibv_destroy_srq(object);
	case KIND_XRCD:
		return ibv_close_xrcd(object);
	case KIND_QP:
		return ibv_destroy_qp(object);
	case KIND_MW:
		return ibv_dealloc_mw(object);
	case KIND_FLOW:
		return ibv_destroy_flow(object);
	case KIND_AH:
		return ibv_destroy_ah(object);
	default:
		return EBADF;
	}
}

int agent_give(struct agent *a, enum agent_kind kind, void *object, peer_id *id)
{
	if (!object)
		return errno_of_failure();
	*id = agent_keep(a, kind, object);
	if (*id)
		return 0;
	destroy(kind, object);
	return ENFILE;
}

void *agent_find(struct agent *a, peer_id id, enum agent_kind kind, bool *bad)
{
	const struct agent_object *o = id < PEER_OBJECTS ? &a->objects[id] : NULL;

	if (!id)
		return NULL;
	if (o && o->kind == kind)
		return o->at;
	*bad = true;
	return NULL;
}

peer_id agent_number(const struct agent *a, const void *object)
{
	for (peer_id id = 1; id < PEER_OBJECTS; id++)
		if (a->objects[id].kind != KIND_NONE && a->objects[id].at == object)
			return id;
	return 0;
}

void agent_forget(struct agent *a, peer_id id)
{
	if (id && id < PEER_OBJECTS)
		a->objects[id] = (struct agent_object){};
}

int agent_destroy(struct agent *a, peer_id id)
{
	int err = id && id < PEER_OBJECTS ? destroy(a->objects[id].kind, a->objects[id].at) : EBADF;

	if (!err)
		agent_forget(a, id);
	return err;
}

static peer_id youngest(const struct agent *a)
{
	peer_id last = 0;

	for (peer_id id = 1; id < PEER_OBJECTS; id++)
		if (a->objects[id].born > a->objects[last].born)
			last = id;
	return last;
}

void agent_destroy_objects(struct agent *a)
{
	peer_id id;

	while ((id = youngest(a))) {
		if (a->objects[id].at != a->end.pd)
			destroy(a->objects[id].kind, a->objects[id].at);
		agent_forget(a, id);
	}
}
