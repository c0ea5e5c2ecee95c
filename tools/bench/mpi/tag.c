/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_tag: messages of MPI between two ranks; see tag.h. Started with mpirun by
 * tools/bench/tag_mpi.py and tools/plot/tagged.py, built with mpicc where there is one.
 *
 *	mpi_tag SECONDS sleep|nap|wait NAME[:...]:BYTES...
 *
 *	rate:BYTES		millions of messages a second, one way, windows of 64
 *	pingpong:BYTES		half a round trip, the same buffers again and again
 *	fresh:BYTES		the same, each message from and to memory that was not used lately
 *	spectrum:BYTES		the same over 1,000 buffers, of which buffer i is used i times
 *				(thesis, 5.5.1)
 *	exchange:BYTES		receive posted, message sent, receive awaited, by both ranks: the
 *				pattern of CG (speculative-rendezvous, figure 18)
 *	overlap:SIDE:FIRST:BYTES, progress:SIDE:FIRST:BYTES
 *				tag_overlap.c; SIDE send or recv, FIRST receiver or sender
 *
 * sleep, nap, wait: what rank 1 does while rank 0 computes. Rank 0 prints a JSON array; figures are
 * medians of RUNS blocks, with the extremes. Exit status 1 when a byte is wrong.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/bench/mpi/tag.h"

enum {
	RUNS = 5,
	WINDOW = 64,
	MIN_ROUNDS = 10,
	MAX_ROUNDS = 20000,
	MAX_BYTES = 64 << 20,
	SPAN_BYTES = 32 << 20, /* of fresh buffers */
	BUFFERS = 1000,        /* of the spectrum */
	PAGE_BYTES = 4096,
	DATA = 1,
	CREDIT = 2,
};

void tag_die(const struct tag_job *job, const char *text)
{
	fprintf(stderr, "mpi_tag: rank %d: %s\n", job->rank, text);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void *tag_room(const struct tag_job *job, size_t bytes)
{
	void *p = NULL;

	if (posix_memalign(&p, PAGE_BYTES, bytes ? bytes : 1))
		tag_die(job, "out of memory");
	memset(p, 0, bytes);
	return p;
}

void tag_row(struct tag_job *job, const char *mode, size_t bytes)
{
	printf("%s{\"mode\": \"%s\", \"bytes\": %zu", job->rows++ ? ",\n " : "[", mode, bytes);
}

void tag_figure(const char *name, double *values, int num)
{
	stats_sort(values, (size_t)num);
	printf(", \"%s\": %.4f, \"%s_min\": %.4f, \"%s_max\": %.4f", name, values[num / 2], name,
	       values[0], name, values[num - 1]);
}

void tag_row_end(void)
{
	printf("}");
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static uint64_t word_of(uint64_t seq, size_t place)
{
	return (seq + place) * UINT64_C(0x9e3779b97f4a7c15);
}

void tag_fill(uint8_t *p, size_t bytes, uint64_t seq)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint64_t word = word_of(seq, at);
		size_t n = bytes - at < sizeof(word) ? bytes - at : sizeof(word);

		memcpy(p + at, &word, n);
	}
}

bool tag_is_right(const uint8_t *p, size_t bytes, uint64_t seq)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint64_t word = word_of(seq, at);
		size_t n = bytes - at < sizeof(word) ? bytes - at : sizeof(word);

		if (memcmp(p + at, &word, n) != 0)
			return false;
	}
	return true;
}

/* The first and the last 64 bytes alone: within a measurement that must not last. */
static void mark(uint8_t *p, size_t bytes, uint64_t seq)
{
	size_t n = bytes < 64 ? bytes : 64;

	tag_fill(p, n, seq);
	tag_fill(p + bytes - n, n, ~seq);
}

static void check(const struct tag_job *job, const uint8_t *p, size_t bytes, uint64_t seq)
{
	size_t n = bytes < 64 ? bytes : 64;

	if ((bytes > 64 && !tag_is_right(p, n, seq)) || !tag_is_right(p + bytes - n, n, ~seq))
		tag_die(job, "wrong bytes came");
}

/* ---- measurements of both ranks ------------------------------------------------------------- */

struct p2p {
	struct tag_job *job;
	size_t bytes;
	size_t step;  /* from one buffer to the next */
	size_t count; /* of buffers */
	uint8_t *tx, *rx;
};

/* One ping-pong through the n-th buffers. */
static void round_trip(struct p2p *p, size_t n)
{
	uint8_t *tx = p->tx + n % p->count * p->step, *rx = p->rx + n % p->count * p->step;
	int peer = !p->job->rank, bytes = (int)p->bytes;
	uint64_t seq = ++p->job->seq;

	mark(tx, p->bytes, seq);
	if (!p->job->rank)
		MPI_Send(tx, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
	MPI_Recv(rx, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	check(p->job, rx, p->bytes, seq);
	if (p->job->rank)
		MPI_Send(tx, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
}

static void ping_pongs(struct p2p *p, uint32_t rounds)
{
	static size_t place;

	for (uint32_t i = 0; i < rounds; i++)
		round_trip(p, p->count > 1 ? place++ : 0);
}

static void exchanges(struct p2p *p, uint32_t rounds)
{
	int peer = !p->job->rank, bytes = (int)p->bytes;
	MPI_Request r;

	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t seq = ++p->job->seq;

		mark(p->tx, p->bytes, seq);
		MPI_Irecv(p->rx, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, &r);
		MPI_Send(p->tx, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		check(p->job, p->rx, p->bytes, seq);
	}
}

static void windows(struct p2p *p, uint32_t rounds)
{
	int peer = !p->job->rank, bytes = (int)p->bytes;
	bool sends = !p->job->rank;
	MPI_Request r[WINDOW];

	for (uint32_t i = 0; i < rounds; i++) {
		for (int k = 0; k < WINDOW; k++) {
			uint8_t *at = p->tx + (size_t)k * p->step;
			uint64_t seq = ++p->job->seq;

			if (sends)
				mark(at, p->bytes, seq);
			if (sends)
				MPI_Isend(at, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, &r[k]);
			else
				MPI_Irecv(at, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, &r[k]);
		}
		MPI_Waitall(WINDOW, r, MPI_STATUSES_IGNORE);
		for (int k = 0; k < WINDOW && !sends; k++)
			check(p->job, p->tx + (size_t)k * p->step, p->bytes,
			      p->job->seq - WINDOW + 1 + (uint64_t)k);
		/* The receives of the next window are posted when the credit is sent. */
		if (sends)
			MPI_Recv(NULL, 0, MPI_BYTE, peer, CREDIT, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		else
			MPI_Send(NULL, 0, MPI_BYTE, peer, CREDIT, MPI_COMM_WORLD);
	}
}

static double timed(struct p2p *p, void (*work)(struct p2p *, uint32_t), uint32_t rounds)
{
	double start;

	MPI_Barrier(MPI_COMM_WORLD);
	start = clock_now_us();
	work(p, rounds);
	return (clock_now_us() - start) / rounds;
}

/* Times of one round, us: RUNS blocks, all of them as long as seconds. */
static void blocks(struct p2p *p, void (*work)(struct p2p *, uint32_t), double *us)
{
	double wanted;
	uint32_t rounds = MIN_ROUNDS;

	(void)timed(p, work, rounds);
	wanted = p->job->seconds * 1e6 / RUNS / timed(p, work, rounds);
	rounds = wanted < MIN_ROUNDS   ? MIN_ROUNDS
		 : wanted > MAX_ROUNDS ? MAX_ROUNDS
				       : (uint32_t)wanted;
	MPI_Bcast(&rounds, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
	for (int i = 0; i < RUNS; i++)
		us[i] = timed(p, work, rounds);
}

/*
 * Each buffer as often as its number says, one after the other. Returns the time of a message, us.
 * Once in a process: the buffers have not been counted yet.
 */
static double spectrum(struct p2p *p)
{
	double start;

	MPI_Barrier(MPI_COMM_WORLD);
	start = clock_now_us();
	for (size_t n = 0; n < p->count; n++)
		for (size_t use = 0; use <= n; use++)
			round_trip(p, n);
	return (clock_now_us() - start) / (double)p->count / ((double)p->count + 1);
}

static void both(struct tag_job *job, const char *mode, size_t bytes)
{
	bool once = !strcmp(mode, "spectrum"), rate = !strcmp(mode, "rate");
	struct p2p p = {.job = job, .bytes = bytes, .step = bytes, .count = 1};
	size_t room = bytes * WINDOW;
	double us[RUNS];

	/* Rank 0 alone has counted the messages of overlap and progress. */
	MPI_Bcast(&job->seq, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (once) {
		p.count = BUFFERS;
		p.step = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	} else if (!strcmp(mode, "fresh")) {
		p.count = SPAN_BYTES / bytes;
	}
	if (p.count * p.step > room)
		room = p.count * p.step;
	p.tx = tag_room(job, room);
	p.rx = tag_room(job, room);
	if (once)
		us[0] = spectrum(&p);
	else
		blocks(&p, rate ? windows : !strcmp(mode, "exchange") ? exchanges : ping_pongs, us);
	free(p.tx);
	free(p.rx);
	for (int i = 0; i < RUNS && !once; i++) {
		if (rate)
			us[i] = WINDOW / us[i];
		else if (strcmp(mode, "exchange") != 0)
			us[i] /= 2;
	}
	if (job->rank)
		return;
	tag_row(job, mode, bytes);
	tag_figure(rate ? "mmsg_s" : "us", us, once ? 1 : RUNS);
	tag_row_end();
}

/* ---- start ---------------------------------------------------------------------------------- */

/* A socket between the ranks. It has a name in the file system: they may be in two namespaces. */
static int connect_ranks(struct tag_job *job)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/tmp/mpi-tag.XXXXXX"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), other;

	if (fd < 0)
		return -1;
	if (!job->rank && (!mkdtemp(at.sun_path) || !strcat(at.sun_path, "/socket") ||
			   bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))) {
		close(fd);
		return -1;
	}
	MPI_Bcast(at.sun_path, sizeof(at.sun_path), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (job->rank)
		return connect(fd, (struct sockaddr *)&at, sizeof(at)) ? -1 : fd;
	other = accept(fd, NULL, NULL);
	close(fd);
	unlink(at.sun_path);
	*strrchr(at.sun_path, '/') = '\0';
	rmdir(at.sun_path);
	return other;
}

/*
 * Rank 1 stands for another computer: when it is woken it runs at once, for the moment of a call,
 * where both share a processor.
 */
static void run_at_once(const struct tag_job *job, bool on)
{
	const struct sched_param param = {.sched_priority = on};

	/* Refused to others than root, whose figures then depend on the kernel's choice. */
	if (job->rank && job->partner != TAG_WAIT)
		(void)sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &param);
}

/* False: no such measurement. */
static bool measure(struct tag_job *job, const char *text)
{
	char mode[16], side[16] = "", first[16] = "";
	bool ordered = sscanf(text, "%15[^:]:%15[^:]:%15[^:]:", mode, side, first) == 3;
	const char *number = strrchr(text, ':');
	long bytes = number ? strtol(number + 1, NULL, 10) : 0;
	bool late = !strcmp(first, "sender");
	enum tag_side which = !strcmp(side, "recv") ? (late ? TAG_RECV_LATE : TAG_RECV)
						    : (late ? TAG_SEND_LATE : TAG_SEND);

	if (bytes < 1 || bytes > MAX_BYTES || sscanf(text, "%15[^:]", mode) != 1)
		return false;
	if (ordered && (!strcmp(mode, "overlap") || !strcmp(mode, "progress"))) {
		run_at_once(job, true);
		(mode[0] == 'o' ? tag_overlap : tag_progress)(job, which, (size_t)bytes);
		run_at_once(job, false);
		return true;
	}
	if (strcmp(mode, "rate") && strcmp(mode, "pingpong") && strcmp(mode, "fresh") &&
	    strcmp(mode, "spectrum") && strcmp(mode, "exchange"))
		return false;
	if (!strcmp(mode, "fresh") && bytes > SPAN_BYTES)
		return false;
	both(job, mode, (size_t)bytes);
	return true;
}

static bool parse(struct tag_job *job, int argc, char **argv)
{
	static const char *const partners[] = {
	    [TAG_SLEEP] = "sleep", [TAG_NAP] = "nap", [TAG_WAIT] = "wait"};
	int i;

	if (argc < 4)
		return false;
	job->seconds = atof(argv[1]);
	for (i = 0; i < 3 && strcmp(argv[2], partners[i]) != 0; i++)
		;
	job->partner = (enum tag_partner)i;
	return job->seconds > 0 && i < 3;
}

int main(int argc, char **argv)
{
	struct tag_job job = {.peer_fd = -1};
	int ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2 || !parse(&job, argc, argv))
		tag_die(&job, "usage: mpirun -n 2 mpi_tag SECONDS sleep|nap|wait NAME:...:BYTES");
	job.peer_fd = connect_ranks(&job);
	if (job.peer_fd < 0)
		tag_die(&job, "no socket between the ranks");
	for (int i = 3; i < argc; i++)
		if (!measure(&job, argv[i]))
			tag_die(&job, "no such measurement");
	if (!job.rank)
		puts("]");
	close(job.peer_fd);
	MPI_Finalize();
	return 0;
}
