/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The adapter as a whole: the stages that use several sub-folders, and creation of its objects. */
#ifndef HCASIM_CORE_STAGES_H
#define HCASIM_CORE_STAGES_H

#include "core/base/base.h"

/* doorbell.c */
bool doorbell_pending(const struct hca *hca, struct hca_work *w);
void doorbell_step(struct hca *hca);
void doorbell_forget(struct hca *hca, struct qp *qp);
void doorbell_free(struct hca *hca);

/* complete.c */
bool complete_pending(const struct hca *hca, struct hca_work *w);
void complete_step(struct hca *hca);
hca_ps complete_since(const struct hca *hca);
void complete_head(const struct hca *hca, struct hca_seen *head); /* see hca_stage_head() */
void complete_changed(struct hca *hca, struct qp *qp);            /* of struct parts */

/* qp.c */
void qp_clear(struct hca *hca, struct qp *qp);

#endif
