/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The server's part of a connection. The runner may use its objects; they are destroyed with the connection. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "remote/agent.h"

void agent_close_connection(struct agent *a)
{
	for (peer_id id = 1; id < PEER_OBJECTS; id++)
		if (a->objects[id].lent)
			agent_forget(a, id);
	cm_close(&a->cm);
}

static int lend(struct agent *a, struct peer_cm_answer *answer)
{
	answer->pd = agent_keep(a, KIND_PD, true, a->cm.peer_pd);
	answer->cq = agent_keep(a, KIND_CQ, true, a->cm.peer_cq);
	answer->qp = agent_keep(a, KIND_QP, true, a->cm.peer);
	answer->qp_num = a->cm.peer->qp_num;
	return answer->pd && answer->cq && answer->qp ? 0 : ENFILE;
}

int agent_cm(struct agent_cm *c)
{
	struct peer_cm_answer *answer = c->answer;
	struct agent *a = c->a;
	uint16_t port = 0;

	a->cm.step = "stage";
	switch (c->call->stage) {
	case PEER_CM_LISTEN:
		agent_close_connection(a);
		answer->error = cm_listen(&a->cm, a->end.address, &port);
		answer->port = port;
		break;
	case PEER_CM_ACCEPT:
		answer->error = a->cm.listener && !a->cm.server ? cm_accept(&a->cm, a->timeout_ms) : EINVAL;
		if (!answer->error)
			answer->error = lend(a, answer);
		break;
	case PEER_CM_ESTABLISHED:
		answer->error = a->cm.server ? cm_established(&a->cm, a->timeout_ms) : EINVAL;
		break;
	case PEER_CM_CLOSE:
		agent_close_connection(a);
		return 0;
	default:
		return EINVAL;
	}
	snprintf(answer->step, sizeof(answer->step), "%s", a->cm.step);
	return 0;
}
