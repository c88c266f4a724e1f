// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The part of /sys that verbs software reads, as plain files below a folder. Links and names are those of the
 * kernel (Documentation/ABI/stable/sysfs-class-infiniband, sysfs-bus-pci).
 */
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/rdma_cm/ucma.h"

#define PATH_SIZE    512
#define HW_COUNTERS  "hw_counters"
#define LIFESPAN     HW_COUNTERS "/lifespan"
#define LIFESPAN_MAX 10000 /* ms */
#define PS_PER_MS    1000000000ull
#define PCI_SLOT0    3 /* slot of the first adapter: 0 to 2 are chipset, display and disk of most machines */

struct tree { /* the tree being written; nothing more is written after the first error */
	struct kernel *k;
	int error;
	char failed[PATH_SIZE];
};

static void fail(struct tree *t, const char *path)
{
	t->error = errno;
	snprintf(t->failed, sizeof(t->failed), "%s", path);
}

static void remember(struct tree *t, const char *path, bool dir)
{
	struct kpath *p = malloc(sizeof(*p) + strlen(path) + 1);

	if (!p) {
		fail(t, path);
		return;
	}
	p->dir = dir;
	strcpy(p->name, path);
	SLIST_INSERT_HEAD(&t->k->paths, p, link);
}

/* Creates a folder below the root, and what is missing above it. */
static void make_dir(struct tree *t, char *path)
{
	char *slash = strrchr(path, '/');

	if (!mkdir(path, 0755)) {
		remember(t, path, true);
	} else if (errno == ENOENT && slash > path + strlen(t->k->root)) {
		*slash = 0;
		make_dir(t, path);
		*slash = '/';
		if (!t->error)
			make_dir(t, path);
	} else if (errno != EEXIST) {
		fail(t, path);
	}
}

static void make_parent(struct tree *t, char *path)
{
	char *slash = strrchr(path, '/');

	if (t->error)
		return;
	*slash = 0;
	make_dir(t, path);
	*slash = '/';
}

static void full_path(struct tree *t, char *path, const char *dir, const char *name)
{
	if (snprintf(path, PATH_SIZE, "%s/%s/%s", t->k->root, dir, name) >= PATH_SIZE) {
		errno = ENAMETOOLONG;
		fail(t, dir);
	}
}

/*
 * Writes one attribute: the text, then a newline. The file is replaced: a reader sees the old or the new
 * text.
 */
__attribute__((format(printf, 4, 5))) static void attr(struct tree *t, const char *dir, const char *name,
						       const char *fmt, ...)
{
	char path[PATH_SIZE], tmp[PATH_SIZE + 8];
	struct stat st;
	va_list ap;
	FILE *f;

	full_path(t, path, dir, name);
	make_parent(t, path);
	if (t->error)
		return;
	if (stat(path, &st))
		remember(t, path, false);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	f = fopen(tmp, "w");
	if (!f) {
		fail(t, path);
		return;
	}
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	if (fclose(f) || rename(tmp, path))
		fail(t, path);
}

static void dir(struct tree *t, const char *parent, const char *name)
{
	char path[PATH_SIZE];

	full_path(t, path, parent, name);
	if (!t->error)
		make_dir(t, path);
}

static void link_to(struct tree *t, const char *parent, const char *name, const char *target)
{
	char path[PATH_SIZE];

	full_path(t, path, parent, name);
	make_parent(t, path);
	if (t->error)
		return;
	if (symlink(target, path))
		fail(t, path);
	else
		remember(t, path, false);
}

static void pci_name(const struct kdev *d, char *name, size_t size)
{
	snprintf(name, size, "0000:00:%02x.0", PCI_SLOT0 + d->index);
}

static void pci_dir(const struct kdev *d, char *path, size_t size)
{
	char name[16];

	pci_name(d, name, sizeof(name));
	snprintf(path, size, "devices/pci0000:00/%s", name);
}

void kdev_netdev_name(const struct kdev *d, unsigned int port, char *name, size_t size)
{
	const char *prefix = kdev_ops(d)->netdev;

	if (d->num_ports == 1)
		snprintf(name, size, "%s%u", prefix, PCI_SLOT0 + d->index);
	else
		snprintf(name, size, "%s%unp%u", prefix, PCI_SLOT0 + d->index, port - 1);
}

static void pci_attrs(struct tree *t, const struct kdev *d, const char *dir)
{
	const struct drv_ops *o = kdev_ops(d);

	attr(t, dir, "vendor", "0x%04x", o->pci_vendor);
	attr(t, dir, "device", "0x%04x", o->pci_device);
	attr(t, dir, "subsystem_vendor", "0x%04x", o->pci_subvendor);
	attr(t, dir, "subsystem_device", "0x%04x", o->pci_subdevice);
	attr(t, dir, "class", "0x%06x", o->pci_class);
	attr(t, dir, "revision", "0x%02x", d->attr.base.hw_ver);
	attr(t, dir, "modalias", "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X", o->pci_vendor, o->pci_device,
	     o->pci_subvendor, o->pci_subdevice, o->pci_class >> 16, (o->pci_class >> 8) & 0xff,
	     o->pci_class & 0xff);
	attr(t, dir, "numa_node", "-1");
	attr(t, dir, "irq", "0");
	attr(t, dir, "enable", "1");
	attr(t, dir, "local_cpulist", "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	/* The BARs are not in a physical address space that could be mapped. */
	attr(t, dir, "resource", "0x%016x 0x%016x 0x%016x", 0, 0, 0);
	attr(t, dir, "uevent", "DRIVER=%s\nPCI_CLASS=%X\nPCI_ID=%04X:%04X", o->module, o->pci_class,
	     o->pci_vendor, o->pci_device);
}

static void net_state(struct tree *t, const struct kdev *d, unsigned int port, const char *pci)
{
	const bool up = kdev_port_up(d, port);
	char dir[PATH_SIZE / 2], name[32];

	kdev_netdev_name(d, port, name, sizeof(name));
	snprintf(dir, sizeof(dir), "%s/net/%s", pci, name);
	attr(t, dir, "operstate", "%s", up ? "up" : "down");
	attr(t, dir, "carrier", "%u", up);
	attr(t, dir, "flags", "0x%x", IFF_BROADCAST | IFF_MULTICAST | (up ? IFF_UP : 0));
}

static void net_attrs(struct tree *t, const struct kdev *d, unsigned int port, const char *pci)
{
	const uint8_t *m = d->drv.cfg->mac[port - 1];
	char dir[PATH_SIZE / 2], name[32], target[PATH_SIZE / 2], parent[16];

	kdev_netdev_name(d, port, name, sizeof(name));
	pci_name(d, parent, sizeof(parent));
	snprintf(dir, sizeof(dir), "%s/net/%s", pci, name);
	attr(t, dir, "address", "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
	attr(t, dir, "ifindex", "%u", kdev_ifindex(d, port));
	attr(t, dir, "mtu", "%u", 4200); /* holds a packet of RoCE MTU 4096 with its headers */
	net_state(t, d, port, pci);
	attr(t, dir, "speed", "%u", d->drv.cfg->port_rate ? d->drv.cfg->port_rate : 40000);
	attr(t, dir, "type", "1"); /* ARPHRD_ETHER */
	attr(t, dir, "dev_id", "0x0");
	attr(t, dir, "dev_port", "%u", port - 1);
	snprintf(target, sizeof(target), "../../../%s", parent);
	link_to(t, dir, "device", target);
	snprintf(target, sizeof(target), "../../%s/net/%s", pci, name);
	link_to(t, "class/net", name, target);
}

static void gid_text(const uint8_t g[16], char *text, size_t size)
{
	snprintf(text, size, "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0],
		 g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11], g[12], g[13], g[14],
		 g[15]);
}

/* gids/N exists for every entry; types/N and ndevs/N can be read only for entries in use. */
static void gid_attrs(struct tree *t, const struct kdev *d, unsigned int port, const char *dir)
{
	char sub[PATH_SIZE / 2], name[8], text[64], ndev[32];

	kdev_netdev_name(d, port, ndev, sizeof(ndev));
	for (unsigned int i = 0; i < d->port[port - 1].gid_tbl_len && i < MAX_GIDS; i++) {
		const struct kgid *g = &d->gid[port - 1][i];

		snprintf(name, sizeof(name), "%u", i);
		gid_text(g->raw, text, sizeof(text));
		snprintf(sub, sizeof(sub), "%s/gids", dir);
		attr(t, sub, name, "%s", text);
		if (!g->valid)
			continue;
		snprintf(sub, sizeof(sub), "%s/gid_attrs/types", dir);
		attr(t, sub, name, "%s", g->v1 ? "IB/RoCE v1" : "RoCE v2");
		snprintf(sub, sizeof(sub), "%s/gid_attrs/ndevs", dir);
		attr(t, sub, name, "%s", ndev);
	}
	for (unsigned int i = 0; i < d->port[port - 1].pkey_tbl_len; i++) {
		snprintf(name, sizeof(name), "%u", i);
		snprintf(sub, sizeof(sub), "%s/pkeys", dir);
		attr(t, sub, name, "0xffff");
	}
}

static const char *state_name(unsigned int state)
{
	static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

static void port_state(struct tree *t, const struct kdev *d, unsigned int port, const char *dir)
{
	const struct ib_uverbs_query_port_resp *p = &d->port[port - 1];

	attr(t, dir, "state", "%u: %s", p->state, state_name(p->state));
	attr(t, dir, "phys_state", "%u: %s", p->phys_state, p->phys_state == 5 ? "LinkUp" : "Disabled");
}

static bool is_hw(const struct drv_counter *c)
{
	return !strncmp(c->file, HW_COUNTERS "/", sizeof(HW_COUNTERS));
}

/* Counters of the port in one of its two folders that differ from `old`, or all. */
static void port_counters(struct tree *t, const struct kdev *d, const char *dir, bool hw,
			  const struct hca_counters *now, const struct hca_counters *old)
{
	for (const struct drv_counter *c = kdev_ops(d)->counters; c && c->file; c++) {
		const bool moves = c->counter < HCASIM_NUM_COUNTERS;

		if (is_hw(c) == hw && (!old || (moves && now->of[c->counter] != old->of[c->counter])))
			attr(t, dir, c->file, "%lu", moves ? now->of[c->counter] / c->unit : 0);
	}
}

static bool has_hw(const struct kdev *d)
{
	for (const struct drv_counter *c = kdev_ops(d)->counters; c && c->file; c++)
		if (is_hw(c))
			return true;
	return false;
}

/* An integer as kstrtoint() takes it. */
static bool parse(const char *text, long *value)
{
	char *end;

	if (!(*text == '-' || *text == '+' || (*text >= '0' && *text <= '9')))
		return false;
	*value = strtol(text, &end, 10);
	return end != text && (!*end || !strcmp(end, "\n"));
}

/*
 * Takes what a program has written to the file `lifespan`. What Linux refuses with EINVAL is replaced by the old value
 * here; an empty file is about to be written.
 */
static void take_lifespan(struct tree *t, const char *dir, struct khw *hw)
{
	char path[PATH_SIZE], text[32];
	long value = -1;
	FILE *f;
	size_t n;

	full_path(t, path, dir, LIFESPAN);
	f = t->error ? NULL : fopen(path, "r");
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	if (!n)
		return;
	if (parse(text, &value) && value >= 0 && value <= LIFESPAN_MAX)
		hw->lifespan = (uint32_t)value;
	else
		attr(t, dir, LIFESPAN, "%u", hw->lifespan);
}

/* Once in a lifespan, of which a new one begins when a program reads them. */
static void update_hw(struct tree *t, struct kdev *d, unsigned int port, const char *dir, bool read)
{
	const hca_ps now = d->k->cfg.now(d->k->cfg.now_arg);
	struct khw *hw = &d->hw[port - 1];
	const struct hca_counters old = hw->shown;

	take_lifespan(t, dir, hw);
	if (hw->seen && now - hw->at <= hw->lifespan * PS_PER_MS)
		return;
	kdev_ops(d)->query_counters(&d->drv, (uint8_t)port, &hw->shown);
	port_counters(t, d, dir, true, &hw->shown, &old);
	if (read) {
		hw->seen = true;
		hw->at = now;
	}
}

static unsigned int lanes(unsigned int width)
{
	return width == 1 ? 1 : width == 2 ? 4 : width == 4 ? 8 : width == 8 ? 12 : 2;
}

/* Gb/s of a lane times ten, and the name, of each bit of active_speed. */
static unsigned int lane_speed(unsigned int speed, const char **name)
{
	static const struct {
		unsigned int bit, rate;
		const char *name;
	} tab[] = {{1, 25, ""},       {2, 50, " DDR"},   {4, 100, " QDR"},  {8, 100, " FDR10"},
		   {16, 140, " FDR"}, {32, 250, " EDR"}, {64, 500, " HDR"}, {128, 1000, " NDR"}};

	for (size_t i = 0; i < sizeof(tab) / sizeof(tab[0]); i++) {
		if (tab[i].bit == speed) {
			*name = tab[i].name;
			return tab[i].rate;
		}
	}
	*name = "";
	return 25;
}

static void port_attrs(struct tree *t, const struct kdev *d, unsigned int port, const char *dev)
{
	const struct ib_uverbs_query_port_resp *p = &d->port[port - 1];
	char dir[PATH_SIZE / 2];
	unsigned int rate;
	const char *name;

	snprintf(dir, sizeof(dir), "%s/ports/%u", dev, port);
	rate = lane_speed(p->active_speed, &name) * lanes(p->active_width);
	port_state(t, d, port, dir);
	attr(t, dir, "rate", "%u%s Gb/sec (%uX%s)", rate / 10, rate % 10 ? ".5" : "", lanes(p->active_width),
	     name);
	attr(t, dir, "link_layer", "%s", p->link_layer == 2 ? "Ethernet" : "InfiniBand");
	attr(t, dir, "lid", "0x%x", p->lid);
	attr(t, dir, "lid_mask_count", "%u", p->lmc);
	attr(t, dir, "sm_lid", "0x%x", p->sm_lid);
	attr(t, dir, "sm_sl", "%u", p->sm_sl);
	attr(t, dir, "cap_mask", "0x%08x", p->port_cap_flags);
	gid_attrs(t, d, port, dir);
	port_counters(t, d, dir, false, &d->shown[port - 1], NULL);
	port_counters(t, d, dir, true, &d->hw[port - 1].shown, NULL);
	if (has_hw(d))
		attr(t, dir, LIFESPAN, "%u", d->hw[port - 1].lifespan);
}

static void guid_attr(struct tree *t, const char *dir, const char *name, uint64_t guid)
{
	attr(t, dir, name, "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
	     (unsigned int)(guid >> 32) & 0xffff, (unsigned int)(guid >> 16) & 0xffff,
	     (unsigned int)guid & 0xffff);
}

static void ib_attrs(struct tree *t, const struct kdev *d, const char *pci)
{
	const struct hca_config *cfg = d->drv.cfg;
	const uint64_t fw = d->attr.base.fw_ver;
	char dir[PATH_SIZE / 2], target[PATH_SIZE], parent[16];

	snprintf(dir, sizeof(dir), "%s/infiniband/%s", pci, cfg->name);
	attr(t, dir, "node_type", "1: CA");
	guid_attr(t, dir, "node_guid", cfg->node_guid);
	guid_attr(t, dir, "sys_image_guid", cfg->node_guid);
	attr(t, dir, "fw_ver", "%u.%u.%u", (unsigned int)(fw >> 32), (unsigned int)(fw >> 16) & 0xffff,
	     (unsigned int)fw & 0xffff);
	attr(t, dir, "node_desc", "%s", cfg->name);
	attr(t, dir, "hca_type", "%s", kdev_ops(d)->hca_type);
	attr(t, dir, "hw_rev", "%x", d->attr.base.hw_ver);
	attr(t, dir, "board_id", "%s", kdev_ops(d)->board_id);
	for (unsigned int p = 1; p <= d->num_ports; p++)
		port_attrs(t, d, p, dir);
	pci_name(d, parent, sizeof(parent));
	snprintf(target, sizeof(target), "../../../%s", parent);
	link_to(t, dir, "device", target);
	link_to(t, dir, "subsystem", "../../../../../class/infiniband");
	snprintf(target, sizeof(target), "../../%s", dir);
	link_to(t, "class/infiniband", cfg->name, target);
}

static void uverbs_attrs(struct tree *t, const struct kdev *d, const char *pci)
{
	char dir[PATH_SIZE / 2], target[PATH_SIZE], name[24], parent[16];

	snprintf(name, sizeof(name), "uverbs%u", d->index);
	snprintf(dir, sizeof(dir), "%s/infiniband_verbs/%s", pci, name);
	attr(t, dir, "dev", "%u:%u", UVERBS_MAJOR, UVERBS_MINOR + d->index);
	attr(t, dir, "ibdev", "%s", d->drv.cfg->name);
	attr(t, dir, "abi_version", "%u", kdev_ops(d)->uverbs_abi);
	attr(t, dir, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/%s\nDEVMODE=0666", UVERBS_MAJOR,
	     UVERBS_MINOR + d->index, name);
	pci_name(d, parent, sizeof(parent));
	snprintf(target, sizeof(target), "../../../%s", parent);
	link_to(t, dir, "device", target);
	link_to(t, dir, "subsystem", "../../../../../class/infiniband_verbs");
	snprintf(target, sizeof(target), "../../%s", dir);
	link_to(t, "class/infiniband_verbs", name, target);
}

static void device_tree(struct tree *t, const struct kdev *d)
{
	char pci[64], name[16], target[PATH_SIZE / 2];

	pci_dir(d, pci, sizeof(pci));
	pci_name(d, name, sizeof(name));
	pci_attrs(t, d, pci);
	link_to(t, pci, "subsystem", "../../../bus/pci");
	for (unsigned int p = 1; p <= d->num_ports; p++)
		net_attrs(t, d, p, pci);
	ib_attrs(t, d, pci);
	uverbs_attrs(t, d, pci);
	snprintf(target, sizeof(target), "../../../%s", pci);
	link_to(t, "bus/pci/devices", name, target);
}

static void cm_attrs(struct tree *t)
{
	static const char dir[] = "devices/virtual/misc/" UCMA_NAME;

	attr(t, dir, "abi_version", "%u", RDMA_USER_CM_ABI_VERSION);
	attr(t, dir, "dev", "%u:%u", UCMA_MAJOR, UCMA_MINOR);
	attr(t, dir, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/" UCMA_NAME "\nDEVMODE=0666",
	     UCMA_MAJOR, UCMA_MINOR);
	link_to(t, "class/misc", UCMA_NAME, "../../devices/virtual/misc/" UCMA_NAME);
}

int sysfs_create(struct kernel *k, char *err, size_t err_size)
{
	struct tree t = {.k = k};

	attr(&t, "class/infiniband_verbs", "abi_version", "%u", IB_USER_VERBS_ABI_VERSION);
	dir(&t, "class", "infiniband");
	cm_attrs(&t);
	for (unsigned int i = 0; i < k->num_devices; i++)
		device_tree(&t, &k->dev[i]);
	if (t.error)
		snprintf(err, err_size, "sysfs tree: %s: %s", t.failed, strerror(t.error));
	return t.error;
}

static void port_dir(const struct kdev *d, unsigned int port, char *dir, size_t size)
{
	char pci[64];

	pci_dir(d, pci, sizeof(pci));
	snprintf(dir, size, "%s/infiniband/%s/ports/%u", pci, d->drv.cfg->name, port);
}

void sysfs_show_hw(struct kdev *d, uint8_t port)
{
	struct tree t = {.k = d->k};
	char dir[PATH_SIZE / 2];

	port_dir(d, port, dir, sizeof(dir));
	update_hw(&t, d, port, dir, true);
}

void sysfs_update(struct kdev *d, bool port_changed)
{
	struct tree t = {.k = d->k};
	char pci[64], dir[PATH_SIZE / 2];

	if (SLIST_EMPTY(&d->k->paths))
		return; /* not created yet, or removed already */
	pci_dir(d, pci, sizeof(pci));
	for (unsigned int p = 1; p <= d->num_ports; p++) {
		const struct hca_counters old = d->shown[p - 1];

		kdev_ops(d)->query_counters(&d->drv, (uint8_t)p, &d->shown[p - 1]);
		port_dir(d, p, dir, sizeof(dir));
		port_counters(&t, d, dir, false, &d->shown[p - 1], &old);
		update_hw(&t, d, p, dir, false);
		if (!port_changed)
			continue;
		port_state(&t, d, p, dir);
		net_state(&t, d, p, pci);
	}
}

void sysfs_destroy(struct kernel *k)
{
	struct kpath *p;

	while ((p = SLIST_FIRST(&k->paths))) {
		SLIST_REMOVE_HEAD(&k->paths, link);
		if (p->dir)
			rmdir(p->name);
		else
			unlink(p->name);
		free(p);
	}
}
