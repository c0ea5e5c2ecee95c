/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks: half a round trip, and bandwidth with a window each way (Rashti's
 * thesis, figures 6.4 and 6.5).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/bench/mpi/kern.h"

enum {
	WINDOW = 16,
	MAX_ROUNDS = 2000,
};

struct p2p {
	struct kern_team *team;
	int bytes, partner;
	uint8_t *out, *in; /* WINDOW messages each */
};

static void fill(uint8_t *p, int bytes, int rank)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)((unsigned int)(i + rank) * 2654435761u >> 24);
}

static double rounds_of_ping(const struct p2p *p, int rounds)
{
	double begun = MPI_Wtime();

	for (int i = 0; i < rounds; i++) {
		if (!p->team->rank)
			MPI_Send(p->out, p->bytes, MPI_BYTE, p->partner, 1, p->team->comm);
		MPI_Recv(p->in, p->bytes, MPI_BYTE, p->partner, 1, p->team->comm,
			 MPI_STATUS_IGNORE);
		if (p->team->rank)
			MPI_Send(p->out, p->bytes, MPI_BYTE, p->partner, 1, p->team->comm);
	}
	return (MPI_Wtime() - begun) * 1e6 / 2 / rounds;
}

/* Memory of its own mapping, which goes back to the kernel. */
static uint8_t *fresh_room(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "kern: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
		exit(1);
	}
	return p;
}

static double p2p_mib_s(const struct p2p *p, int rounds, double begun)
{
	return 2.0 * WINDOW * rounds * p->bytes / (1 << 20) / (MPI_Wtime() - begun);
}

/* A window each way out of one buffer into another one. */
static void one_window(const struct p2p *p, uint8_t *out, uint8_t *in)
{
	MPI_Request req[2 * WINDOW];

	for (int k = 0; k < WINDOW; k++)
		MPI_Irecv(in + (size_t)k * (size_t)p->bytes, p->bytes, MPI_BYTE, p->partner, 2,
			  p->team->comm, &req[k]);
	for (int k = 0; k < WINDOW; k++)
		MPI_Isend(out + (size_t)k * (size_t)p->bytes, p->bytes, MPI_BYTE, p->partner, 2,
			  p->team->comm, &req[WINDOW + k]);
	MPI_Waitall(2 * WINDOW, req, MPI_STATUSES_IGNORE);
}

/* Both post receives, then send: MiB/s, sum of both directions. */
static double rounds_of_both(const struct p2p *p, int rounds)
{
	double begun = MPI_Wtime();

	for (int i = 0; i < rounds; i++)
		one_window(p, p->out, p->in);
	return p2p_mib_s(p, rounds, begun);
}

/* The same by requests that are made once (SCI-MPICH, III.C). */
static double rounds_of_persistent(const struct p2p *p, int rounds)
{
	MPI_Request req[2 * WINDOW];
	double begun, mib_s;

	for (int k = 0; k < WINDOW; k++) {
		MPI_Recv_init(p->in + (size_t)k * (size_t)p->bytes, p->bytes, MPI_BYTE, p->partner,
			      2, p->team->comm, &req[k]);
		MPI_Send_init(p->out + (size_t)k * (size_t)p->bytes, p->bytes, MPI_BYTE, p->partner,
			      2, p->team->comm, &req[WINDOW + k]);
	}
	begun = MPI_Wtime();
	for (int i = 0; i < rounds; i++) {
		MPI_Startall(2 * WINDOW, req);
		MPI_Waitall(2 * WINDOW, req, MPI_STATUSES_IGNORE);
	}
	mib_s = p2p_mib_s(p, rounds, begun);
	for (int k = 0; k < 2 * WINDOW; k++)
		MPI_Request_free(&req[k]);
	return mib_s;
}

/* The same from memory that no message was in before: nothing that was registered can be used
 * again. */
static double rounds_of_fresh(const struct p2p *p, int rounds)
{
	size_t all = (size_t)p->bytes * WINDOW;
	double begun = MPI_Wtime(), away_s = 0;

	for (int i = 0; i < rounds; i++) {
		double at = MPI_Wtime();
		uint8_t *out = fresh_room(2 * all), *in = out + all;

		memcpy(out, p->out, all);
		memset(in, 0, all);
		away_s += MPI_Wtime() - at;
		one_window(p, out, in);
		at = MPI_Wtime();
		memcpy(p->in, in, all);
		munmap(out, 2 * all);
		away_s += MPI_Wtime() - at;
	}
	return p2p_mib_s(p, rounds, begun + away_s);
}

static bool is_right(const struct p2p *p, int messages)
{
	uint8_t *want = kern_room((size_t)p->bytes, 1);
	bool right = true;

	fill(want, p->bytes, p->partner);
	for (int k = 0; k < messages; k++)
		right =
		    right && !memcmp(p->in + (size_t)k * (size_t)p->bytes, want, (size_t)p->bytes);
	free(want);
	return right;
}

bool kern_p2p(struct kern_team *team, enum kern_messages kind, int bytes, double seconds,
	      double *values, int count)
{
	static double (*const kinds[])(const struct p2p *, int) = {
	    [KERN_PING] = rounds_of_ping,
	    [KERN_BOTH] = rounds_of_both,
	    [KERN_PERSISTENT] = rounds_of_persistent,
	    [KERN_FRESH] = rounds_of_fresh,
	};
	double (*const run)(const struct p2p *, int) = kinds[kind];
	struct p2p p = {.team = team, .bytes = bytes, .partner = !team->rank};
	size_t all = (size_t)bytes * WINDOW;
	double begun;
	int rounds = 4;
	bool right;

	p.out = kern_room(all * 2, 1);
	p.in = p.out + all;
	for (int k = 0; k < WINDOW; k++)
		fill(p.out + (size_t)k * (size_t)bytes, bytes, team->rank);
	(void)run(&p, rounds);
	begun = MPI_Wtime();
	(void)run(&p, rounds);
	rounds = (int)(seconds / count / (MPI_Wtime() - begun) * rounds);
	rounds = rounds < 4 ? 4 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
	MPI_Bcast(&rounds, 1, MPI_INT, 0, team->comm);
	for (int i = 0; i < count; i++) {
		MPI_Barrier(team->comm);
		values[i] = run(&p, rounds);
	}
	right = is_right(&p, kind == KERN_PING ? 1 : WINDOW);
	free(p.out);
	return right;
}
