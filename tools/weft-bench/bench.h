/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of one run, error messages, and the modes: common to the files of weft-bench.
 *
 * main.c parses the options (opts.c) and calls one mode: lat.c, bw.c, pull.c (reads and atomics of
 * both), file.c, counter.c, mem.c, create.c ... The modes use ep.c (one end: device, queue pair,
 * buffers) or crew.c (processes that measure together), oob.c (the TCP connection over which two
 * ends find each other), pattern.c (content of the messages) and report.c (output).
 */
#ifndef WEFT_BENCH_BENCH_H
#define WEFT_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host_driver/weft.h"

/* Exit codes of the program. */
enum {
	BENCH_OK = 0,
	BENCH_FAILED = 1,
	BENCH_USAGE = 2,
};

enum bench_mode {
	BENCH_LAT,
	BENCH_BW,
	BENCH_RATE,
	BENCH_FILE,
	BENCH_COUNTER,
	BENCH_MEM,
	BENCH_CREATE,
	BENCH_STAGES,
	BENCH_LADDER,
	BENCH_REG,
	BENCH_SRQ,
	BENCH_MPI3,
	BENCH_TAG,
	BENCH_GROW,
	BENCH_MODES
};

enum bench_op {
	BENCH_SEND,
	BENCH_WRITE,
	BENCH_READ,
	BENCH_ATOMIC, /* fetch and add */
	BENCH_CAS,    /* compare and swap */
	BENCH_PUT,    /* RDMA Write without a notification of the target */
	BENCH_OPS
};

/* Origin of the buffers. */
enum bench_mem {
	BENCH_MEM_WEFT,   /* weft_alloc() */
	BENCH_MEM_MALLOC, /* malloc(), which registration may move onto shared pages */
	BENCH_MEM_SHARED, /* MAP_SHARED: cannot be moved, so the NIC copies with process_vm */
	BENCH_MEMS
};

enum {
	BENCH_TCP_PORT = 18515, /* perftest's default */
	BENCH_QKEY = 0x11111111,
	BENCH_MAX_SGE = 16,
	BENCH_MAX_WINDOW = 4096,
	BENCH_SRQ_MAX_PEERS = 4000,
};

struct opts {
	enum bench_mode mode;
	bool loop; /* this thread drives both ends */
	enum weft_qp_type qp;
	enum weft_qp_transport transport; /* transport RC */
	uint16_t mpa;                     /* RC over TCP: HW_MPA_*; 0: the NIC's defaults */
	enum bench_op op;
	enum bench_mem mem;
	uint32_t size; /* bytes of one message */
	uint64_t iters;
	uint64_t warmup;   /* before the iterations; checked, not measured */
	double duration_s; /* 0: until iters are done */
	uint32_t window;   /* messages in flight */
	uint32_t sge;      /* pieces that a message is gathered from and scattered to */
	const char *device;
	const char *device2; /* loop: the other end's device */
	const char *run_dir;
	bool server;
	const char *connect; /* the server's TCP address */
	uint16_t port;
	bool json;
	bool event;             /* block instead of polling */
	const char *wakes_file; /* lat: times of wake-ups */
	bool stamps;            /* pattern.h */
	bool no_inline;
	double timeout_s; /* failure after this time without progress */
	const char *send_file;
	const char *recv_file;
	uint32_t clients;   /* counter: number of clients that the server waits for */
	pid_t pid;          /* mem: weftd's pid */
	uint32_t qps;       /* mem, create */
	uint32_t peers;     /* mem, srq */
	uint32_t recvs;     /* srq: receives of each queue pair */
	uint32_t list;      /* tag: receives, or messages, in the longest list */
	uint32_t pace;      /* bw, rate: messages a second at most; 0: no limit */
	const char *part;   /* reg, mpi3, tag, grow; NULL: all */
	uint32_t peer_ip;   /* mem: the first peer's address; ladder: our own; host byte order */
	const char *netdev; /* ladder: interface to send frames on */
};

/*
 * Fills o from the command line, every default included. Returns -1 to go on; else the exit code,
 * after all output: --help, --version, usage errors.
 */
int opts_parse(struct opts *o, int argc, char **argv);

/* Names for tables, JSON and the exchange; -1: no such name. */
const char *bench_mode_str(enum bench_mode mode);
const char *bench_op_str(enum bench_op op);
struct opts;
/* ud, rd, rc, rc-esp, or rc-tcp. */
const char *bench_qp_str(const struct opts *o);
int bench_mode_parse(const char *name);
int bench_op_parse(const char *name);
/* Sets the result of bench_qp_str(). False: no such transport. */
bool bench_qp_set(struct opts *o, const char *name);

/* Prints "weft-bench: ..." on stderr and returns -1. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct pair;

/* The modes: exit codes. The first three have their ends opened (pair.h). */
int lat_run(struct pair *p);
int bw_run(struct pair *p);
int pull_run(struct pair *p);
int file_run(struct opts *o);
int counter_run(struct opts *o);
int mem_run(struct opts *o);
int create_run(struct opts *o);
int stages_run(struct opts *o);
int ladder_run(struct opts *o);
int reg_run(struct opts *o);
int srq_run(struct opts *o);
int mpi3_run(struct opts *o);
int tag_run(struct opts *o);
int grow_run(struct opts *o);

struct flow;
/* A stream between the ends of a pair that one thread drives; for stages. 0 or -1. */
int bw_loop(struct pair *p, struct flow *flow);

#endif /* WEFT_BENCH_BENCH_H */
