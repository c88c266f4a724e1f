// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* hcasim-device: a simulated machine. Started by `hcasim run`. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "devices/family.h"
#include "engines/select.h"
#include "record/record.h"
#include "process/device/server.h"
#include "process/slices.h"
#include "process/device/crash_cleanup.h"

/* Exit status for a wrong option, file or figure, as that of `hcasim run`. */
#define EXIT_WRONG 2

struct options {
	const char *runtime, *profile, *trace, *record, *fault, *engine, *wave;
	const char *device, *hcas_text;
	const struct drv_ops *family[DEVICE_MAX_HCAS]; /* of each adapter */
	unsigned int hcas;
	uint64_t seed;
	uint16_t release;
	int launcher;
	bool no_events, virtual_clock, no_memlock;
};

static const struct argp_option option_list[] = {
	{"runtime", 'r', "DIR", 0,
	 "existing empty folder for the socket, sysfs and device files; removed at the end", 0},
	{"hcas", 'n', "N", 0, "number of adapters, 1 to 16, or the device family of each one: NAME,... (1)",
	 0},
	{"device", 'd', "NAME", 0, "device family (" DEVICE_FAMILY_DEFAULT ")", 0},
	{"profile", 'p', "FILE", 0, "timing profile", 0},
	{"engine", 'e', "NAME", 0, "send engine: c, a shared library, or lockstep: and one of these (c)", 0},
	{"wave", 'w', "FILE", 0, "lockstep: waveform of the second engine before the first difference", 0},
	{"kernel", 'k', "RELEASE", 0, "Linux whose ABI libraries find: 6.1, latest (latest)", 0},
	{"trace", 't', "DIR", 0, "write traces to this folder", 0},
	{"no-events", 'E', 0, 0, "no events.log in the traces", 0},
	{"record", 'R', "FILE", 0, "write a record for hcasim replay to this file", 0},
	{"fault", 'f', "SPEC", 0, "faults to inject", 0},
	{"no-memlock", 'm', 0, 0, "ignore RLIMIT_MEMLOCK", 0},
	{"seed", 's', "N", 0, "seed of all random choices (1)", 0},
	{"clock", 'c', "NAME", 0,
	 "wall, or virtual: simulated time passes by what device and profile say (wall)", 0},
	{"launcher-fd", 'l', "FD", 0, "READY is written to it; its end of file ends this process", 0},
	{0},
};

static uint64_t parse_number(struct argp_state *state, const char *name, const char *text, uint64_t max)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || v > max)
		argp_error(state, "--%s is '%s': not a number from 0 to %llu", name, text,
			   (unsigned long long)max);
	return v;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char err[256];

	switch (key) {
	case 'r':
		o->runtime = arg;
		break;
	case 'n':
		o->hcas_text = arg;
		break;
	case 'd':
		o->device = arg;
		break;
	case 'p':
		o->profile = arg;
		break;
	case 'e':
		o->engine = arg;
		break;
	case 'w':
		o->wave = arg;
		break;
	case 'k':
		if (abi_release(arg, &o->release))
			argp_error(state, "--kernel is '%s': available are 6.1 and latest", arg);
		break;
	case 't':
		o->trace = arg;
		break;
	case 'E':
		o->no_events = true;
		break;
	case 'm':
		o->no_memlock = true;
		break;
	case 'R':
		o->record = arg;
		break;
	case 'f':
		o->fault = arg;
		break;
	case 'c':
		o->virtual_clock = !strcmp(arg, "virtual");
		if (!o->virtual_clock && strcmp(arg, "wall"))
			argp_error(state, "--clock is '%s': available are wall and virtual", arg);
		break;
	case 's':
		o->seed = parse_number(state, "seed", arg, UINT64_MAX);
		break;
	case 'l':
		o->launcher = (int)parse_number(state, "launcher-fd", arg, INT32_MAX);
		break;
	case ARGP_KEY_END:
		if (!o->runtime || !o->profile)
			argp_error(state, "--runtime and --profile are needed");
		o->hcas = device_families(o->device, o->hcas_text, o->family, err, sizeof(err));
		if (!o->hcas)
			argp_error(state, "--%s is %s", device_family(o->device) ? "hcas" : "device", err);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "hcasim-device: %s %s: %s\n", what, name, strerror(errno));
	return -1;
}

/* ---- The folder --------------------------------------------------------------------------------- */

static int make_folder(const char *runtime, const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", runtime, name);
	if (mkdir(path, 0755) && errno != EEXIST)
		return fail("cannot make", path);
	return 0;
}

/* Entries of /dev/infiniband, so that it can be listed; opening one goes over the control channel. */
static int make_device_entry(struct kernel *kernel, const char *folder, const char *name)
{
	char path[512];
	dev_t rdev;
	int fd;

	if (kernel_stat(kernel, name, &rdev))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail("cannot make", path);
	fchmod(fd, 0666);
	close(fd);
	return 0;
}

static int make_devices(struct kernel *kernel, const char *runtime, unsigned int hcas)
{
	char folder[400], name[32];
	int ret = make_folder(runtime, PROTO_EMPTY_NAME, folder, sizeof(folder));

	if (!ret)
		ret = make_folder(runtime, "dev", folder, sizeof(folder));
	if (!ret)
		ret = make_folder(runtime, PROTO_DEV_NAME, folder, sizeof(folder));
	for (unsigned int i = 0; i < hcas && !ret; i++) {
		snprintf(name, sizeof(name), "uverbs%u", i);
		ret = make_device_entry(kernel, folder, name);
	}
	if (!ret)
		ret = make_device_entry(kernel, folder, "rdma_cm");
	return ret;
}

/* PROTO_PROVIDERS_NAME */
static int name_providers(const struct server *s, const struct options *o)
{
	char path[400];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" PROTO_PROVIDERS_NAME, o->runtime);
	file = fopen(path, "we");
	for (unsigned int i = 0; file && i < o->hcas; i++) {
		const struct drv_ops *ops = o->family[i];

		fprintf(file, "%s %s PCI ID %04x:%04x, ABI version %u\n",
			machine_hca_config(s->machine, i)->name, ops->provider, ops->pci_vendor,
			ops->pci_device, ops->uverbs_abi);
	}
	return !file || fclose(file) ? fail("cannot write", path) : 0;
}

static int make_listener(const char *runtime)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, n;

	n = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" PROTO_SOCKET_NAME, runtime);
	if (n >= (int)sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return fail("socket in", runtime);
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Everyone who can enter the folder may connect, as for /dev/infiniband. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || chmod(addr.sun_path, 0666) ||
	    listen(fd, 128))
		return fail("cannot listen on", addr.sun_path);
	return fd;
}

/* ---- What the machine asks of its host ---------------------------------------------------------- */

static int dma_status(struct server *s, const struct mm *mm, int ret)
{
	if (ret == -EPERM && !s->perm_said) {
		s->perm_said = true;
		fprintf(stderr,
			"hcasim-device: reading or writing the memory of process %d is not permitted: its "
			"requests fail, or never complete. Set kernel.yama.ptrace_scope to 0 or 1, or "
			"allow process_vm_readv and process_vm_writev in the container's seccomp profile; "
			"a program that is another user's, or not dumpable (prctl(2), PR_SET_DUMPABLE), "
			"takes a machine with the capability SYS_PTRACE\n",
			(int)mm->pid);
	}
	return ret ? -EFAULT : 0;
}

static int mem_read(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, void *buf)
{
	struct mm *mm = mm_find(ctx, pasid);

	if (!mm)
		return dmabuf_move(ctx, pasid, seg, nseg, buf, false);
	if (mm->dead)
		return -EFAULT;
	return dma_status(ctx, mm, usermem_read(mm->pid, mm->mem, seg, nseg, buf));
}

static int mem_write(void *ctx, uint32_t pasid, const struct hca_dma_seg *seg, uint32_t nseg, const void *buf)
{
	struct mm *mm = mm_find(ctx, pasid);

	if (!mm)
		return dmabuf_move(ctx, pasid, seg, nseg, (uint8_t *)buf, true);
	if (mm->dead)
		return -EFAULT;
	return dma_status(ctx, mm, usermem_write(mm->pid, mm->mem, seg, nseg, buf));
}

static void irq(void *ctx, unsigned int hca, unsigned int vector)
{
	struct server *s = ctx;

	s->given = true;
	kernel_irq(s->kernel, hca, vector);
}

static struct task *find_task(void *arg, uint32_t pasid)
{
	struct mm *mm = mm_find(arg, pasid);

	return mm ? &mm->task : NULL;
}

static hca_ps now(void *arg)
{
	struct server *s = arg;

	return machine_now(s->machine);
}

static bool bar_mapped(void *arg, unsigned int hca, unsigned int bar, uint64_t offset, uint64_t length)
{
	return mm_any_maps(arg, hca, bar, offset, length);
}

/* Nothing after the first difference would mean anything. The traces are written as far as they are. */
static void engines_differ(const char *report)
{
	fputs(report, stderr);
	fflush(NULL);
	_exit(EXIT_FAILURE);
}

/* ---- Start and end --------------------------------------------------------------------------------- */

static int start_machine(struct server *s, const struct options *o)
{
	static const struct machine_host_ops ops = {.mem_read = mem_read, .mem_write = mem_write, .irq = irq};
	const struct engine_choice engine = {.name = o->engine, .wave = o->wave, .stop = engines_differ};
	const struct hca_personality *personalities[DEVICE_MAX_HCAS];
	struct machine_config cfg = {.num_hcas = o->hcas,
				     .profile = o->profile,
				     .trace_dir = o->trace,
				     .no_events = o->no_events,
				     .fault = o->fault,
				     .seed = o->seed,
				     .personalities = personalities};
	char err[512] = "", names[256] = "";
	bool mixed = false;

	for (unsigned int i = 0; i < o->hcas; i++) {
		personalities[i] = o->family[i]->personality;
		mixed |= o->family[i] != o->family[0];
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? "," : "",
			 o->family[i]->name);
	}
	cfg.engine = engine_select(&engine, err, sizeof(err));
	if (cfg.engine && o->record)
		s->machine = record_machine(o->record, mixed ? names : o->family[0]->name, o->engine, cfg,
					    &ops, s, err, sizeof(err));
	else if (cfg.engine)
		s->machine = machine_create(&cfg, &ops, s, err, sizeof(err));
	if (!s->machine)
		fprintf(stderr, "hcasim-device: %s\n", err);
	return s->machine ? 0 : -1;
}

static int start_kernel(struct server *s, const struct options *o)
{
	const struct drv_ops *drvs[DEVICE_MAX_HCAS];
	struct kernel_config cfg = {.num_devices = o->hcas,
				    .drvs = drvs,
				    .release = o->release,
				    .now = now,
				    .now_arg = s,
				    .find_task = find_task,
				    .find_task_arg = s,
				    .bar_mapped = bar_mapped,
				    .bar_mapped_arg = s,
				    .poll_doorbell = o->virtual_clock};
	char sysfs[400], err[512] = "";

	if (make_folder(o->runtime, PROTO_SYSFS_NAME, sysfs, sizeof(sysfs)))
		return -1;
	cfg.sysfs_root = sysfs;
	if (machine_trace(s->machine))
		cfg.log = trace_verbs(machine_trace(s->machine));
	s->virtual_clock = o->virtual_clock;
	s->no_memlock = o->no_memlock;
	s->release = o->release;
	machine_cpu(s->machine, &s->cpu);
	machine_page_fault(s->machine, &cfg.page_fault, &cfg.page_fault_per_page);
	for (unsigned int i = 0; i < o->hcas; i++) {
		drvs[i] = crash_watch(s, o->family[i]);
		cfg.hca[i] = machine_hca(s->machine, i);
		cfg.cfg[i] = machine_hca_config(s->machine, i);
	}
	s->kernel = kernel_create(&cfg, err, sizeof(err));
	if (!s->kernel)
		fprintf(stderr, "hcasim-device: %s\n", err);
	return s->kernel ? 0 : -1;
}

static int check_families(const struct options *o)
{
	char err[256];

	for (unsigned int i = 0; i < o->hcas; i++) {
		if (device_family_check(o->family[i], err, sizeof(err))) {
			fprintf(stderr, "hcasim-device: %s\n", err);
			return -1;
		}
	}
	return 0;
}

/* The exit status if it fails, else EXIT_SUCCESS. */
static int start(struct server *s, const struct options *o)
{
	/* File identities of different machines, and of a previous machine, must differ. */
	if (getrandom(&s->next_file, sizeof(s->next_file), 0) < 0) {
		fail("no random numbers for", "file identities");
		return EXIT_FAILURE;
	}
	s->next_file = (s->next_file << 20 | 1) & INT64_MAX;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (s->epoll < 0 || s->spare < 0) {
		fail("cannot make", "epoll");
		return EXIT_FAILURE;
	}
	if (check_families(o) || start_machine(s, o)) /* by profile, engine, trace, record and faults */
		return EXIT_WRONG;
	if (start_kernel(s, o) || make_devices(s->kernel, o->runtime, o->hcas) || name_providers(s, o))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path) && errno != ENOENT;
}

/* The folder and its contents are removed at the end, so it must be empty and our own. */
static int check_folder(const char *runtime)
{
	DIR *d = opendir(runtime);
	struct dirent *e;
	int found = 0;

	if (!d)
		return fail("cannot open --runtime", runtime);
	while ((e = readdir(d)))
		found += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	if (!found)
		return 0;
	errno = ENOTEMPTY;
	return fail("--runtime has to be a folder for this machine alone:", runtime);
}

/* The launcher also removes the folder, if it still runs. */
static void remove_folder(const char *runtime)
{
	nftw(runtime, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The listening socket in the machine's folder, or negative. */
static int start_listening(const struct options *o)
{
	char folder[400];

	if (check_folder(o->runtime))
		return -1;
	if (o->virtual_clock && make_folder(o->runtime, PROTO_VIRTUAL_NAME, folder, sizeof(folder)))
		return -1;
	return make_listener(o->runtime);
}

static void finish(struct server *s)
{
	server_close_all(s);
	if (s->listener >= 0)
		close(s->listener);
	if (s->kernel)
		kernel_destroy(s->kernel);
	record_end();
	if (s->machine)
		machine_destroy(s->machine);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->spare >= 0)
		close(s->spare);
}

static int block_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Each application and each event file needs a few descriptors. */
static void raise_limits(void)
{
	struct rlimit lim;

	if (!getrlimit(RLIMIT_NOFILE, &lim)) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static bool tell_ready(int launcher)
{
	static const char ready[] = "READY\n";

	if (launcher < 0 || write(launcher, ready, sizeof(ready) - 1) == sizeof(ready) - 1)
		return true;
	fail("cannot write to", "--launcher-fd");
	return false;
}

static int run_device(struct server *s, const struct options *o)
{
	int signal_fd = block_signals(), status = EXIT_FAILURE;

	short_slices();
	if (signal_fd >= 0)
		status = start(s, o);
	if (!status && !tell_ready(o->launcher))
		status = EXIT_FAILURE;
	if (!status)
		server_run(s, signal_fd, o->launcher);
	finish(s);
	remove_folder(o->runtime);
	close(signal_fd);
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		option_list, parse_option,
		NULL,        "One simulated machine with RDMA adapters; started by `hcasim run`.",
		NULL,        NULL,
		NULL};
	struct options o = {.hcas_text = "1",
			    .device = DEVICE_FAMILY_DEFAULT,
			    .engine = "c",
			    .seed = 1,
			    .launcher = -1,
			    .release = LINUX_LATEST};
	struct server s = {.epoll = -1, .listener = -1, .spare = -1};
	int status = EXIT_FAILURE, listener;

	argp_err_exit_status = EXIT_WRONG;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	LIST_INIT(&s.conns);
	LIST_INIT(&s.awake);
	LIST_INIT(&s.files);
	LIST_INIT(&s.threads);
	STAILQ_INIT(&s.graveyard);
	raise_limits();
	/* Before the fork: applications give access to their memory to the listening process and its children. */
	listener = start_listening(&o);
	if (listener < 0)
		return EXIT_FAILURE;
	switch (crash_start(listener, o.launcher, &status)) {
	case 0:
		s.listener = listener;
		return run_device(&s, &o);
	case 1:
		return status;
	default:
		fail("cannot start", "the guardian");
		return EXIT_FAILURE;
	}
}
