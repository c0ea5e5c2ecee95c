/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a collective whose copies take a core's time: of memory that the NIC has not mapped.
 *
 * stage SOCKET SECONDS [KIND]: ranks on the first two NICs of a weftd, for SECONDS; SOCKET is a
 * NIC's. KIND:
 *	bulk		240 MiB at a time, in messages of 16 MiB (the default)
 *	mapped		the same in memory that the NIC maps
 *	pieces		messages received into single bytes
 *	pool		messages that wait in the NIC until single bytes receive them
 *	sum		a sum of 16 MiB
 *	self		messages of a rank to itself, in single bytes
 * Prints "attacking" once a run is over. tools/bench/beside.py measures another client meanwhile.
 * Calls libgoal.
 */
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/goal/goal.h"
#include "lib/clock.h"

enum {
	MESSAGES = 15,
	MESSAGE_BYTES = 16 << 20, /* together nearly what a process may have of the NIC */
	PIECES = 65535,           /* of a buffer, the most */
	POOL_WAIT_NS = 2000000,
};

enum kind {
	BULK,
	MAPPED,
	IN_PIECES,
	POOL,
	SUM,
	SELF,
	NUM_KINDS
};
static const char *const names[NUM_KINDS] = {"bulk", "mapped", "pieces", "pool", "sum", "self"};

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "stage: %s: %s\n", what, GOAL_LastErrorDetail());
	exit(1);
}

static void init(const char *socket, int rank, enum kind kind)
{
	char *dir = strdup(socket);

	setenv("WEFT_RUN_DIR", dirname(dir), 1);
	setenv("WEFT_DEVICE", rank ? "weft1" : "weft0", 1);
	setenv("WEFT_PEERS", "02:77:0a:4d:00:01,02:77:0a:4d:00:02", 1);
	setenv("WEFT_KEY", "00112233445566778899aabbccddeeff", 1);
	if (kind != MAPPED)
		setenv("WEFT_MEM", "process_vm", 1);
	setenv("WEFT_RANK", rank ? "1" : "0", 1);
	check(GOAL_Init() == GOAL_SUCCESS, "GOAL_Init");
	free(dir);
}

static uint8_t *buffer(size_t bytes)
{
	uint8_t *made = malloc(bytes);

	check(made != NULL, "a buffer");
	memset(made, 1, bytes);
	return made;
}

/* The bytes of a buffer, from its end. */
static void list_bytes(void **at, int *bytes)
{
	uint8_t *all = buffer(PIECES);

	for (int i = 0; i < PIECES; i++) {
		at[i] = all + PIECES - 1 - i;
		bytes[i] = 1;
	}
}

static void recv_bytes(GOAL_Graph graph, enum kind kind, int from, int tag)
{
	static void *at[PIECES];
	static int bytes[PIECES];
	GOAL_Vertex recv;

	list_bytes(at, bytes);
	recv = GOAL_RecvVec(graph, at, bytes, PIECES, from, tag);
	if (kind == POOL)
		check(GOAL_Requires(graph, GOAL_Calc(graph, POOL_WAIT_NS, 0), recv) == GOAL_SUCCESS,
		      "GOAL_Requires");
}

static void send_bytes(GOAL_Graph graph, int to, int tag)
{
	static void *at[PIECES];
	static int bytes[PIECES];

	list_bytes(at, bytes);
	GOAL_SendVec(graph, at, bytes, PIECES, to, tag);
}

static void add(GOAL_Graph graph, enum kind kind, int rank, int i)
{
	switch (kind) {
	case SUM:
		GOAL_LocalOp(graph, buffer(MESSAGE_BYTES), buffer(MESSAGE_BYTES),
			     buffer(MESSAGE_BYTES), GOAL_ADD, GOAL_UINT, 8, MESSAGE_BYTES);
		return;
	case SELF:
		send_bytes(graph, rank, i);
		recv_bytes(graph, kind, rank, i);
		return;
	case IN_PIECES:
	case POOL:
		if (rank)
			recv_bytes(graph, kind, 0, i);
		else
			GOAL_Send(graph, buffer(PIECES), PIECES, 1, i);
		return;
	case BULK:
	case MAPPED:
	case NUM_KINDS:
		if (rank)
			GOAL_Recv(graph, buffer(MESSAGE_BYTES), MESSAGE_BYTES, 0, i);
		else
			GOAL_Send(graph, buffer(MESSAGE_BYTES), MESSAGE_BYTES, 1, i);
	}
}

static GOAL_Schedule schedule(int rank, enum kind kind)
{
	GOAL_Graph graph = GOAL_CreateGraph();
	GOAL_Schedule made;

	for (int i = 0; i < MESSAGES; i++)
		add(graph, kind, rank, i);
	made = GOAL_Compile(graph);
	check(made, "GOAL_Compile");
	GOAL_FreeGraph(graph);
	return made;
}

static enum kind kind_of(const char *name)
{
	for (int i = 0; i < NUM_KINDS; i++)
		if (!strcmp(name, names[i]))
			return (enum kind)i;
	fprintf(stderr, "stage: unknown kind: %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	GOAL_Schedule made;
	uint64_t end_ms;
	enum kind kind;
	pid_t other;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "stage: say SOCKET SECONDS [KIND]\n");
		return 2;
	}
	kind = argc > 3 ? kind_of(argv[3]) : BULK;
	other = fork();
	init(argv[1], !other, kind);
	made = schedule(!other, kind);
	end_ms = clock_now_ms() + strtoull(argv[2], NULL, 10) * 1000;
	for (uint64_t runs = 0; !other || clock_now_ms() < end_ms; runs++) {
		check(GOAL_Wait(GOAL_Run(made)) == GOAL_SUCCESS, "GOAL_Wait");
		if (other && !runs) {
			printf("attacking\n");
			fflush(stdout);
		}
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return 0;
}
