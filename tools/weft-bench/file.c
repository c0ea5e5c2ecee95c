/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a file: the sender writes pieces into the receiver's slots (RDMA Write with immediate), the
 * receiver puts them into its file. Then both ends read their files back and compare SHA-256 sums,
 * outside the measured time.
 */
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "tools/weft-bench/pair.h"
#include "tools/weft-bench/stream.h"

enum {
	FILE_HASH_BYTES = 1 << 20,
};

struct file {
	struct opts *o;
	struct pair pair;
	const char *path;
	int fd;
	uint64_t bytes;
	uint64_t pieces;
	double seconds;
	char hex[SHA256_DIGEST_STRING_LENGTH];
};

static uint32_t piece_bytes(const struct file *f, uint64_t seq)
{
	uint64_t left = f->bytes - seq * f->o->size;

	return left < f->o->size ? (uint32_t)left : f->o->size;
}

static int64_t fill(void *arg, uint8_t *buf, uint64_t seq)
{
	struct file *f = arg;
	uint32_t bytes = piece_bytes(f, seq), got = 0;
	ssize_t n;

	while (got < bytes) {
		n = pread(f->fd, buf + got, bytes - got, (off_t)(seq * f->o->size + got));
		if (n <= 0)
			return fail("%s: %s", f->path, n ? strerror(errno) : "became shorter");
		got += (uint32_t)n;
	}
	return bytes;
}

static int take(void *arg, const uint8_t *buf, uint32_t bytes, uint64_t seq)
{
	struct file *f = arg;
	uint32_t put = 0;
	ssize_t n;

	if (seq >= f->pieces || bytes != piece_bytes(f, seq))
		return fail("piece %llu has %u bytes", (unsigned long long)seq, bytes);
	while (put < bytes) {
		n = pwrite(f->fd, buf + put, bytes - put, (off_t)(seq * f->o->size + put));
		if (n < 0)
			return fail("%s: %s", f->path, strerror(errno));
		put += (uint32_t)n;
	}
	return 0;
}

/* Hashes the current content of the file. */
static int hash_file(struct file *f)
{
	uint8_t *buf = malloc(FILE_HASH_BYTES);
	SHA2_CTX sum;
	off_t at = 0;
	ssize_t n;

	if (!buf)
		return fail("out of memory");
	SHA256Init(&sum);
	while ((n = pread(f->fd, buf, FILE_HASH_BYTES, at)) > 0) {
		SHA256Update(&sum, buf, (size_t)n);
		at += n;
	}
	free(buf);
	if (n < 0)
		return fail("%s: %s", f->path, strerror(errno));
	SHA256End(&sum, f->hex);
	return 0;
}

static void report(const struct file *f, const char *other_hex)
{
	double gbps = f->seconds > 0 ? (double)f->bytes * 8e-9 / f->seconds : 0;
	bool right = !strcmp(f->hex, other_hex);
	const char *device = f->pair.a.end.context->name;
	json_t *more;

	if (!f->o->json) {
		printf("%s %s: %llu bytes in %.3f s, %.3f Gb/s on %s\n",
		       f->o->server ? "received" : "sent", f->path, (unsigned long long)f->bytes,
		       f->seconds, gbps, device);
		printf(" SHA-256 %s: %s\n", f->hex, right ? "the same at both ends" : "DIFFERENT");
		return;
	}
	more = json_pack("{s:I, s:f, s:f, s:s, s:b}", "bytes", (json_int_t)f->bytes, "seconds",
			 f->seconds, "gbps", gbps, "sha256", f->hex, "right", right);
	report_more(f->o, device, more);
}

static int run_sender(struct file *f)
{
	struct ep *ep = &f->pair.a;
	struct stream_tx tx = {.ep = ep, .total = f->pieces, .fill = fill, .arg = f};
	struct ep_idle idle = {.o = f->o, .ep = {ep}, .fd = -1};
	uint64_t start = clock_now_ns();
	const char *hex;
	json_t *msg;
	int n;

	while (!stream_sent(&tx)) {
		n = stream_send(&tx);
		if (n < 0)
			return -1;
		if (n)
			ep_busy(&idle);
		else if (ep_idle(&idle, NULL))
			return -1;
	}
	f->seconds = (double)(clock_now_ns() - start) * 1e-9;
	if (hash_file(f) || oob_send(&f->pair.oob, json_pack("{s:s}", "sha256", f->hex)) ||
	    oob_recv(&f->pair.oob, &msg))
		return -1;
	hex = json_string_value(json_object_get(msg, "sha256"));
	report(f, hex ? hex : "");
	n = hex && !strcmp(hex, f->hex) ? 0 : fail("the file arrived with other bytes");
	json_decref(msg);
	return n;
}

static int run_receiver(struct file *f)
{
	struct ep *ep = &f->pair.a;
	struct stream_rx rx = {.ep = ep, .take = take, .arg = f};
	struct ep_idle idle = {.o = f->o, .ep = {ep}, .fd = f->pair.oob.fd};
	uint64_t start = clock_now_ns();
	const char *hex;
	json_t *msg;
	int n;

	while (rx.next < f->pieces) {
		n = stream_recv(&rx);
		if (n < 0)
			return -1;
		if (n)
			ep_busy(&idle);
		else if (ep_idle(&idle, NULL))
			return -1;
		/*
		 * The sender reports when everything was acknowledged: the rest should arrive soon.
		 */
		if (idle.fd_ready)
			idle.fd = -1;
	}
	f->seconds = (double)(clock_now_ns() - start) * 1e-9;
	if (hash_file(f) || oob_recv(&f->pair.oob, &msg))
		return -1;
	hex = json_string_value(json_object_get(msg, "sha256"));
	report(f, hex ? hex : "");
	n = hex && !strcmp(hex, f->hex) ? 0 : fail("%s holds other bytes than were sent", f->path);
	json_decref(msg);
	return oob_send(&f->pair.oob, json_pack("{s:s}", "sha256", f->hex)) ? -1 : n;
}

/* Opens the sender's file and gets its length; creates the receiver's. */
static int open_file(struct file *f)
{
	struct stat st;

	f->path = f->o->server ? f->o->recv_file : f->o->send_file;
	if (f->o->server)
		f->fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	else
		f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st))
		return fail("%s: %s", f->path, strerror(errno));
	if (!f->o->server && !S_ISREG(st.st_mode))
		return fail("%s: not a file that can be sent", f->path);
	f->bytes = (uint64_t)st.st_size;
	return 0;
}

/* The receiver gets the length of the file. */
static int tell_length(struct file *f)
{
	json_t *msg;
	int rc;

	if (!f->o->server)
		return oob_send(&f->pair.oob,
				json_pack("{s:I}", "file_bytes", (json_int_t)f->bytes));
	if (oob_recv(&f->pair.oob, &msg))
		return -1;
	rc = oob_number(msg, "file_bytes", INT64_MAX / 2, &f->bytes);
	json_decref(msg);
	return rc;
}

int file_run(struct opts *o)
{
	struct file f = {.o = o, .fd = -1};
	int rc;

	o->op = BENCH_WRITE;
	o->warmup = 0;
	rc = open_file(&f);
	if (!rc)
		rc = pair_open(&f.pair, o);
	if (!rc)
		rc = tell_length(&f);
	f.pieces = (f.bytes + o->size - 1) / o->size;
	if (!rc)
		rc = stream_start(&f.pair.a);
	if (!rc)
		rc = pair_sync(&f.pair);
	if (!rc)
		rc = o->server ? run_receiver(&f) : run_sender(&f);
	pair_close(&f.pair);
	if (f.fd >= 0 && close(f.fd) && !rc)
		rc = fail("%s: %s", f.path, strerror(errno));
	return rc ? BENCH_FAILED : BENCH_OK;
}
