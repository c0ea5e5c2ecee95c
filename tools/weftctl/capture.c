/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture: copies the pcapng stream that weftd writes into a pipe to a file.
 *
 * Only whole blocks are written, so that the file is valid wherever the capture ends; frames are
 * the enhanced packet blocks among them (draft-ietf-opsawg-pcapng section 4.3).
 */
#include "lib/clock.h"
#include "lib/pcapng.h"
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	PCAPNG_ENHANCED_PACKET = 6,
	PCAPNG_MIN_BLOCK = 12,
	CAPTURE_BUFFER = 1 << 20,
	CAPTURE_POLL_MS = 100,
};

struct capture {
	const struct ctl *ctl;
	int in, out;
	uint8_t *buf;
	size_t have;
	uint64_t frames;
	uint64_t lost;  /* frames that weftd had no room for, since this end was too slow */
	uint64_t bytes; /* of whole blocks written */
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* Writes as much as the file takes; returns the bytes. */
static size_t write_all(struct capture *c, size_t bytes)
{
	size_t done = 0;
	ssize_t n;

	while (done < bytes) {
		n = write(c->out, c->buf + done, bytes - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/*
 * Finds the whole blocks among the first bytes of the buffer, up to as many frames as were asked
 * for. Returns their bytes. *lost: frames lost before those. *bad: what follows them is no block.
 */
static size_t count_blocks(struct capture *c, size_t bytes, uint64_t *frames, uint64_t *lost,
			   bool *bad)
{
	uint32_t type, length;
	size_t at = 0;

	*frames = 0;
	*lost = 0;
	*bad = false;
	while (bytes - at >= PCAPNG_MIN_BLOCK &&
	       !(c->ctl->count && c->frames + *frames == c->ctl->count)) {
		memcpy(&type, c->buf + at, sizeof(type));
		memcpy(&length, c->buf + at + 4, sizeof(length));
		*bad = length < PCAPNG_MIN_BLOCK || length % 4 || length > CAPTURE_BUFFER;
		if (*bad || length > bytes - at)
			break;
		if (type == PCAPNG_ENHANCED_PACKET) {
			*lost += pcapng_dropped(c->buf + at, length);
			++*frames;
		}
		at += length;
	}
	return at;
}

/* The disk is full, or the like: the file ends with its last whole block. */
static int give_up(struct capture *c, size_t written)
{
	int err = errno;
	struct stat st;
	uint64_t frames, lost;
	bool bad;

	c->bytes += count_blocks(c, written, &frames, &lost, &bad);
	c->frames += frames;
	c->lost += lost;
	if (c->out != STDOUT_FILENO && !fstat(c->out, &st) && S_ISREG(st.st_mode) &&
	    ftruncate(c->out, (off_t)c->bytes))
		(void)fail("%s: its last frame is cut off: %s", c->ctl->file, strerror(errno));
	return fail("%s: %s; the capture ends here", c->ctl->file, strerror(err));
}

/* Writes the whole blocks of the buffer. Sets stop after enough frames. */
static int write_blocks(struct capture *c)
{
	uint64_t frames, lost;
	size_t at, done;
	bool bad;

	at = count_blocks(c, c->have, &frames, &lost, &bad);
	if (bad)
		return fail("weftd sent data that is not pcapng");
	done = write_all(c, at);
	if (done < at)
		return give_up(c, done);
	c->bytes += at;
	c->frames += frames;
	c->lost += lost;
	if (c->ctl->count && c->frames == c->ctl->count)
		stop = 1;
	memmove(c->buf, c->buf + at, c->have - at);
	c->have -= at;
	return CTL_OK;
}

/* Runs until a signal, the count, the time or the end of weftd. */
static int copy(struct capture *c)
{
	double end = c->ctl->seconds > 0 ? clock_now_s() + c->ctl->seconds : 0;
	struct pollfd p = {.fd = c->in, .events = POLLIN};
	ssize_t n;
	int rc;

	while (!stop && (end <= 0 || clock_now_s() < end)) {
		if (poll(&p, 1, CAPTURE_POLL_MS) <= 0)
			continue;
		n = read(c->in, c->buf + c->have, CAPTURE_BUFFER - c->have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return fail("reading frames: %s", strerror(errno));
		if (!n)
			return fail("weftd has ended");
		c->have += (size_t)n;
		rc = write_blocks(c);
		if (rc != CTL_OK)
			return rc;
	}
	return CTL_OK;
}

/*
 * Opens the file for frames of all processes. Its name may be in a folder that others can write: so
 * no link is followed, no file of another user is used, nor one with a second name, and an existing
 * file gets the mode of a new one. A pipe or device is used unchanged. -1 after an error message.
 */
static int open_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		(void)fail("%s: %s", name,
			   errno == ELOOP   ? "is a symbolic link; name the file itself"
			   : errno == ENXIO ? "no process reads that pipe yet"
					    : strerror(errno));
	} else if (st.st_uid != geteuid() && !S_ISCHR(st.st_mode)) {
		(void)fail("%s: belongs to another user, who could read the frames", name);
	} else if (S_ISREG(st.st_mode) && st.st_nlink != 1) {
		(void)fail("%s: has other names as well; remove it first", name);
	} else if (S_ISREG(st.st_mode) && (fchmod(fd, 0600) || ftruncate(fd, 0))) {
		(void)fail("%s: %s", name, strerror(errno));
	} else if (fcntl(fd, F_SETFL, 0)) {
		(void)fail("%s: %s", name, strerror(errno));
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int capture_nic(struct weft_context *context, void *arg)
{
	struct capture *c = arg;
	bool to_stdout = !strcmp(c->ctl->file, "-");
	int rc, said = CTL_OK;

	rc = weft_capture(context, &c->in);
	if (rc)
		return fail("%s: %s%s", context->name, strerror(-rc),
			    rc == -EPERM ? "; capture as root" : "");
	c->out = to_stdout ? STDOUT_FILENO : open_file(c->ctl->file);
	if (c->out < 0)
		return CTL_FAILED;
	if (!c->ctl->json)
		fprintf(stderr, "capturing on %s%s\n", context->name,
			c->ctl->count || c->ctl->seconds > 0 ? "" : "; Ctrl-C ends it");
	rc = copy(c);
	if (!to_stdout && close(c->out) && rc == CTL_OK)
		rc = fail("%s: %s", c->ctl->file, strerror(errno));
	if (c->ctl->json)
		said = out_json(json_pack("{s:s, s:s, s:I, s:I, s:I}", "nic", context->name, "file",
					  c->ctl->file, "frames", (json_int_t)c->frames, "lost",
					  (json_int_t)c->lost, "bytes", (json_int_t)c->bytes));
	else if (c->lost)
		fprintf(stderr,
			"%llu frames, %llu bytes; %llu frames are missing, which came faster than "
			"they could be written\n",
			(unsigned long long)c->frames, (unsigned long long)c->bytes,
			(unsigned long long)c->lost);
	else
		fprintf(stderr, "%llu frames, %llu bytes\n", (unsigned long long)c->frames,
			(unsigned long long)c->bytes);
	return rc ? rc : said;
}

int run_capture(const struct ctl *ctl)
{
	struct capture c = {.ctl = ctl, .in = -1, .out = -1};
	struct sigaction act = {.sa_handler = on_signal};
	bool some;
	int rc;

	c.buf = malloc(CAPTURE_BUFFER);
	if (!c.buf)
		return fail("out of memory");
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	act.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &act, NULL);
	rc = each_nic(ctl, capture_nic, &c, &some);
	if (c.in >= 0)
		close(c.in);
	free(c.buf);
	return rc;
}
