// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The sysfs tree as libibverbs, pyverbs and tools read it. */
#include <dirent.h>
#include <sys/stat.h>

#include "core/base/base.h"
#include "bench.h"
#include "devices/family.h"
#include "harness.h"

static const char *text(const char *path)
{
	static char buf[512];
	char full[512];
	size_t n;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", w.root, path);
	f = fopen(full, "r");
	if (!f)
		return "(no such file)";
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = 0;
	return buf;
}

static void is(const char *path, const char *want)
{
	if (strcmp(text(path), want))
		fprintf(stderr, "\n%s is '%s', expected '%s'\n", path, text(path), want);
	CU_ASSERT_STRING_EQUAL(text(path), want);
}

static void attributes(void)
{
	is("class/infiniband_verbs/abi_version", "6\n");
	is("class/infiniband_verbs/uverbs0/dev", "231:192\n");
	is("class/infiniband_verbs/uverbs1/dev", "231:193\n");
	is("class/infiniband_verbs/uverbs1/ibdev", "hcasim1\n");
	is("class/infiniband_verbs/uverbs0/abi_version", "3\n");
	is("class/infiniband_verbs/uverbs0/device/modalias",
	   "pci:v00001AF4d000010F4sv00001AF4sd00000001bc02sc07i00\n");
	is("class/infiniband/hcasim0/device/modalias",
	   "pci:v00001AF4d000010F4sv00001AF4sd00000001bc02sc07i00\n");
	is("class/infiniband/hcasim0/device/vendor", "0x1af4\n");
	is("class/infiniband/hcasim0/device/class", "0x020700\n");
	is("class/infiniband/hcasim0/node_type", "1: CA\n");
	is("class/infiniband/hcasim1/node_guid", "0002:c903:0000:1001\n");
	is("class/infiniband/hcasim0/device/infiniband/hcasim0/node_type", "1: CA\n");
}

static void ports(void)
{
	is("class/infiniband/hcasim0/ports/1/state", "4: ACTIVE\n");
	is("class/infiniband/hcasim0/ports/1/phys_state", "5: LinkUp\n");
	is("class/infiniband/hcasim0/ports/1/rate", "40 Gb/sec (4X FDR10)\n");
	is("class/infiniband/hcasim0/ports/1/link_layer", "Ethernet\n");
	is("class/infiniband/hcasim0/ports/1/lid", "0x0\n");
	is("class/infiniband/hcasim0/ports/1/pkeys/0", "0xffff\n");
	is("class/infiniband/hcasim0/ports/1/pkeys/1", "(no such file)");
	is("class/infiniband/hcasim0/ports/1/gids/0", "fe80:0000:0000:0000:0000:00ff:fe00:1000\n");
	is("class/infiniband/hcasim1/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a4d:0002\n");
	is("class/infiniband/hcasim1/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	is("class/infiniband/hcasim0/ports/1/gids/16", "(no such file)");
	is("class/infiniband/hcasim0/ports/1/gid_attrs/types/1", "RoCE v2\n");
	is("class/infiniband/hcasim0/ports/1/gid_attrs/ndevs/1", "ens3\n");
	is("class/infiniband/hcasim0/ports/1/gid_attrs/types/2", "(no such file)");
	is("class/infiniband/hcasim0/ports/1/counters/port_xmit_packets", "0\n");
	is("class/infiniband/hcasim0/ports/1/hw_counters/num_page_faults", "0\n");
	is("class/infiniband/hcasim0/ports/1/hw_counters/num_prefetch", "0\n");
	is("class/infiniband/hcasim0/ports/1/hw_counters/num_invalidations", "0\n");
	is("class/infiniband/hcasim0/ports/2/state", "(no such file)");
}

#define HW "class/infiniband/hcasim1/ports/1/hw_counters/"

static void store(const char *value)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/" HW "lifespan", w.root);
	f = fopen(full, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_TRUE(fputs(value, f) >= 0);
	fclose(f);
}

/* One more RNR NAK, `ms` after the one before; then a program reads the file. */
static void one_more(unsigned int ms, const char *want)
{
	bench_pass(ms);
	hca_count(w.k->cfg.hca[1], 1, HCASIM_COUNTER_RNR_NAK_SENT);
	kernel_show_counters(w.k, "hcasim1", 1);
	is(HW "rnr_nak_sent", want);
}

/* As in Linux 6.1: hw_counters are read from the device at most once in a lifespan, counters always. */
static void lifespan(void)
{
	is(HW "lifespan", "10\n");
	one_more(0, "1\n");
	one_more(10, "1\n"); /* the same 10 ms */
	kernel_show_counters(w.k, "hcasim0", 1);
	is(HW "rnr_nak_sent", "1\n");
	one_more(1, "3\n");
	store("0\n");
	one_more(1, "4\n");
	one_more(1, "5\n");
	is(HW "lifespan", "0\n");
	store("10000");
	one_more(9999, "5\n");
	one_more(2, "7\n");
}

/* Linux answers EINVAL, which a plain file cannot: the old value is there again. */
static void lifespan_refused(void)
{
	static const char *const bad[] = {"-1\n", "10001\n", "abc\n", "1x\n", "99999999999999999999\n",
					  " 5\n"};

	store("7\n");
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		kernel_show_counters(w.k, "", 0);
		store(bad[i]);
		kernel_show_counters(w.k, "", 0);
		is(HW "lifespan", "7\n");
	}
	store(""); /* about to be written */
	kernel_show_counters(w.k, "", 0);
	is(HW "lifespan", "");
	store("+20");
	one_more(20, "7\n");
	one_more(1, "9\n");
}

static void network(void)
{
	is("class/infiniband/hcasim1/device/net/ens4/address", "02:00:00:00:10:01\n");
	is("class/net/ens4/operstate", "up\n");
	is("class/net/ens4/flags", "0x1003\n");
	is("class/net/ens4/ifindex", "102\n");
	is("class/net/ens4/device/vendor", "0x1af4\n");
	is("bus/pci/devices/0000:00:03.0/infiniband/hcasim0/node_type", "1: CA\n");
}

static void bad_folder(void)
{
	const struct kernel_config cfg = {
		.num_devices = 1,
		.hca = {w.k->cfg.hca[0]},
		.cfg = {w.k->cfg.cfg[0]},
		.drv = device_family(DEVICE_FAMILY_DEFAULT),
		.sysfs_root = "/proc/hcasim-does-not-exist",
	};
	struct kernel_config none = cfg;
	char err[256] = "";

	none.num_devices = 0;
	CU_ASSERT_PTR_NULL(kernel_create(&none, err, sizeof(err)));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "number of adapters is 0"));
	CU_ASSERT_PTR_NULL(kernel_create(&cfg, err, sizeof(err)));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "/proc/hcasim-does-not-exist"));
}

void add_sysfs_suite(void)
{
	CU_pSuite s = CU_add_suite("sysfs", world_init, world_exit);

	CU_add_test(s, "device attributes", attributes);
	CU_add_test(s, "ports, GIDs, P_Keys", ports);
	CU_add_test(s, "lifespan of counters", lifespan);
	CU_add_test(s, "refused lifespans", lifespan_refused);
	CU_add_test(s, "network interfaces", network);
	CU_add_test(s, "folder that cannot be written", bad_folder);
}
