// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Files of a driver's records: each read takes one, whatever its length; full ones, closed ones, wrong descriptors. */
#include <unistd.h>

#include "kernel/uverbs/ioctl.h"
#include "harness.h"

#define TYPE  (UVERBS_ID_DRIVER_NS | 5)
#define OTHER (UVERBS_ID_DRIVER_NS | 6)
#define LONG  60000u /* bytes */

static struct evfile *ev;
static int fd;

static void new_file(void)
{
	file_open();
	CHECK_ERR(make_context(), 0);
	CHECK_ERR(evfile_create_records(w.f, TYPE, &ev, &fd), 0);
}

static int push(size_t len, uint8_t first)
{
	uint8_t *data = calloc(1, len);
	int ret;

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	data[0] = first;
	ret = evfile_push_record(&ev->drv, data, len);
	free(data);
	return ret;
}

static ssize_t take(uint8_t *first)
{
	static uint8_t buf[LONG + 1];
	const ssize_t len = read(fd, buf, sizeof(buf));

	*first = buf[0];
	return len;
}

/* More bytes than a socket holds: the rest follows as they are read, in order. */
static void one_at_a_time(void)
{
	uint8_t first;
	unsigned int num;

	new_file();
	CHECK_ERR(push(8, 1), 0);
	CHECK_ERR(push(72, 2), 0);
	CU_ASSERT_EQUAL(take(&first), 8);
	CU_ASSERT_EQUAL(first, 1);
	CU_ASSERT_EQUAL(take(&first), 72);
	CU_ASSERT_EQUAL(first, 2);
	for (num = 0; !push(LONG, (uint8_t)num); num++)
		CU_ASSERT_FATAL(num < 100);
	CHECK_ERR(push(LONG, 0), -EAGAIN);
	CU_ASSERT(num > 10);
	for (unsigned int i = 0; i < num; i++) {
		CU_ASSERT_EQUAL(take(&first), LONG);
		CU_ASSERT_EQUAL(first, (uint8_t)i);
		kernel_poll_events(w.k);
	}
	CU_ASSERT_EQUAL(ev->waiting, 0);
	CHECK_ERR(push(LONG, 9), 0);
	close(fd);
	file_close();
}

/* What the program closes takes no more, and lives while the driver has a reference. */
static void closed(void)
{
	new_file();
	evfile_get(ev);
	CU_ASSERT_TRUE(evfile_is_open(&ev->drv));
	for (unsigned int i = 0; i < 20; i++)
		push(LONG, 0);
	close(fd);
	kernel_poll_events(w.k);
	CU_ASSERT_FALSE(evfile_is_open(&ev->drv));
	CHECK_ERR(push(8, 0), 0);
	CU_ASSERT_EQUAL(ev->waiting, 0);
	evfile_put(ev);
	file_close();
}

/* The context ends first: the reader gets what there is, then end of file. */
static void released(void)
{
	uint8_t first;

	new_file();
	CHECK_ERR(push(8, 7), 0);
	kernel_release(w.f);
	CU_ASSERT_EQUAL(take(&first), 8);
	CU_ASSERT_EQUAL(first, 7);
	CU_ASSERT_EQUAL(take(&first), 0);
	close(fd);
	CHECK_ERR(kernel_open(w.k, &w.task, "uverbs0", 0, &w.f), 0);
	file_close();
}

static void wrong_descriptors(void)
{
	struct call c = {.f = w.f, .t = &w.task};
	int err, pair[2];

	new_file();
	c.f = w.f;
	CU_ASSERT_PTR_EQUAL(call_find_records(&c, fd, TYPE, &err), ev);
	CHECK_ERR(err, 0);
	CU_ASSERT_PTR_NULL(call_find_records(&c, fd, OTHER, &err));
	CHECK_ERR(err, -EBADF);
	CU_ASSERT_PTR_NULL(call_find_event(&c, fd, false, &err));
	CHECK_ERR(err, -EBADF);
	CU_ASSERT_PTR_NULL(call_find_event(&c, fd, true, &err));
	CHECK_ERR(err, -EBADF);
	CU_ASSERT_PTR_NULL(call_find_records(&c, w.async_fd, TYPE, &err));
	CHECK_ERR(err, -EBADF);
	CU_ASSERT_PTR_NULL(call_find_records(&c, -1, TYPE, &err));
	CHECK_ERR(err, -EBADF);
	CU_ASSERT_PTR_NULL(call_find_records(&c, 1ll << 40, TYPE, &err));
	CHECK_ERR(err, -EINVAL);
	CU_ASSERT_EQUAL_FATAL(pipe(pair), 0);
	CU_ASSERT_PTR_NULL(call_find_records(&c, pair[0], TYPE, &err));
	close(pair[0]);
	close(pair[1]);
	close(fd);
	file_close();
}

void add_records_suite(void)
{
	CU_pSuite s = CU_add_suite("records", world_init, world_exit);

	CU_add_test(s, "one at a time", one_at_a_time);
	CU_add_test(s, "closed", closed);
	CU_add_test(s, "released", released);
	CU_add_test(s, "wrong descriptors", wrong_descriptors);
}
