/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The objects of the peer process by number. */
#include <errno.h>

#include "remote/agent.h"

peer_id agent_keep(struct agent *a, enum agent_kind kind, bool lent, void *object)
{
	for (peer_id id = 1; id < PEER_OBJECTS; id++) {
		if (a->objects[id].kind == KIND_NONE) {
			a->objects[id] = (struct agent_object){
				.kind = kind, .lent = lent, .at = object, .born = ++a->births};
			return id;
		}
	}
	return 0;
}

static int destroy(enum agent_kind kind, void *object)
{
	static int (*const ends[])(void *) = {
#define AGENT_END(name, type, end) [KIND_##name] = made_##end,
		AGENT_KINDS(AGENT_END)};

	return kind ? ends[kind](object) : EBADF;
}

int agent_give(struct agent *a, enum agent_kind kind, void *object, peer_id *id)
{
	if (!object)
		return errno_of_failure();
	*id = agent_keep(a, kind, false, object);
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
	const struct agent_object *o = id < PEER_OBJECTS ? &a->objects[id] : &a->objects[0];
	int err = o->lent ? EBUSY : destroy(o->kind, o->at);

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
		if (a->objects[id].at != a->end.pd && !a->objects[id].lent)
			destroy(a->objects[id].kind, a->objects[id].at);
		agent_forget(a, id);
	}
}
