/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a collective that the NIC has to copy before it sends them, 240 MiB at a time: their
 * buffers are memory that it has not mapped.
 *
 * stage SOCKET SECONDS: ranks on the first two NICs of a weftd, for SECONDS; SOCKET is a NIC's.
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
};

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "stage: %s: %s\n", what, GOAL_LastErrorDetail());
	exit(1);
}

static void init(const char *socket, int rank)
{
	char *dir = strdup(socket);

	setenv("WEFT_RUN_DIR", dirname(dir), 1);
	setenv("WEFT_DEVICE", rank ? "weft1" : "weft0", 1);
	setenv("WEFT_PEERS", "02:77:0a:4d:00:01,02:77:0a:4d:00:02", 1);
	setenv("WEFT_KEY", "00112233445566778899aabbccddeeff", 1);
	setenv("WEFT_MEM", "process_vm", 1);
	setenv("WEFT_RANK", rank ? "1" : "0", 1);
	check(GOAL_Init() == GOAL_SUCCESS, "GOAL_Init");
	free(dir);
}

static GOAL_Schedule schedule(int rank)
{
	GOAL_Graph graph = GOAL_CreateGraph();
	GOAL_Schedule made;
	int i;

	for (i = 0; i < MESSAGES; i++) {
		uint8_t *buffer = malloc(MESSAGE_BYTES);

		check(buffer != NULL, "a buffer");
		memset(buffer, i + 1, MESSAGE_BYTES);
		if (rank)
			GOAL_Recv(graph, buffer, MESSAGE_BYTES, 0, i);
		else
			GOAL_Send(graph, buffer, MESSAGE_BYTES, 1, i);
	}
	made = GOAL_Compile(graph);
	check(made, "GOAL_Compile");
	GOAL_FreeGraph(graph);
	return made;
}

int main(int argc, char **argv)
{
	GOAL_Schedule made;
	uint64_t end_ms;
	pid_t other;

	if (argc != 3) {
		fprintf(stderr, "stage: say SOCKET SECONDS\n");
		return 2;
	}
	other = fork();
	init(argv[1], !other);
	made = schedule(!other);
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
