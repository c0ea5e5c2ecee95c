/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start, end, patterns and failures of the MPI programs of this folder; see mt.h. Calls MPI.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/mt.h"

#include "lib/prng.h"

struct mt mt = {.max_bytes = (size_t)64 << 20, .rounds = 3};

static const char *part = "start";
static unsigned int limit_s = 600;
static size_t sizes[64];

enum {
	WORD = 8,
};

void mt_fail(const char *format, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fprintf(stderr, "%s: rank %d: %s: %s\n", mt.program, mt.rank, part, text);
	fflush(stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

/* Only functions that a signal handler may call. */
static void hangs(int signal_number)
{
	char text[300];
	int n = snprintf(text, sizeof(text), "%s: rank %d: %s: not done in %u s\n", mt.program,
			 mt.rank, part, limit_s);

	(void)signal_number;
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(3);
	_exit(1);
}

void mt_part(const char *name)
{
	part = name;
	if (getenv("MT_VERBOSE") && mt.rank == 0)
		fprintf(stderr, "%s: %s\n", mt.program, name);
	alarm(limit_s);
}

static void add_size(size_t *n, size_t bytes)
{
	if (bytes > mt.max_bytes)
		return;
	if (*n && sizes[*n - 1] >= bytes)
		return;
	sizes[(*n)++] = bytes;
}

/* 2^k and a byte more or less, and some that are no power of two. */
static void make_sizes(void)
{
	static const size_t small[] = {0, 1, 2, 3, 7, 8, 9, 31, 56, 63, 64, 65, 127, 200};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		add_size(&n, small[i]);
	for (size_t b = 256; b <= (size_t)64 << 20; b *= mt.quick ? 4 : 2) {
		add_size(&n, b - 1);
		if (b <= 1 << 20)
			add_size(&n, b);
		if (b <= 1 << 20 && !mt.quick)
			add_size(&n, b + 1);
	}
	add_size(&n, mt.max_bytes);
	sizes[n] = SIZE_MAX;
}

const size_t *mt_sizes(void)
{
	return sizes;
}

static void usage(const char *wrong)
{
	fprintf(
	    stderr,
	    "%s: %s\nOptions: --max-bytes N (largest message, default 64 MiB), --rounds N, --quick "
	    "(fewer sizes and roots), --flush-requests (rma), --issend (p2p), --timeout SECONDS "
	    "(per part, default "
	    "600)\n",
	    mt.program, wrong);
	exit(2);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text ? text : "", &end, 10);

	if (!text || end == text || *end)
		usage("an option needs a number");
	return value;
}

static void options(int argc, char **argv)
{
	mt.program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			mt.quick = true;
		else if (strcmp(argv[i], "--flush-requests") == 0)
			mt.flush_requests = true;
		else if (strcmp(argv[i], "--issend") == 0)
			mt.issend = true;
		else if (strcmp(argv[i], "--max-bytes") == 0)
			mt.max_bytes = number(argv[++i]);
		else if (strcmp(argv[i], "--rounds") == 0)
			mt.rounds = (int)number(argv[++i]);
		else if (strcmp(argv[i], "--timeout") == 0)
			limit_s = (unsigned int)number(argv[++i]);
		else
			usage("unknown option");
	}
	if (mt.max_bytes > (size_t)64 << 20)
		usage("--max-bytes is at most 67108864");
}

void mt_start(int argc, char **argv, int thread_level)
{
	int got;

	options(argc, argv);
	signal(SIGALRM, hangs);
	alarm(limit_s);
	if (MPI_Init_thread(&argc, &argv, thread_level, &got) != MPI_SUCCESS) {
		fprintf(stderr, "%s: MPI_Init_thread failed\n", mt.program);
		exit(1);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &mt.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt.ranks);
	MT_CHECK(got >= thread_level, "the library gives thread level %d, not %d", got,
		 thread_level);
	MT_CHECK(mt.ranks >= 2, "this needs 2 ranks or more");
	make_sizes();
}

int mt_end(void)
{
	unsigned long all = 0;

	mt_part("end");
	MPI_Reduce(&mt.checks, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (mt.rank == 0)
		printf("%s: ok, %d ranks, %lu buffers compared\n", mt.program, mt.ranks, all);
	MPI_Finalize();
	return 0;
}

void *mt_alloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p)
		mt_fail("no memory for %zu bytes", bytes);
	memset(p, 0xee, bytes ? bytes : 1);
	return p;
}

uint64_t mt_seed(int from, int to, int tag, size_t count)
{
	return prng_mix(prng_mix(prng_mix((uint64_t)from << 32 | (uint32_t)to) + (uint32_t)tag) +
			count);
}

uint32_t mt_random(uint64_t *state, uint32_t below)
{
	*state = prng_mix(*state);
	return (uint32_t)((*state >> 32) * below >> 32);
}

/* Eight bytes of a pattern; cheap, as tens of MiB are made and compared. */
static uint64_t word_at(uint64_t seed, size_t index)
{
	uint64_t x = (seed + index) * 0x9e3779b97f4a7c15;

	return x ^ (x >> 29);
}

void mt_fill(void *buf, size_t bytes, uint64_t seed)
{
	uint8_t *p = buf;
	size_t i = 0;
	uint64_t w;

	for (; i + WORD <= bytes; i += WORD) {
		w = word_at(seed, i / WORD);
		memcpy(p + i, &w, WORD);
	}
	w = word_at(seed, i / WORD);
	memcpy(p + i, &w, bytes - i);
}

static void __attribute__((noreturn))
differ(const uint8_t *p, size_t at, const uint8_t *want, size_t bytes, const char *what)
{
	size_t i = at;

	while (p[i] == want[i - at])
		i++;
	mt_fail("%s: byte %zu of %zu is 0x%02x, not 0x%02x", what, i, bytes, p[i], want[i - at]);
}

void mt_same(const void *buf, size_t bytes, uint64_t seed, const char *what)
{
	const uint8_t *p = buf;
	size_t i = 0;
	uint64_t w;

	__atomic_add_fetch(&mt.checks, 1, __ATOMIC_RELAXED);
	for (; i + WORD <= bytes; i += WORD) {
		w = word_at(seed, i / WORD);
		if (memcmp(p + i, &w, WORD) != 0)
			differ(p, i, (uint8_t *)&w, bytes, what);
	}
	w = word_at(seed, i / WORD);
	if (memcmp(p + i, &w, bytes - i) != 0)
		differ(p, i, (uint8_t *)&w, bytes, what);
}

void mt_untouched(const void *buf, size_t bytes, uint8_t value, const char *what)
{
	const uint8_t *p = buf;

	for (size_t i = 0; i < bytes; i++)
		MT_CHECK(p[i] == value, "%s: byte %zu of %zu was written", what, i, bytes);
}
