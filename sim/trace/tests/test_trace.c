// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the trace files hold, read back by other people's libraries. */
#include <CUnit/Basic.h>

#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hcasim_hw.h"
#include "trace/trace.h"

static char dir[] = "trace-test-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int setup(void)
{
	strcpy(dir, "trace-test-XXXXXX");
	return mkdtemp(dir) ? 0 : 1;
}

static int teardown(void)
{
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct trace *open_trace(void)
{
	char err[200] = "";
	struct trace *t = trace_open(dir, true, NULL, NULL, err, sizeof(err));

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	trace_adapters(t, (const char *const[]){"hcasim0", "mlx5_0"}, 2);
	return t;
}

/* Line `n` of a log as an object; the caller drops it. */
static json_t *record(const char *file, int n)
{
	char path[100], line[8192] = "";
	json_error_t error;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (n-- >= 0)
		CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), f));
	fclose(f);
	json_t *obj = json_loads(line, JSON_REJECT_DUPLICATES, &error);

	CU_ASSERT_PTR_NOT_NULL_FATAL(obj);
	return obj;
}

static const char *text(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "(missing)";
}

static long long number(const json_t *obj, const char *key)
{
	json_t *v = json_object_get(obj, key);

	return json_is_integer(v) ? json_integer_value(v) : -1;
}

static void frames(void)
{
	static const uint8_t frame[60] = {2, 'h', 'c', 'a', 0, 1, 2, 'h', 'c', 'a', 0, 2, 8, 0};
	char path[100], err[PCAP_ERRBUF_SIZE];
	struct trace *t = open_trace();
	struct pcap_pkthdr *hdr;
	const u_char *data;
	pcap_t *in;

	trace_frame(t, 1234567, frame, sizeof(frame));              /* 1.234567 us */
	trace_frame(t, 3000000005000ull, frame, sizeof(frame) - 1); /* 3 s and 5 ns */
	trace_close(t);

	snprintf(path, sizeof(path), "%s/wire.pcap", dir);
	in = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	CU_ASSERT_EQUAL(pcap_datalink(in), DLT_EN10MB);
	CU_ASSERT_EQUAL_FATAL(pcap_next_ex(in, &hdr, &data), 1);
	CU_ASSERT(hdr->ts.tv_sec == 0 && hdr->ts.tv_usec == 1234);
	CU_ASSERT(hdr->caplen == 60 && hdr->len == 60 && !memcmp(data, frame, 60));
	CU_ASSERT_EQUAL_FATAL(pcap_next_ex(in, &hdr, &data), 1);
	CU_ASSERT(hdr->ts.tv_sec == 3 && hdr->ts.tv_usec == 5 && hdr->len == 59);
	CU_ASSERT_EQUAL(pcap_next_ex(in, &hdr, &data), PCAP_ERROR_BREAK);
	pcap_close(in);
}

static void tlps(void)
{
	static const uint8_t bytes[20] = {0xde, 0xad, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 99};
	struct trace_tlp tlp = {.start = 10,
				.arrival = 20,
				.adapter = 1,
				.up = true,
				.type = "MWr",
				.request = true,
				.relaxed = true};
	struct trace *t = open_trace();
	json_t *r;

	tlp.addr = 0xfedcba9876543210ull;
	tlp.len = sizeof(bytes);
	tlp.data = bytes;
	tlp.dma = true;
	tlp.class_ = HCA_DMA_CQE;
	tlp.pasid = 3;
	tlp.qpn = 17;
	trace_tlp(t, &tlp);
	trace_tlp(t, &(struct trace_tlp){
			     .type = "MRd", .len = 8, .tagged = true, .tag = 255, .request = true, .bar = 4});
	trace_close(t);

	r = record("tlp.log", 0);
	CU_ASSERT(number(r, "ps") == 10 && number(r, "arrival") == 20);
	CU_ASSERT_STRING_EQUAL(text(r, "hca"), "mlx5_0");
	CU_ASSERT_STRING_EQUAL(text(r, "dir"), "up");
	CU_ASSERT_STRING_EQUAL(text(r, "type"), "MWr");
	CU_ASSERT_STRING_EQUAL(text(r, "addr"), "0xfedcba9876543210");
	CU_ASSERT_STRING_EQUAL(text(r, "class"), "cqe");
	CU_ASSERT(json_is_true(json_object_get(r, "ro")));
	CU_ASSERT(number(r, "pasid") == 3 && number(r, "qpn") == 17 && number(r, "len") == 20);
	CU_ASSERT_STRING_EQUAL(text(r, "data"), "dead000102030405060708090a0b0c0d"); /* 16 bytes */
	CU_ASSERT_PTR_NULL(json_object_get(r, "tag"));
	CU_ASSERT_PTR_NULL(json_object_get(r, "bar"));
	json_decref(r);
	r = record("tlp.log", 1);
	CU_ASSERT(number(r, "tag") == 255 && number(r, "bar") == 4);
	CU_ASSERT_STRING_EQUAL(text(r, "dir"), "down");
	CU_ASSERT_PTR_NULL(json_object_get(r, "class"));
	CU_ASSERT_PTR_NULL(json_object_get(r, "data"));
	json_decref(r);
}

/* A RoCEv2 frame is described, another one is not; the last record counts those before it. */
static void events(void)
{
	struct trace *t = open_trace();
	struct hca_packet *pkt = calloc(1, sizeof(*pkt) + 58);
	json_t *r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pkt);
	pkt->len = 58;
	pkt->number = 7;
	CU_ASSERT_TRUE(trace_wants_events(t));
	trace_step(t, &(struct trace_step){.start = 5,
					   .end = 9,
					   .adapter = 1,
					   .stage = "fetch",
					   .work = {64, 1, 16},
					   .seen = {.qpn = 16, .of_wqe = true, .index = 65535, .blocks = 2}});
	trace_frame(t, 1000, pkt->data, pkt->len);
	trace_sent(t, 1000, 2000, 0, pkt);
	memcpy(pkt->data + 12, "\x08\x00", 2);
	pkt->data[23] = 17;
	memcpy(pkt->data + 36, "\x12\xb7", 2);
	memcpy(pkt->data + 42, "\x11\x00\xff\xff\xff\x00\x00\x10\x80\x00\x01\x00", 12);
	trace_sent(t, 3000, 4000, 0, pkt);
	trace_close(t);
	free(pkt);

	r = record("events.log", 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(json_object_get(r, "hcas"), 1)), "mlx5_0");
	json_decref(r);
	r = record("events.log", 1);
	CU_ASSERT_STRING_EQUAL(text(r, "hca"), "mlx5_0");
	CU_ASSERT(number(r, "ps") == 5 && number(r, "end") == 9 && number(r, "qpn") == 16);
	CU_ASSERT(number(r, "index") == 65535 && number(r, "blocks") == 2 && number(r, "psn") == -1);
	CU_ASSERT_STRING_EQUAL(text(r, "stage"), "fetch");
	json_decref(r);
	r = record("events.log", 2);
	CU_ASSERT(number(r, "frame") == 7 && number(r, "pcap") == 1 && number(r, "len") == 58);
	CU_ASSERT_PTR_NULL(json_object_get(r, "opcode"));
	json_decref(r);
	r = record("events.log", 3);
	CU_ASSERT_STRING_EQUAL(text(r, "opcode"), "RC_ACKNOWLEDGE");
	CU_ASSERT_TRUE(json_is_true(json_object_get(r, "response")));
	CU_ASSERT(number(r, "dqpn") == 16 && number(r, "psn") == 256);
	json_decref(r);
	r = record("events.log", 4);
	CU_ASSERT_STRING_EQUAL(text(r, "event"), "end");
	CU_ASSERT(number(r, "events") == 4 && number(r, "ps") == 4000);
	json_decref(r);
}

/* And what an earlier run has left there is gone, since it is not of this run. */
static void no_events(void)
{
	char err[200] = "", path[sizeof(dir) + 16];
	struct trace *t;

	trace_close(open_trace());
	snprintf(path, sizeof(path), "%s/events.log", dir);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	t = trace_open(dir, false, NULL, NULL, err, sizeof(err));
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_FALSE(trace_wants_events(t));
	trace_close(t);
	CU_ASSERT_EQUAL(access(path, F_OK), -1);
}

/* Hint and tag stand in requests, not in completions, and not where there are none. */
static void hints(void)
{
	struct trace_tlp tlp = {.up = true, .type = "MRd", .len = 8, .request = true, .dma = true};
	struct trace *t = open_trace();
	json_t *r;

	tlp.class_ = HCA_DMA_PAYLOAD;
	tlp.tph = (struct hca_tph){.on = true, .ph = 3, .st = 7};
	trace_tlp(t, &tlp);
	tlp.request = false;
	trace_tlp(t, &tlp);
	tlp.request = true;
	tlp.tph.on = false;
	trace_tlp(t, &tlp);
	trace_close(t);

	r = record("tlp.log", 0);
	CU_ASSERT(number(r, "ph") == 3 && number(r, "st") == 7);
	json_decref(r);
	for (unsigned int i = 1; i < 3; i++) {
		r = record("tlp.log", i);
		CU_ASSERT_PTR_NULL(json_object_get(r, "ph"));
		CU_ASSERT_PTR_NULL(json_object_get(r, "st"));
		json_decref(r);
	}
}

static void wqes(void)
{
	struct hca_sge sge[2] = {{0x7fff00001000, 64, 0x1234}, {0x2000, 0xffffffff, 0x56}};
	struct hca_wr wr = {
		.op = HCASIM_WQE_OP_RDMA_WRITE_IMM, .num_bb = 1, .index = 65535, .num_sge = 2, .sge = sge};
	uint8_t raw[64] = {HCASIM_WQE_OP_RDMA_WRITE_IMM};
	struct trace *t = open_trace();
	json_t *r, *list;

	wr.flags = HCA_WR_SIGNALED | HCA_WR_FENCE;
	wr.remote_addr = 0x1000;
	wr.rkey = 0x99;
	wr.imm = htobe32(0x01020304);
	wr.length = 0x10000003full;
	trace_wqe(t, 77, 0, 16, &wr, raw, sizeof(raw));
	wr.flags = HCA_WR_INLINE;
	wr.num_sge = 0;
	trace_wqe(t, 78, 0, 16, &wr, raw, sizeof(raw));
	trace_close(t);

	r = record("wqe.log", 0);
	CU_ASSERT(number(r, "ps") == 77 && number(r, "qpn") == 16 && number(r, "index") == 65535);
	CU_ASSERT_STRING_EQUAL(text(r, "op"), hcasim_wqe_op_name(HCASIM_WQE_OP_RDMA_WRITE_IMM));
	CU_ASSERT_EQUAL(number(r, "length"), 0x10000003fll);
	CU_ASSERT_STRING_EQUAL(text(r, "imm"), "0x01020304");
	list = json_object_get(r, "flags");
	CU_ASSERT_EQUAL_FATAL(json_array_size(list), 2);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, 1)), "fence");
	list = json_object_get(r, "sge");
	CU_ASSERT_EQUAL_FATAL(json_array_size(list), 2);
	CU_ASSERT_STRING_EQUAL(text(json_array_get(list, 0), "addr"), "0x7fff00001000");
	CU_ASSERT_EQUAL(number(json_array_get(list, 1), "length"), 0xffffffffll);
	CU_ASSERT_EQUAL(strlen(text(r, "raw")), 128);
	json_decref(r);
	r = record("wqe.log", 1);
	CU_ASSERT_PTR_NULL(json_object_get(r, "sge"));
	json_decref(r);
}

static void retired(void)
{
	struct engine_retired rec = {.order = 7,
				     .fetched = 10,
				     .completed = 1ull << 40,
				     .qpn = 16,
				     .first_psn = 0xfffffe,
				     .psns = 3,
				     .index = 65534,
				     .wqe_op = HCASIM_WQE_OP_SEND,
				     .num_bb = 2,
				     .status = HCASIM_CQE_STATUS_LOC_PROT_ERR,
				     .vendor_err = HCASIM_VENDOR_ERR_BAD_LKEY};
	struct trace *t = open_trace();
	json_t *r;

	trace_retired(t, 5, 1, &rec);
	rec.issued = 11;
	trace_retired(t, 6, 1, &rec);
	trace_close(t);

	r = record("retire.log", 0);
	CU_ASSERT(number(r, "ps") == 5 && number(r, "order") == 7 && number(r, "qpn") == 16);
	CU_ASSERT(number(r, "index") == 65534 && number(r, "num_bb") == 2);
	CU_ASSERT(number(r, "fetched") == 10 && number(r, "completed") == 1ll << 40);
	CU_ASSERT(number(r, "first_psn") == 0xfffffe && number(r, "psns") == 3);
	CU_ASSERT_STRING_EQUAL(text(r, "op"), "SEND");
	CU_ASSERT_STRING_EQUAL(text(r, "status"), hcasim_cqe_status_name(rec.status));
	CU_ASSERT_STRING_EQUAL(text(r, "vendor_err"), hcasim_vendor_err_name(rec.vendor_err));
	CU_ASSERT_PTR_NULL(json_object_get(r, "issued"));
	json_decref(r);
	r = record("retire.log", 1);
	CU_ASSERT_EQUAL(number(r, "issued"), 11);
	json_decref(r);
}

static void cqes(void)
{
	struct hca_cpl cpl = {
		.qpn = 20, .op = HCASIM_CQE_OP_REQ, .wqe_op = HCASIM_WQE_OP_SEND, .wqe_index = 3};
	uint8_t raw[64] = {0};
	struct trace *t = open_trace();
	json_t *r;

	cpl.status = HCASIM_CQE_STATUS_OK;
	cpl.byte_count = 4096;
	trace_cqe(t, 5, 1, 2, &cpl, raw, sizeof(raw));
	cpl.tagged = true;
	cpl.flow_tag = 0xabcdef;
	trace_cqe(t, 6, 1, 2, &cpl, raw, sizeof(raw));
	trace_close(t);

	r = record("cqe.log", 1);
	CU_ASSERT_EQUAL(number(r, "flow_tag"), 0xabcdef);
	json_decref(r);
	r = record("cqe.log", 0);
	CU_ASSERT_PTR_NULL(json_object_get(r, "flow_tag"));
	CU_ASSERT(number(r, "cqn") == 2 && number(r, "qpn") == 20 && number(r, "byte_count") == 4096);
	CU_ASSERT_STRING_EQUAL(text(r, "status"), hcasim_cqe_status_name(HCASIM_CQE_STATUS_OK));
	CU_ASSERT_STRING_EQUAL(text(r, "wqe_op"), "SEND");
	CU_ASSERT_PTR_NULL(json_object_get(r, "imm"));
	json_decref(r);
}

static void faults(void)
{
	struct trace *t = open_trace();
	json_t *r;

	trace_fault(t, 9, 1, "loss", 70);
	trace_close(t);
	r = record("fault.log", 0);
	CU_ASSERT_STRING_EQUAL(text(r, "from"), "mlx5_0");
	CU_ASSERT_STRING_EQUAL(text(r, "what"), "loss");
	CU_ASSERT(number(r, "ps") == 9 && number(r, "len") == 70);
	json_decref(r);
}

static void refused(const char *where, const char *part)
{
	char err[300] = "";

	CU_ASSERT_PTR_NULL_FATAL(trace_open(where, true, NULL, NULL, err, sizeof(err)));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, part));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "trace"));
}

static void cannot_write(void)
{
	char path[100], longer[5000];
	int fd;

	refused("", "empty");
	refused("no/such/folder", "no/such/folder");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	refused(longer, "too long");
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	refused(path, "file/tlp.log"); /* a file where a folder should be */
	snprintf(path, sizeof(path), "%s/cqe.log", dir);
	remove(path);
	CU_ASSERT_FATAL(!mkdir(path, 0700));
	refused(dir, "cqe.log"); /* a folder where a file should be */
	CU_ASSERT(!rmdir(path));
}

/* A disk that fills up is said at the end, with the name of the file. */
static void disk_full(void)
{
	char path[100], said[500] = "";
	int to, saved = dup(STDERR_FILENO);
	struct trace *t;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/fault.log", dir);
	unlink(path);
	CU_ASSERT_FATAL(!symlink("/dev/full", path));
	t = open_trace();
	trace_fault(t, 9, 1, "loss", 70);
	snprintf(path, sizeof(path), "%s/stderr", dir);
	to = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	CU_ASSERT_FATAL(to >= 0 && saved >= 0 && dup2(to, STDERR_FILENO) >= 0);
	trace_close(t);
	dup2(saved, STDERR_FILENO);
	n = pread(to, said, sizeof(said) - 1, 0);
	CU_ASSERT(n > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "fault.log is incomplete: No space left on device"));
	CU_ASSERT_PTR_NULL(strstr(said, "tlp.log"));
	close(to);
	close(saved);
}

int main(void)
{
	unsigned int failed = 1;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	s = CU_add_suite("traces", setup, teardown);
	CU_add_test(s, "frames", frames);
	CU_add_test(s, "TLPs", tlps);
	CU_add_test(s, "hints", hints);
	CU_add_test(s, "WQEs", wqes);
	CU_add_test(s, "CQEs", cqes);
	CU_add_test(s, "retired WQEs", retired);
	CU_add_test(s, "faults", faults);
	CU_add_test(s, "events", events);
	CU_add_test(s, "no events", no_events);
	CU_add_test(s, "what cannot be written", cannot_write);
	CU_add_test(s, "disk full", disk_full);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (CU_basic_run_tests() == CUE_SUCCESS)
		failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
