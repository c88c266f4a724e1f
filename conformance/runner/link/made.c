/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "link/made.h"

static struct {
	pthread_mutex_t lock; /* scenarios may have several threads */
	bool active;
	size_t num, room;
	struct made {
		int (*end)(void *object);
		const char *name;
		void *object;
	} * list; /* the last that was created is the last */
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define MADE_END(destroy)                                                                                    \
	int made_##destroy(void *object)                                                                     \
	{                                                                                                    \
		return destroy(object);                                                                      \
	}
MADE_ENDS(MADE_END)

int made_unimport_dm(void *dm)
{
	ibv_unimport_dm((struct ibv_dm *)dm);
	return 0;
}

int made_unimport_mr(void *mr)
{
	ibv_unimport_mr((struct ibv_mr *)mr);
	return 0;
}

int made_unimport_pd(void *pd)
{
	ibv_unimport_pd((struct ibv_pd *)pd);
	return 0;
}

void made_begin(void)
{
	made.active = true;
}

/* Ends the windows, or everything; *failed: the first call that fails. */
static void end(bool windows, const char **failed, int *err)
{
	for (size_t i = made.num; i-- > 0;) {
		const struct made one = made.list[i];
		int ret;

		if (!one.object || (windows && one.end != made_ibv_dealloc_mw))
			continue;
		made.list[i].object = NULL;
		ret = one.end(one.object);
		if (ret && !*failed) {
			*failed = one.name;
			*err = ret;
		}
	}
}

const char *made_end(int *err)
{
	const char *failed = NULL;

	end(true, &failed, err); /* neither the QP nor the region of a bound window ends before it */
	end(false, &failed, err);
	made.active = false;
	made.num = made.room = 0;
	free(made.list);
	made.list = NULL;
	return failed;
}

static void add(struct made one)
{
	if (made.num == made.room) {
		size_t room = 2 * made.room + 64;
		struct made *list = realloc(made.list, room * sizeof(*list));

		if (!list)
			return; /* it stays until the process ends */
		made.list = list;
		made.room = room;
	}
	made.list[made.num++] = one;
}

void made_later(int (*end)(void *object), const char *name, void *object)
{
	pthread_mutex_lock(&made.lock);
	if (made.active)
		add((struct made){end, name, object});
	pthread_mutex_unlock(&made.lock);
}

/* Of two with this address the first is gone: another thread has got the second since. */
void made_forget(const void *object)
{
	size_t i = 0;

	pthread_mutex_lock(&made.lock);
	while (i < made.num && made.list[i].object != object)
		i++;
	if (i < made.num)
		memmove(&made.list[i], &made.list[i + 1], (--made.num - i) * sizeof(made.list[0]));
	pthread_mutex_unlock(&made.lock);
}

static int end_memory(void *memory)
{
	free(memory);
	return 0;
}

void *made_zeroed(size_t num, size_t size)
{
	void *memory = calloc(num, size);

	if (memory)
		made_later(end_memory, "free", memory);
	return memory;
}

void made_free(void *memory)
{
	made_forget(memory);
	free(memory);
}

struct pages {
	void *at;
	size_t size;
};

static int end_pages(void *object)
{
	struct pages *pages = object;

	munmap(pages->at, pages->size);
	free(pages);
	return 0;
}

void *made_pages(size_t size, int flags)
{
	struct pages *pages = malloc(sizeof(*pages));
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (!pages || at == MAP_FAILED) {
		free(pages);
		return NULL;
	}
	*pages = (struct pages){at, size};
	made_later(end_pages, "munmap", pages);
	return at;
}
