/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "post/threads.h"

struct race {
	struct link *link;
	struct poster *second;
	struct log log;           /* of the second thread */
	pthread_barrier_t inside; /* the first is in its critical region */
	atomic_bool knocking;     /* set just before the second calls ibv_wr_start() */
};

static void *run_second(void *arg)
{
	struct race *race = arg;
	struct poster *p = race->second;

	pthread_barrier_wait(&race->inside);
	atomic_store(&race->knocking, true);
	p->posted = post_wr(race->link, p->plans, p->num, false, &race->log);
	return NULL;
}

static void wait_knocking(void *arg)
{
	struct race *race = arg;

	pthread_barrier_wait(&race->inside);
	while (!atomic_load(&race->knocking))
		sched_yield();
	sched_yield(); /* lets the second thread enter ibv_wr_start() while the region is taken */
}

int post_threads(struct link *l, struct poster *first, struct poster *second, struct log *log)
{
	struct race race = {
		.link = l,
		.second = second,
		.log = {.calls = json_array(), .posts = log->posts ? json_array() : NULL},
	};
	const struct inside inside = {.call = wait_knocking, .arg = &race};
	pthread_t thread;
	int ret = pthread_barrier_init(&race.inside, NULL, 2);

	if (!ret) {
		ret = pthread_create(&thread, NULL, run_second, &race);
		if (!ret) {
			first->posted = post_wr_inside(l, first->plans, first->num, false, &inside, log);
			ret = pthread_join(thread, NULL);
			log_call(log, "/* a second thread, while the first is inside its region: */");
			json_array_extend(log->calls, race.log.calls);
			if (log->posts)
				json_array_extend(log->posts, race.log.posts);
		}
		pthread_barrier_destroy(&race.inside);
	}
	json_decref(race.log.calls);
	json_decref(race.log.posts);
	return ret;
}
