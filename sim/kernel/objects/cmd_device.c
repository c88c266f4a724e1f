// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands: context, device and port queries. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel/priv.h"

/* The violation counters are those of now. */
void verbs_port_resp(struct kdev *d, uint8_t port, struct ib_uverbs_query_port_resp *resp)
{
	struct ib_uverbs_query_port_resp now = {0};

	kdev_ops(d)->query_port(&d->drv, port, &now);
	*resp = d->port[port - 1];
	resp->bad_pkey_cntr = now.bad_pkey_cntr;
	resp->qkey_viol_cntr = now.qkey_viol_cntr;
	resp->flags |= IB_UVERBS_QPF_GRH_REQUIRED;
}

int cmd_get_context(struct call *c)
{
	struct ib_uverbs_get_context_resp resp = {
		.num_comp_vectors = kdev_ops(c->f->dev)->num_comp_vectors,
	};
	struct ib_uverbs_get_context cmd;
	struct evfile *ev;
	int ret, fd;

	ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (c->f->ctx)
		return -EINVAL;
	ret = evfile_create(c->f, true, &ev, &fd);
	if (ret)
		return ret;
	ret = call_install_fd(c, fd, c->out + offsetof(struct ib_uverbs_get_context_resp, async_fd),
			      sizeof(resp.async_fd));
	if (!ret)
		ret = resp_put(c, &resp, sizeof(resp));
	if (!ret)
		ret = call_alloc_context(c);
	if (ret) {
		evfile_shutdown(ev);
		return ret;
	}
	kfile_default_async(c->f, ev);
	return 0;
}

int cmd_query_device(struct call *c)
{
	struct ib_uverbs_query_device cmd;
	int ret;

	ret = call_context(c);
	if (!ret)
		ret = req_get(c, &cmd, sizeof(cmd));
	return ret ? ret : resp_put(c, &c->f->dev->attr.base, sizeof(c->f->dev->attr.base));
}

int cmd_ex_query_device(struct call *c)
{
	struct ib_uverbs_ex_query_device_resp resp = c->f->dev->attr;
	const struct drv_ops *ops = kdev_ops(c->f->dev);
	struct ib_uverbs_ex_query_device cmd;
	struct drv_udata *udata;
	int ret;

	ret = call_context(c);
	if (!ret)
		ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	resp.response_length = resp_len(c, sizeof(resp));
	ret = resp_put(c, &resp, sizeof(resp));
	if (ret || !ops->query_device_ex)
		return ret;
	ret = call_udata(c, &udata);
	if (ret)
		return ret;
	ops->query_device_ex(&c->f->dev->drv, udata);
	return call_udata_done(c);
}

int cmd_query_port(struct call *c)
{
	struct ib_uverbs_query_port_resp resp;
	struct ib_uverbs_query_port cmd;
	int ret;

	ret = call_context(c);
	if (!ret)
		ret = req_get(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!kdev_port_valid(c->f->dev, cmd.port_num))
		return -EINVAL;
	verbs_port_resp(c->f->dev, cmd.port_num, &resp);
	return resp_put(c, &resp, sizeof(resp));
}
