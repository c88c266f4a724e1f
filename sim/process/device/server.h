/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device process: serves applications, and runs the machine and the simulated kernel. One thread. */
#ifndef HCASIM_PROCESS_SERVER_H
#define HCASIM_PROCESS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "containers/table.h"
#include "kernel/kernel.h"
#include "timing/machine.h"

#include "process/proto.h"
#include "process/ring.h"

struct server;

/* Object of an epoll event. First member of each such object. */
struct source {
	enum source_kind {
		SOURCE_LISTENER,
		SOURCE_SIGNAL,
		SOURCE_LAUNCHER,
		SOURCE_FILE,
		SOURCE_PROCESS,
		SOURCE_CONN,
		SOURCE_EVENTS,
		SOURCE_DEAD /* closed in this round, freed after it */
	} kind;
	STAILQ_ENTRY(source) grave;
};

/* ---- source.c ------------------------------------------------------------------------------------- */

int source_watch(struct server *s, int fd, struct source *source);
/* Frees the object after the current round of events. */
void source_bury(struct server *s, struct source *source);
/* It is. */
void source_free_buried(struct server *s);

/* ---- mm.c: address spaces of applications -------------------------------------------------------- */

struct grant {                  /* a BAR page that an application has mapped */
	struct table_node node; /* in its address space's table */
	struct table_node any;  /* in the server's, as long as the address space is alive */
	LIST_ENTRY(grant) link;
	uint32_t count;
};

struct mm {
	struct source source; /* SOURCE_PROCESS: its pidfd is readable */
	struct table_node by_pasid, by_image;
	struct table_node by_pid; /* unless it is dead */
	struct server *server;
	uint32_t pasid;
	pid_t pid;
	int pidfd; /* -1: none (the process is dead, or the kernel has no pidfds) */
	int mem;   /* descriptor of its /proc/self/mem; -1: process_vm_readv and process_vm_writev work */
	bool dead; /* exited, or has executed another program */
	uint64_t pinned; /* pages that adapters hold */
	uint64_t image;
	unsigned int refs;
	struct task task;
	struct table grants;
	LIST_HEAD(, grant) all_grants;
};

/* The address space `image` of process `pid`, with a reference. NULL: no memory. */
struct mm *mm_get(struct server *s, pid_t pid, uint64_t image);
void mm_ref(struct mm *mm);
void mm_put(struct mm *mm);
void mm_dead(struct mm *mm);
struct mm *mm_find(struct server *s, uint32_t pasid);
struct mm *mm_of_image(struct server *s, uint64_t image);
int mm_grant(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len);
void mm_revoke(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len);
/* The same for all pages, for fork. */
void mm_inherit(struct mm *child, const struct mm *parent);
/* True if a running application maps one of the pages. */
bool mm_any_maps(const struct server *s, uint32_t hca, uint32_t bar, uint64_t offset, uint64_t len);
bool mm_may_access(struct mm *mm, uint32_t hca, uint32_t bar, uint64_t offset, uint32_t size);

/* ---- usermem.c: reaching into applications --------------------------------------------------------- */

extern const struct task_ops usermem_task_ops;
/* `mem`: as in struct mm. 0 or -EFAULT; -EPERM if the system forbids it altogether. */
int usermem_read(pid_t pid, int mem, const struct hca_dma_seg *seg, uint32_t nseg, void *buf);
int usermem_write(pid_t pid, int mem, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf);

/* A file of the task's folder in /proc, or -1. */
int usermem_open(const struct task *t, const char *what);

/* pinnable.c: task_ops.pin_check and access_check */
int pinnable(struct task *t, uint64_t addr, uint64_t len, bool write);
int accessible(struct task *t, uint64_t addr, uint64_t len, bool write);

/* memlock.c: task_ops.capable, pin and unpin */
bool task_capable(struct task *t, unsigned int capability);
int memlock_pin(struct task *t, uint64_t pages);
void memlock_unpin(struct task *t, uint64_t pages);

/* The address space of a task. */
static inline struct mm *mm_of_task(struct task *t)
{
	return (struct mm *)(void *)((char *)t - offsetof(struct mm, task));
}

/* ---- dmabuf.c: memory behind descriptors of applications -------------------------------------------- */

/*
 * task_ops.dmabuf_get. Also -EMFILE, -ENFILE, -ENOMEM; -EACCES, -EPERM: not mappable for writing, or access denied.
 */
/* The task's descriptor as one of this process, or -EBADF, -EPERM, ... */
int task_get_fd(struct task *t, int fd);
int dmabuf_attach(struct task *t, int fd, struct dmabuf **out);
/* Pieces from or to `buf`. 0, or -EFAULT: there is no such attachment, or a piece is out of bounds. */
int dmabuf_move(const struct server *s, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg,
		uint8_t *buf, bool write);

/* ---- shared_ring.c: MMIO rings ------------------------------------------------------------------------- */

struct shared_ring { /* the device process's view of an application's MMIO ring */
	struct ring *ring;
	uint64_t pos;
	unsigned int refs;
	bool more; /* the last entry was part of a burst that continues */
	uint32_t
		stack[RING_STACKS]; /* stacks.c's: the trace's number of each backtrace; 0: not written yet */
	char *maps; /* stacks.c's: of the process, when its last new backtrace was written; NULL: none */
	uint16_t cpu[RING_THREADS]; /* cpus.c's: of each thread, from 1; 0: none yet */
};

/* NULL: no memory, or no descriptors left (errno). `memfd` is for the application. */
struct shared_ring *shared_ring_create(int *memfd);
void shared_ring_put(struct shared_ring *sr);
/* The application's thread that waits for this slot goes on; a number that is too large is ignored. */
void shared_ring_answer(struct shared_ring *sr, uint16_t reply);
/* Threads that wait for space go on. */
void shared_ring_room(struct shared_ring *sr);

/* ---- conn.c: control connections --------------------------------------------------------------------- */

struct conn {
	struct source source;
	LIST_ENTRY(conn) link;
	LIST_ENTRY(conn) awake_link;
	bool awake;         /* its ring is polled in every round; otherwise the application kicks us */
	unsigned int quiet; /* rounds since the last entry in its ring */
	struct server *server;
	int fd;
	pid_t pid;
	int mem;       /* descriptor that came with a request before HELLO has succeeded; -1: none */
	struct mm *mm; /* NULL before HELLO */
	struct shared_ring *ring; /* NULL before HELLO */
};

void conn_accept(struct server *s, int listener);
/* One message. */
void conn_serve(struct conn *c);
void conn_close(struct conn *c);
/* Processes up to `budget` entries of the ring. True if there were any. */
bool conn_drain(struct conn *c, unsigned int budget);
/* An entry takes effect now. */
void conn_carry_out(struct conn *c, const struct ring_op *op);
/* A request is executed, and answered. The connection may be gone afterwards. */
void conn_answer(struct conn *c, const struct proto_req *req);
/* True during a burst of stores: the next one will follow within nanoseconds of a real processor. */
bool conn_in_burst(const struct conn *c);
/* The next store of the burst is late: stop waiting for it. */
void conn_end_burst(struct conn *c);
bool conn_ring_empty(const struct conn *c);
/* Tells the program whether a store needs a kick: a server that waits in its sockets does not look at the ring. Waits for nothing. */
void conn_ring_want_kick(struct conn *c, bool wanted);

/* ---- cpus.c: the CPUs of the simulated machine --------------------------------------------------------- */

/* The CPU on which thread `thread` of an application runs. */
unsigned int cpu_of(struct server *s, struct shared_ring *ring, unsigned int thread);
/* The application has ended. */
void cpus_release(struct server *s, struct shared_ring *ring);

/* ---- stacks.c: posts.log -------------------------------------------------------------------------------- */

/* The number in the trace of the program's backtrace `stack`, which is written if it is new; 0: none. */
uint32_t stack_number(struct conn *c, uint32_t stack);
/* What a library refused: a record of verbs.log with the members in `text`. */
void stack_report(struct conn *c, const struct proto_req *req, const char *text, uint32_t len);
/* A store takes effect. */
void stack_store(struct conn *c, const struct ring_op *op);

/* ---- waits.c: who waits for what ------------------------------------------------------------------------ */

/* A program has asked for something. */
void waits_stirred(struct server *s);
/* For how long the server may sleep, of `ns` nanoseconds from `now` on. Writes the records when they are due. */
uint64_t waits_due(struct server *s, uint64_t ns, uint64_t now);

/* ---- file.c: opened device files ------------------------------------------------------------------------ */

struct file {
	struct source source;
	LIST_ENTRY(file) link;
	struct table_node by_id;
	struct server *server;
	uint64_t id;
	int fd; /* our end of the pair */
	struct kfile *kfile;
	struct table users; /* address spaces that used it: they may own objects of it */
	LIST_HEAD(, file_user) all_users;
};

/* Opens `name` for `mm`; *app_fd is the application's descriptor. 0 or -errno. */
int file_create(struct server *s, struct mm *mm, const char *name, int oflags, int *app_fd);
struct file *file_find(struct server *s, uint64_t id);
/* From now on the file's objects may refer to `mm`. */
int file_use(struct file *f, struct mm *mm);
/* Its socket is readable: end of file releases it. */
void file_event(struct file *f);
void file_close(struct file *f);

/* ---- server.c ----------------------------------------------------------------------------------------------- */

struct server {
	struct machine *machine;
	struct kernel *kernel;
	int epoll;
	int listener;
	bool stop;
	bool active; /* the machine has work: simulated time is not tied to the wall clock */
	uint64_t next_file;
	int spare; /* spare descriptor, closed to accept a connection when no other is left */
	uint32_t last_pasid;
	uint16_t cpu_users[MACHINE_CPUS]; /* threads on each CPU */
	struct table mms_by_pasid, mms_by_image, mms_by_pid;
	struct table dmabufs; /* attachments, by PASID */
	struct table grants;  /* of all that are alive */
	struct table files_by_id;
	LIST_HEAD(, file) files;
	LIST_HEAD(, conn) conns, awake;
	STAILQ_HEAD(, source) graveyard;
	uint64_t wall; /* ns: wall clock up to here has been accounted for */
	hca_ps behind; /* simulated time that may still pass */
	bool virtual_clock;
	bool no_memlock;  /* RLIMIT_MEMLOCK is ignored */
	uint16_t release; /* of Linux */
	struct machine_cpu cpu;
	LIST_HEAD(, vthread) threads; /* process/clock */
	uint64_t arrivals;            /* at locks */
	bool given;                   /* something that programs may see has changed */
	bool stalls;                  /* a thread may be in STALLS */
	unsigned int long_runs;
	hca_ps asleep_at;         /* all threads sleep from here on, and from `wall` on */
	uint64_t quiet_since;     /* ns: programs have asked for nothing since then */
	bool stirred, waits_said; /* a program has asked for something; the records are written */
	uint32_t num_stacks;      /* in the trace */
	bool perm_said;           /* the message about forbidden memory access */
	bool mem_said;            /* the message about /proc/self/mem */
};

/* Polls its ring from now on, until it has been empty for long. */
void server_wake(struct server *s, struct conn *c);
/* Serves until asked to stop (SIGTERM, SIGINT, or the other end of `launcher` is closed). */
void server_run(struct server *s, int signal_fd, int launcher);
void server_close_all(struct server *s);
/* Takes what is in rings and sockets. True if there was anything in the rings. */
bool server_input(struct server *s);
/* The host's clock. */
uint64_t server_wall_ns(void);
/* Waits for input in rings and sockets, for at most `ns` nanoseconds. False: there is none. */
bool server_wait_input(struct server *s, uint64_t ns);
/* Simulated time catches up with the wall clock, before new stimulus. */
void server_catch_up(struct server *s);

#endif
