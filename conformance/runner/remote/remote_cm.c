/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "remote/remote_cm.h"
#include "remote/remote_internal.h"

static char step[sizeof(((struct peer_cm_answer *)0)->step)]; /* the failed step as reported by the peer */
static bool listening;

static int call_stage(struct cm *cm, enum peer_cm_stage stage, struct peer_cm_answer *answer)
{
	int err = REMOTE_ASK(cm, answer, stage);

	cm->step = "the peer's part of the connection";
	if (err || !answer->error)
		return err;
	memcpy(step, answer->step, sizeof(step) - 1);
	cm->step = step;
	return answer->error;
}

int remote_cm_listen(struct cm *cm, uint16_t *port)
{
	struct peer_cm_answer answer;
	int err;

	listening = true;
	err = call_stage(cm, PEER_CM_LISTEN, &answer);
	*port = answer.port;
	return err;
}

/* Creates local objects for the connection's objects, which the peer owns. */
static int borrow(struct cm *cm, const struct peer_cm_answer *answer)
{
	cm->peer_pd = remote_new(answer->pd, sizeof(*cm->peer_pd));
	cm->peer_cq = remote_new(answer->cq, sizeof(struct ibv_cq_ex));
	cm->peer = remote_new(answer->qp, sizeof(*cm->peer));
	if (!cm->peer_pd || !cm->peer_cq || !cm->peer)
		return errno;
	*cm->peer_pd = (struct ibv_pd){remote_context(), answer->pd};
	cm->peer_cq->context = remote_context();
	cm->peer_cq->handle = answer->cq;
	*cm->peer = (struct ibv_qp){
		.context = remote_context(),
		.pd = cm->peer_pd,
		.send_cq = cm->peer_cq,
		.recv_cq = cm->peer_cq,
		.handle = answer->qp,
		.qp_num = answer->qp_num,
		.qp_type = IBV_QPT_RC,
	};
	return 0;
}

int remote_cm_accept(struct cm *cm)
{
	struct peer_cm_answer answer;
	int err = call_stage(cm, PEER_CM_ACCEPT, &answer);

	return err ? err : borrow(cm, &answer);
}

int remote_cm_established(struct cm *cm)
{
	struct peer_cm_answer answer;

	return call_stage(cm, PEER_CM_ESTABLISHED, &answer);
}

void remote_cm_close(struct cm *cm)
{
	struct peer_cm_answer answer;

	if (!listening)
		return;
	listening = false;
	if (cm->peer)
		remote_forget(cm->peer->handle);
	if (cm->peer_cq)
		remote_forget(cm->peer_cq->handle);
	if (cm->peer_pd)
		remote_forget(cm->peer_pd->handle);
	call_stage(cm, PEER_CM_CLOSE, &answer);
}
