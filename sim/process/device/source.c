// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Event sources of the loop: descriptors, and their objects. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "process/device/server.h"

int source_watch(struct server *s, int fd, struct source *source)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = source};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void source_bury(struct server *s, struct source *source)
{
	source->kind = SOURCE_DEAD;
	STAILQ_INSERT_TAIL(&s->graveyard, source, grave);
}

void source_free_buried(struct server *s)
{
	struct source *source;

	/* Every buried object starts with its source. */
	while ((source = STAILQ_FIRST(&s->graveyard))) {
		STAILQ_REMOVE_HEAD(&s->graveyard, grave);
		free(source);
	}
}
