/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point: every size from 0 to --max-bytes, every kind of send, one message at a time and
 * many; order; any source and any tag; probes; unexpected messages; communicators. Options: mt.h.
 * Calls mt.c and MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mt.h"

enum {
	GUARD = 16, /* bytes behind a receive that must stay unchanged */
	GUARD_BYTE = 0xee,
	FLOOD = 200, /* messages in flight at once, per peer */
	ORDERED = 300,
	TAG_ORDER = 5000, /* tag of no other part: finished ranks go on sending */
};

static int partner(void)
{
	int p = mt.rank ^ 1;

	return p < mt.ranks ? p : mt.rank;
}

static int right(void)
{
	return (mt.rank + 1) % mt.ranks;
}

static int left(void)
{
	return (mt.rank + mt.ranks - 1) % mt.ranks;
}

static void expect_status(const MPI_Status *status, int source, int tag, size_t bytes)
{
	int count;

	MPI_Get_count(status, MPI_BYTE, &count);
	MT_CHECK(status->MPI_SOURCE == source, "source %d, not %d", status->MPI_SOURCE, source);
	MT_CHECK(status->MPI_TAG == tag, "tag %d, not %d", status->MPI_TAG, tag);
	MT_CHECK((size_t)count == bytes, "%d bytes, not %zu", count, bytes);
}

/* Back and forth between the two of a pair; the receive is larger than the message. */
static void pairs(void)
{
	int peer = partner();

	mt_part("blocking, every size");
	if (peer == mt.rank)
		return;
	for (const size_t *s = mt_sizes(); *s != SIZE_MAX; s++) {
		uint8_t *out = mt_alloc(*s), *in = mt_alloc(*s + GUARD);
		int turns = *s > 1 << 20 ? 2 : 4;

		for (int i = 0; i < turns; i++) {
			MPI_Status status;

			mt_fill(out, *s, mt_seed(mt.rank, peer, i, *s));
			if (mt.rank < peer)
				MPI_Send(out, (int)*s, MPI_BYTE, peer, i, MPI_COMM_WORLD);
			MPI_Recv(in, (int)*s + GUARD, MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
			expect_status(&status, peer, i, *s);
			mt_same(in, *s, mt_seed(peer, mt.rank, i, *s), "received");
			mt_untouched(in + *s, GUARD, GUARD_BYTE, "behind the message");
			if (mt.rank > peer)
				MPI_Send(out, (int)*s, MPI_BYTE, peer, i, MPI_COMM_WORLD);
		}
		free(out);
		free(in);
	}
}

/* One message to itself: libraries use another path. */
static void self(void)
{
	mt_part("to oneself");
	for (const size_t *s = mt_sizes(); *s != SIZE_MAX; s++) {
		uint8_t *out = mt_alloc(*s), *in = mt_alloc(*s);
		MPI_Request request;

		mt_fill(out, *s, *s);
		MPI_Irecv(in, (int)*s, MPI_BYTE, mt.rank, 5, MPI_COMM_WORLD, &request);
		MPI_Send(out, (int)*s, MPI_BYTE, mt.rank, 5, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		mt_same(in, *s, *s, "received");
		free(out);
		free(in);
	}
}

/* All ranks at once, around a ring: Sendrecv, and in place. */
static void ring(void)
{
	mt_part("sendrecv round the ring");
	for (const size_t *s = mt_sizes(); *s != SIZE_MAX; s++) {
		uint8_t *out = mt_alloc(*s), *in = mt_alloc(*s);
		MPI_Status status;

		mt_fill(out, *s, mt_seed(mt.rank, right(), 1, *s));
		MPI_Sendrecv(out, (int)*s, MPI_BYTE, right(), 1, in, (int)*s, MPI_BYTE, left(), 1,
			     MPI_COMM_WORLD, &status);
		expect_status(&status, left(), 1, *s);
		mt_same(in, *s, mt_seed(left(), mt.rank, 1, *s), "received");
		if (*s <= 4 << 20) {
			MPI_Sendrecv_replace(out, (int)*s, MPI_BYTE, right(), 2, left(), 2,
					     MPI_COMM_WORLD, &status);
			mt_same(out, *s, mt_seed(left(), mt.rank, 1, *s), "replaced");
		}
		free(out);
		free(in);
	}
}

/* kind: 0 synchronous, 1 buffered, 2 ready, 3 to 5 the same non-blocking. */
static void send_as(int kind, const void *buf, int bytes, int to, int tag)
{
	static int (*const blocking[])(const void *, int, MPI_Datatype, int, int,
				       MPI_Comm) = {MPI_Ssend, MPI_Bsend, MPI_Rsend};
	static int (*const starting[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
				       MPI_Request *) = {MPI_Issend, MPI_Ibsend, MPI_Irsend};
	MPI_Request request;

	if (kind == 0 && mt.issend)
		kind = 3;
	if (kind < 3) {
		blocking[kind](buf, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
		return;
	}
	starting[kind - 3](buf, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one_mode(int kind, size_t bytes, uint8_t *out, uint8_t *in)
{
	MPI_Request request;
	MPI_Status status;
	int token = 0;

	mt_fill(out, bytes, mt_seed(mt.rank, right(), kind, bytes));
	MPI_Irecv(in, (int)bytes, MPI_BYTE, left(), kind, MPI_COMM_WORLD, &request);
	/* the receiver of a ready send must have posted */
	MPI_Sendrecv(&token, 1, MPI_INT, left(), 99, &token, 1, MPI_INT, right(), 99,
		     MPI_COMM_WORLD, &status);
	send_as(kind, out, (int)bytes, right(), kind);
	MPI_Wait(&request, &status);
	expect_status(&status, left(), kind, bytes);
	mt_same(in, bytes, mt_seed(left(), mt.rank, kind, bytes), "received");
}

static void modes(void)
{
	size_t most = mt.max_bytes < 4 << 20 ? mt.max_bytes : 4 << 20;
	size_t room = 2 * most + 16 * MPI_BSEND_OVERHEAD;
	uint8_t *out = mt_alloc(most), *in = mt_alloc(most), *buffer = mt_alloc(room);
	void *detached;
	int detached_bytes;

	mt_part("synchronous, buffered and ready sends");
	MPI_Buffer_attach(buffer, (int)room);
	for (const size_t *s = mt_sizes(); *s <= most; s++)
		for (int kind = 0; kind < 6; kind++)
			one_mode(kind, *s, out, in);
	MPI_Buffer_detach(&detached, &detached_bytes);
	free(buffer);
	free(out);
	free(in);
}

/* A synchronous send has not ended before its receive was posted. */
static void synchronous(void)
{
	int peer = partner(), done = 0, value = 7, token = 0;
	MPI_Request request;

	mt_part("a synchronous send waits");
	if (peer == mt.rank)
		return;
	if (mt.rank < peer) {
		MPI_Issend(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &request);
		for (int i = 0; i < 1000; i++) {
			MPI_Test(&request, &done, MPI_STATUS_IGNORE);
			MT_CHECK(!done, "it has ended before its receive");
		}
		MPI_Send(&token, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(&token, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MT_CHECK(value == 7, "value %d", value);
	}
}

/* The size of message number i from one rank to another; both ends know it. */
static size_t flood_bytes(int from, int to, int i)
{
	uint64_t state = mt_seed(from, to, i, 77);
	uint32_t class = mt_random(&state, 20);
	size_t limit = class < 12 ? 64 : class < 17 ? 9000 : class < 19 ? 70000 : 500000;

	if (limit > mt.max_bytes)
		limit = mt.max_bytes;
	return mt_random(&state, (uint32_t)limit + 1);
}

struct flood {
	MPI_Request request[2 * FLOOD * 64];
	uint8_t *buf[2 * FLOOD * 64];
	int n;
};

/* how 0: Waitall, 1: Waitany, 2: Testsome */
static void flood_wait(struct flood *f, int how)
{
	static int index[2 * FLOOD * 64];

	if (how == 0) {
		MPI_Waitall(f->n, f->request, MPI_STATUSES_IGNORE);
		return;
	}
	for (int left_over = f->n; left_over > 0;) {
		int some = 1;

		if (how == 1)
			MPI_Waitany(f->n, f->request, index, MPI_STATUS_IGNORE);
		else
			MPI_Testsome(f->n, f->request, &some, index, MPI_STATUSES_IGNORE);
		MT_CHECK(some != MPI_UNDEFINED, "requests are missing");
		left_over -= some;
	}
}

/* All to all, at once. */
static void flood(int how, int per_peer)
{
	static struct flood f;
	int half = per_peer * mt.ranks;

	f.n = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < per_peer; i++)
			for (int peer = 0; peer < mt.ranks; peer++, f.n++) {
				size_t bytes = pass == 0 ? flood_bytes(peer, mt.rank, i)
							 : flood_bytes(mt.rank, peer, i);
				uint8_t *p = mt_alloc(bytes);

				f.buf[f.n] = p;
				if (pass == 0) {
					MPI_Irecv(p, (int)bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD,
						  &f.request[f.n]);
				} else {
					mt_fill(p, bytes, mt_seed(mt.rank, peer, i, bytes));
					MPI_Isend(p, (int)bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD,
						  &f.request[f.n]);
				}
			}
	flood_wait(&f, how);
	for (int k = 0; k < f.n; k++) {
		int peer = k % mt.ranks, i = k % half / mt.ranks;

		if (k < half) {
			size_t bytes = flood_bytes(peer, mt.rank, i);

			mt_same(f.buf[k], bytes, mt_seed(peer, mt.rank, i, bytes), "received");
		}
		free(f.buf[k]);
	}
}

static void floods(void)
{
	static const char *const names[] = {"many at once, Waitall", "many at once, Waitany",
					    "many at once, Testsome"};
	int per_peer = mt.ranks > 64 ? 1 : mt.quick ? FLOOD / 5 : FLOOD;

	for (int how = 0; how < 3; how++) {
		mt_part(names[how]);
		flood(how, how == 0 ? per_peer : per_peer / 4 + 1);
	}
}

/* Persistent requests, started repeatedly. */
static void persistent(void)
{
	static const size_t lengths[] = {0, 8, 1000, 8192, 100000, 1 << 20};
	enum {
		N = sizeof(lengths) / sizeof(lengths[0])
	};
	MPI_Request request[2 * N];
	uint8_t *out[N], *in[N];
	size_t bytes[N];

	mt_part("persistent requests");
	for (int i = 0; i < N; i++) {
		bytes[i] = lengths[i] < mt.max_bytes ? lengths[i] : mt.max_bytes;
		out[i] = mt_alloc(bytes[i]);
		in[i] = mt_alloc(bytes[i]);
		MPI_Recv_init(in[i], (int)bytes[i], MPI_BYTE, left(), i, MPI_COMM_WORLD,
			      &request[i]);
		(i % 2 ? MPI_Ssend_init : MPI_Send_init)(out[i], (int)bytes[i], MPI_BYTE, right(),
							 i, MPI_COMM_WORLD, &request[N + i]);
	}
	for (int round = 0; round < 10 * mt.rounds; round++) {
		for (int i = 0; i < N; i++)
			mt_fill(out[i], bytes[i], mt_seed(mt.rank, right(), round, bytes[i]));
		MPI_Startall(2 * N, request);
		MPI_Waitall(2 * N, request, MPI_STATUSES_IGNORE);
		for (int i = 0; i < N; i++)
			mt_same(in[i], bytes[i], mt_seed(left(), mt.rank, round, bytes[i]),
				"received");
	}
	for (int i = 0; i < 2 * N; i++)
		MPI_Request_free(&request[i]);
	for (int i = 0; i < N; i++) {
		free(out[i]);
		free(in[i]);
	}
}

/* Messages of one sender and tag arrive in order, whatever their sizes. */
static void order(void)
{
	uint8_t *buf = mt_alloc(600000);
	int *next = mt_alloc(sizeof(int) * (size_t)mt.ranks);

	mt_part("order, any source");
	memset(next, 0, sizeof(int) * (size_t)mt.ranks);
	if (mt.rank != 0) {
		for (int i = 0; i < ORDERED; i++) {
			size_t bytes = flood_bytes(mt.rank, 0, i);

			mt_fill(buf, bytes, mt_seed(mt.rank, 0, i, bytes));
			MPI_Send(buf, (int)bytes, MPI_BYTE, 0, TAG_ORDER, MPI_COMM_WORLD);
		}
	} else {
		for (int i = 0; i < ORDERED * (mt.ranks - 1); i++) {
			MPI_Status status;
			size_t bytes;
			int from;

			MPI_Recv(buf, 600000, MPI_BYTE, MPI_ANY_SOURCE, TAG_ORDER, MPI_COMM_WORLD,
				 &status);
			from = status.MPI_SOURCE;
			MT_CHECK(from > 0 && from < mt.ranks && next[from] < ORDERED,
				 "a message too many");
			bytes = flood_bytes(from, 0, next[from]);
			expect_status(&status, from, TAG_ORDER, bytes);
			mt_same(buf, bytes, mt_seed(from, 0, next[from], bytes), "in its order");
			next[from]++;
		}
	}
	free(buf);
	free(next);
}

/* All arrive before their receives are posted, in reverse order. */
static void unexpected(void)
{
	enum {
		N = 60
	};
	MPI_Request request[N];
	uint8_t *out[N];

	mt_part("before their receives, by tag in reverse");
	for (int i = 0; i < N; i++) {
		size_t bytes = flood_bytes(mt.rank, right(), i);

		out[i] = mt_alloc(bytes);
		mt_fill(out[i], bytes, mt_seed(mt.rank, right(), i, bytes));
		MPI_Isend(out[i], (int)bytes, MPI_BYTE, right(), i, MPI_COMM_WORLD, &request[i]);
	}
	for (int i = N - 1; i >= 0; i--) {
		size_t bytes = flood_bytes(left(), mt.rank, i);
		uint8_t *in = mt_alloc(bytes);

		MPI_Recv(in, (int)bytes, MPI_BYTE, left(), i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		mt_same(in, bytes, mt_seed(left(), mt.rank, i, bytes), "received");
		free(in);
	}
	MPI_Waitall(N, request, MPI_STATUSES_IGNORE);
	for (int i = 0; i < N; i++)
		free(out[i]);
}

/* how 0: Probe, 1: Iprobe, 2: Mprobe, 3: Improbe; then the matching receive */
static void probe_one(int how, MPI_Status *status, uint8_t **buf, int *bytes)
{
	MPI_Message message = MPI_MESSAGE_NULL;
	int found = how % 2 == 0;

	if (how == 0)
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status);
	if (how == 2)
		MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, status);
	while (!found)
		if (how == 1)
			MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, status);
		else
			MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message,
				    status);
	MPI_Get_count(status, MPI_BYTE, bytes);
	*buf = mt_alloc((size_t)*bytes);
	if (how < 2)
		MPI_Recv(*buf, *bytes, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Mrecv(*buf, *bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

/* All to all; the receivers learn sender, tag and length from a probe. */
static void probes(int how)
{
	enum {
		N = 12
	};
	MPI_Request *request = mt_alloc(sizeof(MPI_Request) * N * (size_t)mt.ranks);
	uint8_t **out = mt_alloc(sizeof(uint8_t *) * N * (size_t)mt.ranks);
	int n = 0;

	for (int i = 0; i < N; i++)
		for (int peer = 0; peer < mt.ranks; peer++, n++) {
			size_t bytes = flood_bytes(mt.rank, peer, i);

			out[n] = mt_alloc(bytes);
			mt_fill(out[n], bytes, mt_seed(mt.rank, peer, i, bytes));
			MPI_Isend(out[n], (int)bytes, MPI_BYTE, peer, 1000 + i, MPI_COMM_WORLD,
				  &request[n]);
		}
	for (int k = 0; k < n; k++) {
		MPI_Status status;
		uint8_t *in;
		int bytes, i;

		probe_one(how, &status, &in, &bytes);
		i = status.MPI_TAG - 1000;
		MT_CHECK(i >= 0 && i < N, "tag %d", status.MPI_TAG);
		MT_CHECK((size_t)bytes == flood_bytes(status.MPI_SOURCE, mt.rank, i), "%d bytes",
			 bytes);
		mt_same(in, (size_t)bytes, mt_seed(status.MPI_SOURCE, mt.rank, i, (size_t)bytes),
			"received");
		free(in);
	}
	MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
	for (int k = 0; k < n; k++)
		free(out[k]);
	free(out);
	free(request);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The same tag in another communicator, with reversed ranks, is another message. */
static void communicators(void)
{
	int a = mt.rank, b = 1000 + mt.rank, got_a = 0, got_b = 0;
	MPI_Request request[4];
	MPI_Comm turned;
	int rank;

	mt_part("communicators");
	MPI_Comm_split(MPI_COMM_WORLD, 0, -mt.rank, &turned);
	MPI_Comm_rank(turned, &rank);
	MT_CHECK(rank == mt.ranks - 1 - mt.rank, "rank %d in the turned communicator", rank);
	MPI_Irecv(&got_b, 1, MPI_INT, (rank + mt.ranks - 1) % mt.ranks, 1, turned, &request[0]);
	MPI_Irecv(&got_a, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &request[1]);
	MPI_Isend(&a, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &request[2]);
	MPI_Isend(&b, 1, MPI_INT, (rank + 1) % mt.ranks, 1, turned, &request[3]);
	MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
	MT_CHECK(got_a == left(), "%d came over the world", got_a);
	MT_CHECK(got_b == 1000 + right(), "%d came over the turned one", got_b);
	MPI_Comm_free(&turned);
}

/* A receive that is cancelled takes no message. */
static void cancelled(void)
{
	int value = -1, got = 0, was;
	MPI_Request request;
	MPI_Status status;

	mt_part("a cancelled receive");
	MPI_Irecv(&value, 1, MPI_INT, left(), 8, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &was);
	MT_CHECK(was, "it was not cancelled");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Sendrecv(&mt.rank, 1, MPI_INT, right(), 8, &got, 1, MPI_INT, left(), 8, MPI_COMM_WORLD,
		     &status);
	MT_CHECK(got == left() && value == -1, "it took a message");
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"Probe", "Iprobe", "Mprobe", "Improbe"};

	mt_start(argc, argv, MPI_THREAD_SINGLE);
	pairs();
	self();
	ring();
	modes();
	synchronous();
	floods();
	persistent();
	order();
	unexpected();
	for (int how = 0; how < 4; how++) {
		mt_part(names[how]);
		probes(how);
	}
	communicators();
	cancelled();
	return mt_end();
}
