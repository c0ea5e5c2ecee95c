/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks: half a round trip, and bandwidth with a window each way (Rashti's
 * thesis, figures 6.4 and 6.5).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Both post receives, then send: MiB/s, sum of both directions. */
static double rounds_of_both(const struct p2p *p, int rounds)
{
	MPI_Request req[2 * WINDOW];
	double begun = MPI_Wtime();

	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < WINDOW; k++)
			MPI_Irecv(p->in + (size_t)k * (size_t)p->bytes, p->bytes, MPI_BYTE,
				  p->partner, 2, p->team->comm, &req[k]);
		for (int k = 0; k < WINDOW; k++)
			MPI_Isend(p->out + (size_t)k * (size_t)p->bytes, p->bytes, MPI_BYTE,
				  p->partner, 2, p->team->comm, &req[WINDOW + k]);
		MPI_Waitall(2 * WINDOW, req, MPI_STATUSES_IGNORE);
	}
	return 2.0 * WINDOW * rounds * p->bytes / (1 << 20) / (MPI_Wtime() - begun);
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

bool kern_p2p(struct kern_team *team, bool both, int bytes, double seconds, double *values,
	      int count)
{
	double (*const run)(const struct p2p *, int) = both ? rounds_of_both : rounds_of_ping;
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
	right = is_right(&p, both ? WINDOW : 1);
	free(p.out);
	return right;
}
