/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scene that is played twice, once with runs left whole and once with all of them cut into their
 * packets (run_desk.h), and must end the same: counters of both NICs, the connection, memory and
 * completions. For rd_run_same_ut.c and tcp_run_same_ut.c.
 */
#ifndef WEFT_TESTS_RUN_SAME_H
#define WEFT_TESTS_RUN_SAME_H

#include "tests/sim/run_desk.h"

enum {
	RUN_SAME_BYTES = 125001, /* of a message, at most */
	RUN_SAME_MTU = 3000,     /* runs have 16 packets: those cut arrive in one burst, too */
	RUN_SAME_STATE = 12,     /* numbers of a connection */
};

struct scene {
	struct pair p;
	const struct desk_row *row;
	struct post request;
	struct weft_recv_wr recv;
	struct weft_sge sge[2];
	struct weft_mr *mr;
	bool no_receive;
};

/* A transport. */
struct run_way {
	uint32_t bytes; /* of the message */
	bool stream;    /* an error ends it: the packets behind are not looked at */
	void (*open)(struct pair *p);
	void (*close)(struct pair *p);
	/* Notes the receiver's numbers of the connection. */
	void (*note)(struct pair *p, struct sim_nic *receiver, uint32_t state[RUN_SAME_STATE]);
};

/* Plays both scenes of each row. */
void run_same(const struct run_way *way, const struct desk_row *rows, uint32_t n);

/* desk_row.before */
void run_same_no_receive(struct scene *scene);
void run_same_short_receive(struct scene *scene);
void run_same_short_memory(struct scene *scene);
/* Memory of the receive that is no more there, from the middle of a run on. */
void run_same_memory_gone(struct scene *scene);
void run_same_qp_in_error(struct scene *scene);

#endif /* WEFT_TESTS_RUN_SAME_H */
