/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of weft-bench share: the options of one run and how errors are told.
 *
 * main.c parses the options (opts.c) and calls one mode: lat.c, bw.c, pull.c (reads and
 * atomics of both), file.c, counter.c, mem.c, create.c ... The modes stand on ep.c (one end:
 * device, queue pair, buffers) or crew.c (processes that measure together), oob.c (the TCP
 * connection over which two ends find each other), pattern.c (the bytes that are sent and checked)
 * and report.c (what is printed).
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
	BENCH_MODES
};

enum bench_op {
	BENCH_SEND,
	BENCH_WRITE,
	BENCH_READ,
	BENCH_ATOMIC, /* fetch and add */
	BENCH_CAS,    /* compare and swap */
	BENCH_PUT,    /* RDMA Write that tells the target nothing */
	BENCH_OPS
};

/* Where the buffers come from. */
enum bench_mem {
	BENCH_MEM_WEFT,   /* weft_alloc() */
	BENCH_MEM_MALLOC, /* malloc(), which registration may move onto shared pages */
	BENCH_MEM_SHARED, /* MAP_SHARED: cannot be moved, the NIC copies with process_vm */
	BENCH_MEMS
};

enum {
	BENCH_TCP_PORT = 18515, /* perftest's */
	BENCH_QKEY = 0x11111111,
	BENCH_MAX_SGE = 16,
	BENCH_MAX_WINDOW = 4096,
	BENCH_SRQ_MAX_PEERS = 4000,
};

struct opts {
	enum bench_mode mode;
	bool loop; /* this thread drives both ends */
	enum weft_qp_type qp;
	enum weft_qp_transport transport; /* of RC */
	uint16_t mpa;                     /* RC over TCP: HW_MPA_*; 0: as the NIC was told */
	enum bench_op op;
	enum bench_mem mem;
	uint32_t size; /* bytes of one message */
	uint64_t iters;
	uint64_t warmup;   /* before the iterations; checked, not measured */
	double duration_s; /* 0: until iters are done */
	uint32_t window;   /* messages on the way */
	uint32_t sge;      /* pieces that a message is gathered from and scattered to */
	const char *device;
	const char *device2; /* loop: the other end's */
	const char *run_dir;
	bool server;
	const char *connect; /* the server's TCP address */
	uint16_t port;
	bool json;
	bool event; /* block instead of polling */
	bool no_inline;
	double timeout_s; /* without progress for so long: failure */
	const char *send_file;
	const char *recv_file;
	uint32_t clients;   /* counter: how many the server waits for */
	pid_t pid;          /* mem: weftd's */
	uint32_t qps;       /* mem, create */
	uint32_t peers;     /* mem, srq */
	uint32_t recvs;     /* srq: of each queue pair */
	const char *part;   /* reg, mpi3; NULL: all */
	uint32_t peer_ip;   /* mem: the first peer's; ladder: our own; host byte order */
	const char *netdev; /* ladder: where frames are sent */
};

/*
 * Fills o from the command line, every default included. Returns -1 to go on; else the exit
 * code, all having been said: --help, --version, usage errors.
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
/* Sets what bench_qp_str() shows. False: no such transport. */
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

struct flow;
/* A stream between the ends of a pair that one thread drives; for stages. 0 or -1. */
int bw_loop(struct pair *p, struct flow *flow);

#endif /* WEFT_BENCH_BENCH_H */
