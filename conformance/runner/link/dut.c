/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "link/dut.h"
#include "cell/names.h"
#include "remote/remote.h"

static int read_end(struct end *end, json_t *desc, const char *role, char *err, size_t size)
{
	json_t *obj = json_object_get(desc, role);
	const char *device = json_string_value(json_object_get(obj, "device"));
	const char *address = json_string_value(json_object_get(obj, "address"));

	if (!device || strlen(device) >= sizeof(end->device)) {
		snprintf(err, size, "DUT: '%s.device' is missing, not a string or too long", role);
		return -1;
	}
	strcpy(end->device, device);
	if (address && strlen(address) < sizeof(end->address))
		strcpy(end->address, address);
	end->port = json_integer_value(json_object_get(obj, "port"));
	end->gid_index = json_integer_value(json_object_get(obj, "gid_index"));
	return 0;
}

static struct ibv_device *find_device(struct ibv_device **list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), name))
			return *list;
	return NULL;
}

static int call_failed(const struct end *end, const char *what, char *err, size_t size)
{
	snprintf(err, size, "%s on device '%s' port %u: %s", what, end->device, end->port, errno_name(errno));
	return -1;
}

static int query_port(struct end *end, char *err, size_t size)
{
	errno = ibv_query_device(end->ctx, &end->attr);
	if (errno)
		return call_failed(end, "ibv_query_device", err, size);
	if (!end->port || end->port > end->attr.phys_port_cnt) {
		snprintf(err, size, "device '%s' has no port %u, the last one is %u", end->device, end->port,
			 end->attr.phys_port_cnt);
		return DUT_WRONG;
	}
	errno = ibv_query_port(end->ctx, end->port, &end->port_attr);
	return errno ? call_failed(end, "ibv_query_port", err, size) : 0;
}

enum ibv_gid_type end_gid_type(const struct end *end, int index)
{
	struct ibv_gid_entry entry;

	return ibv_query_gid_ex(end->ctx, end->port, index, &entry, 0) ? IBV_GID_TYPE_IB : entry.gid_type;
}

/* Whether the entry of the GID table exists and is in use. */
static bool has_gid(const struct end *end, int index, union ibv_gid *gid)
{
	static const union ibv_gid empty;

	return index < end->port_attr.gid_tbl_len && !ibv_query_gid(end->ctx, end->port, index, gid) &&
	       memcmp(gid, &empty, sizeof(empty));
}

static int query_gid(struct end *end, char *err, size_t size)
{
	union ibv_gid other;
	int len;

	if (has_gid(end, end->gid_index, &end->gid)) {
		end->roce_v1 = end_gid_type(end, end->gid_index) == IBV_GID_TYPE_ROCE_V1;
		return 0;
	}
	len = snprintf(err, size, "device '%s' port %u has no GID with index %d; there are:", end->device,
		       end->port, end->gid_index);
	for (int i = 0; i < end->port_attr.gid_tbl_len && len < (int)size; i++)
		if (has_gid(end, i, &other))
			len += snprintf(err + len, size - len, " %d", i);
	return DUT_WRONG;
}

static int open_device(struct end *end, struct ibv_device *dev, char *err, size_t size)
{
	struct ibv_device_attr_ex ex = {};
	int ret;

	end->ctx = ibv_open_device(dev);
	if (!end->ctx)
		return call_failed(end, "ibv_open_device", err, size);
	ret = query_port(end, err, size);
	if (!ret)
		ret = query_gid(end, err, size);
	if (ret) {
		end_close(end);
		return ret;
	}
	end->pd = ibv_alloc_pd(end->ctx);
	if (!end->pd) {
		call_failed(end, "ibv_alloc_pd", err, size);
		end_close(end);
		return -1;
	}
	if (!ibv_query_device_ex(end->ctx, NULL, &ex))
		end->clock_khz = ex.hca_core_clock;
	return 0;
}

static void no_device(struct ibv_device **list, const char *name, char *err, size_t size)
{
	int len = snprintf(err, size, "no RDMA device '%s' here; there %s", name, *list ? "are:" : "is none");

	for (; *list && len < (int)size; list++)
		len += snprintf(err + len, size - len, " %s", ibv_get_device_name(*list));
}

int end_open(struct end *end, char *err, size_t size)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *dev;
	int ret = DUT_WRONG;

	if (!list) {
		snprintf(err, size, "no RDMA device '%s' here: ibv_get_device_list: %s", end->device,
			 errno_name(errno));
		return DUT_WRONG;
	}
	dev = find_device(list, end->device);
	if (dev)
		ret = open_device(end, dev, err, size);
	else
		no_device(list, end->device, err, size);
	ibv_free_device_list(list);
	return ret;
}

static enum ibv_mtu smallest_mtu(const struct dut *dut, long bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (256L << mtu) <= bytes)
		mtu++;
	if (mtu > dut->requester.port_attr.active_mtu)
		mtu = dut->requester.port_attr.active_mtu;
	if (mtu > dut->responder.port_attr.active_mtu)
		mtu = dut->responder.port_attr.active_mtu;
	return mtu;
}

/* The responder's end, in this process or in the one that the DUT file's command starts. */
static int open_responder(struct dut *dut, json_t *desc, char *err, size_t size)
{
	json_t *command = json_object_get(desc, "peer_command");

	if (!command)
		return end_open(&dut->responder, err, size);
	dut->remote = true;
	if (remote_start(command, json_integer_value(json_object_get(desc, "start_ms")), dut->timeout_ms, err,
			 size))
		return DUT_WRONG;
	if (!remote_open(&dut->responder, dut->timeout_ms, err, size))
		return 0;
	return remote_broken() ? -1 : DUT_WRONG;
}

int dut_open(struct dut *dut, json_t *desc, char *err, size_t err_size)
{
	json_t *refusals = json_object_get(desc, "refusals");
	char ignored[8];
	int ret;

	if (read_end(&dut->requester, desc, "requester", err, err_size) ||
	    read_end(&dut->responder, desc, "responder", err, err_size))
		return DUT_WRONG;
	dut->timeout_ms = json_integer_value(json_object_get(desc, "timeout_ms"));
	dut->tap = json_is_true(json_object_get(desc, "tap"));
	dut->refusal.invalid = errno_value(json_string_value(json_object_get(refusals, "invalid")));
	dut->refusal.full = errno_value(json_string_value(json_object_get(refusals, "full")));
	ret = end_open(&dut->requester, err, err_size);
	if (!ret)
		ret = open_responder(dut, desc, err, err_size);
	if (ret) {
		dut_close(dut, ignored, sizeof(ignored));
		return ret;
	}
	dut->mtu = smallest_mtu(dut, json_integer_value(json_object_get(desc, "mtu")));
	return 0;
}

bool dut_ticks(const struct end *end, uint64_t *ticks)
{
	struct ibv_values_ex now = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	if (!end->clock_khz || ibv_query_rt_values_ex(end->ctx, &now))
		return false;
	*ticks = now.raw_clock.tv_nsec; /* for this call tv_nsec has ticks of hca_core_clock */
	return true;
}

int64_t dut_clock(const struct dut *dut)
{
	uint64_t ticks;

	return dut_ticks(&dut->requester, &ticks)
		       ? (int64_t)((double)ticks * 1e6 / (double)dut->requester.clock_khz)
		       : -1;
}

void end_close(struct end *end)
{
	if (end->pd)
		ibv_dealloc_pd(end->pd);
	if (end->ctx)
		ibv_close_device(end->ctx);
	memset(end, 0, sizeof(*end));
}

int dut_close(struct dut *dut, char *err, size_t err_size)
{
	int ret = 0;

	end_close(&dut->requester);
	if (dut->remote) {
		remote_close(&dut->responder);
		ret = remote_stop(err, err_size);
	} else {
		end_close(&dut->responder);
	}
	return ret;
}
