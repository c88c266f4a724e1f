/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CONFORM_WINDOW_H
#define CONFORM_WINDOW_H

#include "link/link.h"
#include "execute/execute.h"

/*
 * Binds the link's type 2 window on the side that owns it, so that it can be invalidated. 0 or an errno.
 * On XRC the responder binds on its XRC_SEND QP: no request has to reach that QP (erratum XRC-WINDOW).
 */
int window_bind(struct link *l, struct log *log);
/*
 * The other side writes through the window. With `open` the bytes must arrive. Otherwise none may arrive, and on a
 * QP type with acknowledgements the write must fail, which leaves both QPs in the error state.
 */
void window_probe(struct link *l, uint32_t rkey, bool open, struct result *res);

#endif
