/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of weft-bench.
 *
 * The needs of a mode are checked here, before anything is opened: a wrong command line ends with
 * one line that says what to change, and exit code 2.
 */
#include "shared_defs/hw_cm.h"
#include "tools/usage.h"
#include "tools/weft-bench/bench.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char tool_name[] = "weft-bench";

static const char help[] =
    "Usage: weft-bench MODE [options] --server\n"
    "       weft-bench MODE [options] --connect ADDR\n"
    "       weft-bench loop lat|bw|rate [options] [--device2 NIC]\n"
    "       weft-bench stages [--device NIC] [--device2 NIC] [--json]\n"
    "       weft-bench ladder --netdev IF [--device NIC] [--json]\n"
    "       weft-bench mem --pid PID --qps N | --peers N --peer-ip A.B.C.D\n"
    "       weft-bench create --qps N\n"
    "       weft-bench reg|mpi3 [--part NAME] [--device NIC] [--device2 NIC] [--json]\n"
    "       weft-bench srq [--peers N] [--recvs N] [--device NIC] [--device2 NIC] [--json]\n"
    "\n"
    "Measures weft NICs and checks every byte. The two ends find each other over TCP (--port),\n"
    "data goes through the NICs. The server takes size, operation and counts from the client.\n"
    "\n"
    "Modes\n"
    "  lat       ping-pong: round trips one at a time, percentiles as perftest prints them\n"
    "            (send, write: half a round trip; read, atomic: a whole one)\n"
    "  bw        a stream of messages, counted and checked at the receiver: Gb/s\n"
    "  rate      the same with small messages: million messages a second\n"
    "  loop M    lat, bw or rate with one thread that drives both ends, no server\n"
    "  file      moves a file with RDMA Writes, checked by SHA-256\n"
    "  counter   clients fetch-and-add onto one counter of the server; the sum must be right\n"
    "            and no original value may come twice\n"
    "  stages    cycles per packet of each stage of the NIC, for small UD and RD messages and\n"
    "            RDMA Write of 1 MiB between two NICs of one weftd --stages\n"
    "  ladder    round trips of a small frame that is sent on IF, an interface of the kernel, and\n"
    "            answered by the port of weftd (--port-echo) at its other end, by the firmware,\n"
    "            by the core of collectives (--cores with coll) and by a process; as root\n"
    "  mem       memory of weftd per idle queue pair or per idle peer, as difference of RSS\n"
    "  create    how long N queue pairs with a completion queue each take: to create, to make\n"
    "            ready to send, to destroy; milliseconds for all\n"
    "  reg       what registering memory costs, what the registration cache saves (parts cost,\n"
    "            policy, table2, heap)\n"
    "  srq       memory for receives and performance with N peers: a shared receive queue that is\n"
    "            refilled at a low watermark beside receives of each queue pair\n"
    "  mpi3      message passing as MPI libraries do it: bandwidth both ways, many queue pairs\n"
    "            and processes, reuse of buffers, overlap and progress (parts basic, qps, pairs,\n"
    "            reuse, overlap, progress, sci)\n"
    "\n"
    "What\n"
    "  --qp ud|rd|rc|rc-esp|rc-tcp  transport (rd); rc: connected; rc-esp: over ESP streams;\n"
    "                           rc-tcp: standard iWARP, by the NIC's TCP\n"
    "  --op OP                  send, write, put, read, atomic (fetch and add), cas (send)\n"
    "                           write: lat, bw and rate use RDMA Write with immediate on rd,\n"
    "                           Write-Record on ud. read, atomic, cas, put: rd only\n"
    "                           put: RDMA Write alone, timed by its completions at the client\n"
    "                           and checked at the server in the end\n"
    "  --size N[K|M]            bytes of a message (lat, rate 64; bw, file 64K; atomics 8); of a\n"
    "                           buffer (srq 2K); the largest (reg 16M, mpi3 1M)\n"
    "  --iters N                messages, or adds of one client (lat, counter 10000; bw 10000;\n"
    "                           rate 1000000; srq 20000); at most, of one figure (reg, mpi3 200)\n"
    "  --duration S             seconds instead of --iters\n"
    "  --warmup N               messages before those measured (lat 100; bw, rate one window)\n"
    "  --window N               messages on the way (4M / size, from 4 to 128)\n"
    "  --sge N                  pieces that a message is gathered from, 1 to 16 (1)\n"
    "  --mem weft|malloc|shared where buffers come from (weft): weft_alloc(), malloc(),\n"
    "                           shared memory that the NIC must reach with system calls\n"
    "  --mpa crc|markers|crc,markers|none  what rc-tcp's ends agree on (as weftd was told)\n"
    "  --no-inline              never copy small messages into the request\n"
    "  --event                  block for completions instead of polling\n"
    "\n"
    "Where\n"
    "  --device NIC             name or socket of the NIC (the first one there is)\n"
    "  --device2 NIC            loop: the other end's NIC (the same one)\n"
    "  --run-dir DIR            where the NICs' sockets are (WEFT_RUN_DIR, else /run/weft)\n"
    "  --server                 wait for a client\n"
    "  --connect ADDR           TCP name or address of the server\n"
    "  --port N                 TCP port of the server (18515)\n"
    "  --timeout S              give up when nothing moves for S seconds (30)\n"
    "  --json                   one JSON object instead of a table\n"
    "\n"
    "file\n"
    "  --send FILE --connect ADDR, and at the other end --recv FILE --server\n"
    "counter\n"
    "  --clients N              how many clients the server waits for (1)\n"
    "ladder\n"
    "  --netdev IF              the interface; --iters N frames for each rung (2000)\n"
    "  --peer-ip IP             our own address, in the NIC's subnet (one above the NIC's)\n"
    "reg, mpi3\n"
    "  --part NAME              this part alone\n"
    "srq\n"
    "  --peers N                how many (64)\n"
    "  --recvs N                receives of each queue pair without a shared queue (32)\n"
    "mem, create\n"
    "  --pid PID                of the weftd to measure\n"
    "  --qps N                  make N queue pairs, ready to send; --qp rc-tcp: N connections\n"
    "                           from --device to --device2, both of that weftd\n"
    "  --peers N --peer-ip IP   exchange one message with each of N peers, from IP upwards\n"
    "\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 every byte was right, 1 failure, 2 usage.\n";

enum {
	OPT_QP = 256,
	OPT_OP,
	OPT_SIZE,
	OPT_ITERS,
	OPT_DURATION,
	OPT_WARMUP,
	OPT_WINDOW,
	OPT_SGE,
	OPT_MPA,
	OPT_MEM,
	OPT_NO_INLINE,
	OPT_EVENT,
	OPT_DEVICE,
	OPT_DEVICE2,
	OPT_RUN_DIR,
	OPT_SERVER,
	OPT_CONNECT,
	OPT_PORT,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_SEND,
	OPT_RECV,
	OPT_CLIENTS,
	OPT_PID,
	OPT_QPS,
	OPT_PEERS,
	OPT_PEER_IP,
	OPT_NETDEV,
	OPT_PART,
	OPT_RECVS,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"qp", required_argument, NULL, OPT_QP},
    {"op", required_argument, NULL, OPT_OP},
    {"size", required_argument, NULL, OPT_SIZE},
    {"iters", required_argument, NULL, OPT_ITERS},
    {"duration", required_argument, NULL, OPT_DURATION},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"sge", required_argument, NULL, OPT_SGE},
    {"mpa", required_argument, NULL, OPT_MPA},
    {"mem", required_argument, NULL, OPT_MEM},
    {"no-inline", no_argument, NULL, OPT_NO_INLINE},
    {"event", no_argument, NULL, OPT_EVENT},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"device2", required_argument, NULL, OPT_DEVICE2},
    {"run-dir", required_argument, NULL, OPT_RUN_DIR},
    {"server", no_argument, NULL, OPT_SERVER},
    {"connect", required_argument, NULL, OPT_CONNECT},
    {"port", required_argument, NULL, OPT_PORT},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"json", no_argument, NULL, OPT_JSON},
    {"send", required_argument, NULL, OPT_SEND},
    {"recv", required_argument, NULL, OPT_RECV},
    {"clients", required_argument, NULL, OPT_CLIENTS},
    {"pid", required_argument, NULL, OPT_PID},
    {"qps", required_argument, NULL, OPT_QPS},
    {"peers", required_argument, NULL, OPT_PEERS},
    {"peer-ip", required_argument, NULL, OPT_PEER_IP},
    {"netdev", required_argument, NULL, OPT_NETDEV},
    {"part", required_argument, NULL, OPT_PART},
    {"recvs", required_argument, NULL, OPT_RECVS},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* A parser of a value returns -1 when it has accepted it, else the exit code. */

static int parse_mem(const char *text, enum bench_mem *out)
{
	static const char *const names[BENCH_MEMS] = {
	    [BENCH_MEM_WEFT] = "weft",
	    [BENCH_MEM_MALLOC] = "malloc",
	    [BENCH_MEM_SHARED] = "shared",
	};
	int i;

	for (i = 0; i < BENCH_MEMS; i++)
		if (!strcmp(text, names[i])) {
			*out = (enum bench_mem)i;
			return -1;
		}
	return usage("--mem takes weft, malloc or shared, not '%s'", text);
}

/* Over TCP: the features that MPA's ends negotiate. */
static int parse_mpa(struct opts *o, const char *arg)
{
	const uint16_t base = HW_MPA_GIVEN | HW_MPA_RTR_WRITE | HW_MPA_RTR_READ;

	if (!strcmp(arg, "none"))
		o->mpa = base;
	else if (!strcmp(arg, "crc"))
		o->mpa = base | HW_MPA_CRC;
	else if (!strcmp(arg, "markers"))
		o->mpa = base | HW_MPA_MARKERS;
	else if (!strcmp(arg, "crc,markers"))
		o->mpa = base | HW_MPA_CRC | HW_MPA_MARKERS;
	else
		return usage("--mpa takes crc, markers, 'crc,markers' or none, not '%s'", arg);
	return -1;
}

/* Options with names as values. -2: another option. */
static int parse_names(struct opts *o, int opt, const char *arg)
{
	struct in_addr in;
	int v;

	switch (opt) {
	case OPT_QP:
		return bench_qp_set(o, arg)
			   ? -1
			   : usage("--qp takes ud, rd, rc, rc-esp or rc-tcp, not '%s'", arg);
	case OPT_OP:
		v = bench_op_parse(arg);
		if (v < 0)
			return usage("--op takes send, write, put, read, atomic or cas, not '%s'",
				     arg);
		o->op = (enum bench_op)v;
		return -1;
	case OPT_MEM:
		return parse_mem(arg, &o->mem);
	case OPT_DEVICE:
		o->device = arg;
		return -1;
	case OPT_DEVICE2:
		o->device2 = arg;
		return -1;
	case OPT_RUN_DIR:
		o->run_dir = arg;
		return -1;
	case OPT_CONNECT:
		o->connect = arg;
		return -1;
	case OPT_NETDEV:
		o->netdev = arg;
		return -1;
	case OPT_PART:
		o->part = arg;
		return -1;
	case OPT_SEND:
		o->send_file = arg;
		return -1;
	case OPT_RECV:
		o->recv_file = arg;
		return -1;
	case OPT_PEER_IP:
		if (inet_pton(AF_INET, arg, &in) != 1)
			return usage("--peer-ip takes an IPv4 address, not '%s'", arg);
		o->peer_ip = ntohl(in.s_addr);
		return -1;
	default:
		return -2;
	}
}

/* The other options. */
static int parse_others(struct opts *o, int opt, const char *arg, char **argv)
{
	uint32_t v = 0;
	int rc;

	switch (opt) {
	case OPT_SIZE:
		return take_number32("--size", arg, 1, 1u << 30, &o->size);
	case OPT_ITERS:
		return take_number("--iters", arg, 1, 1000000000, &o->iters);
	case OPT_DURATION:
		return take_seconds("--duration", arg, 0.001, 86400, &o->duration_s);
	case OPT_WARMUP:
		return take_number("--warmup", arg, 0, 1000000, &o->warmup);
	case OPT_WINDOW:
		return take_number32("--window", arg, 1, BENCH_MAX_WINDOW, &o->window);
	case OPT_MPA:
		return parse_mpa(o, arg);
	case OPT_SGE:
		return take_number32("--sge", arg, 1, BENCH_MAX_SGE, &o->sge);
	case OPT_PORT:
		rc = take_number32("--port", arg, 0, 65535, &v);
		o->port = (uint16_t)v;
		return rc;
	case OPT_TIMEOUT:
		return take_seconds("--timeout", arg, 0.001, 86400, &o->timeout_s);
	case OPT_CLIENTS:
		return take_number32("--clients", arg, 1, 1000, &o->clients);
	case OPT_PID:
		rc = take_number32("--pid", arg, 1, INT_MAX, &v);
		o->pid = (pid_t)v;
		return rc;
	case OPT_QPS:
		return take_number32("--qps", arg, 1, 1u << 20, &o->qps);
	case OPT_PEERS:
		return take_number32("--peers", arg, 1, 1u << 16, &o->peers);
	case OPT_RECVS:
		return take_number32("--recvs", arg, 1, 1024, &o->recvs);
	case OPT_NO_INLINE:
		o->no_inline = true;
		return -1;
	case OPT_EVENT:
		o->event = true;
		return -1;
	case OPT_SERVER:
		o->server = true;
		return -1;
	case OPT_JSON:
		o->json = true;
		return -1;
	case OPT_HELP:
		fputs(help, stdout);
		return BENCH_OK;
	case OPT_VERSION:
		printf("weft-bench %s\n", weft_version());
		return BENCH_OK;
	default:
		return usage_option(opt, argv, longopts);
	}
}

static bool is_atomic(enum bench_op op)
{
	return op == BENCH_ATOMIC || op == BENCH_CAS;
}

/* The modes of several processes, which use crew.c. */
static bool is_crew(enum bench_mode mode)
{
	return mode == BENCH_REG || mode == BENCH_SRQ || mode == BENCH_MPI3;
}

static void set_crew_defaults(struct opts *o)
{
	if (!o->size)
		o->size = o->mode == BENCH_REG ? 16 << 20 : o->mode == BENCH_SRQ ? 2048 : 1 << 20;
	if (!o->iters)
		o->iters = o->mode == BENCH_SRQ ? 20000 : 200;
	if (!o->peers && o->mode == BENCH_SRQ)
		o->peers = 64;
	if (!o->recvs)
		o->recvs = 32;
}

/* Defaults of omitted options. UINT64_MAX in warmup: omitted, since 0 is a choice. */
static void set_defaults(struct opts *o)
{
	uint32_t window;

	if (is_crew(o->mode))
		set_crew_defaults(o);
	if (is_atomic(o->op) && !o->size)
		o->size = 8;
	if (!o->size)
		o->size = o->mode == BENCH_BW || o->mode == BENCH_FILE ? 64 << 10 : 64;
	if (!o->window) {
		window = (4u << 20) / o->size;
		o->window = window < 4 ? 4 : window > 128 ? 128 : window;
	}
	if (!o->iters && o->mode == BENCH_LADDER)
		o->iters = 2000;
	if (!o->iters)
		o->iters = o->mode == BENCH_RATE ? 1000000 : 10000;
	if (o->warmup == UINT64_MAX)
		o->warmup = o->mode == BENCH_LAT ? 100 : o->window;
}

/* True if it is one of the mode's parts; NULL: all of them. */
static bool is_part(const struct opts *o)
{
	static const char *const reg[] = {"cost", "policy", "table2", "heap", NULL};
	static const char *const mpi3[] = {"basic",   "qps",      "pairs", "reuse",
					   "overlap", "progress", "sci",   NULL};
	const char *const *name = o->mode == BENCH_REG ? reg : mpi3;

	while (*name && strcmp(*name, o->part))
		name++;
	return *name;
}

static int check_crew(const struct opts *o)
{
	if (o->part && o->mode != BENCH_REG && o->mode != BENCH_MPI3)
		return usage("--part is for reg and mpi3");
	if (o->part && !is_part(o))
		return usage("%s has no part '%s'", bench_mode_str(o->mode), o->part);
	if (o->mode == BENCH_SRQ && (o->peers < 2 || o->peers > BENCH_SRQ_MAX_PEERS))
		return usage("srq takes --peers from 2 to %d", BENCH_SRQ_MAX_PEERS);
	if (o->mode == BENCH_SRQ && (o->size < 64 || o->size > 64 << 10))
		return usage("srq takes --size from 64 to 64K");
	if (is_crew(o->mode) && o->qp != WEFT_QPT_RD)
		return usage("%s has queue pairs of its own: leave out --qp",
			     bench_mode_str(o->mode));
	return -1;
}

/* Checks the requirements of one mode. Returns -1 or BENCH_USAGE. */
static int check_mode(const struct opts *o)
{
	bool alone = o->mode == BENCH_MEM || o->mode == BENCH_CREATE || o->mode == BENCH_STAGES ||
		     o->mode == BENCH_LADDER || is_crew(o->mode);
	bool two_ends = !alone && !o->loop;

	if (two_ends && o->server == !!o->connect)
		return usage("say either --server or --connect ADDR");
	if (!two_ends && (o->server || o->connect))
		return usage("this mode has no other end: leave out --server and --connect");
	if (o->connect && !o->port)
		return usage("--port 0 is for --server: give the port that it says");
	if (o->device2 && !o->loop && o->mode != BENCH_STAGES && o->mode != BENCH_MEM &&
	    !is_crew(o->mode))
		return usage("--device2 is for loop; give --device to each end");
	if (o->mode == BENCH_FILE && (!o->send_file == !o->recv_file))
		return usage("file needs --send FILE or --recv FILE");
	if (o->mode == BENCH_FILE && !o->recv_file != !o->server)
		return usage("file: give --recv FILE with --server, --send FILE with --connect");
	if (o->mode != BENCH_FILE && (o->send_file || o->recv_file))
		return usage("--send and --recv are for file");
	if (o->mode == BENCH_MEM && !o->pid)
		return usage("mem needs --pid of the weftd");
	if (o->mode == BENCH_MEM && !o->qps == !o->peers)
		return usage("mem needs --qps N or --peers N");
	if (o->peers && !o->peer_ip && o->mode != BENCH_SRQ)
		return usage("--peers needs --peer-ip, the first peer's address");
	if (o->mode == BENCH_CREATE && !o->qps)
		return usage("create needs --qps N");
	if (o->mode != BENCH_MEM && o->mode != BENCH_CREATE && o->qps)
		return usage("--qps is for mem and create");
	if (o->mode != BENCH_MEM && o->pid)
		return usage("--pid is for mem");
	if (o->mode != BENCH_MEM && o->mode != BENCH_SRQ && o->peers)
		return usage("--peers is for mem and srq");
	if (o->mode != BENCH_MEM && o->mode != BENCH_LADDER && o->peer_ip)
		return usage("--peer-ip is for mem and ladder");
	if (o->mode == BENCH_LADDER && !o->netdev)
		return usage(
		    "ladder needs --netdev, the interface at the other end of the NIC's port");
	if (o->mode != BENCH_LADDER && o->netdev)
		return usage("--netdev is for ladder");
	return check_crew(o);
}

static int check(const struct opts *o)
{
	bool tcp = o->qp == WEFT_QPT_RC && o->transport == WEFT_QP_TRANSPORT_TCP;

	if (o->qp == WEFT_QPT_UD && (o->op == BENCH_READ || o->op == BENCH_PUT || is_atomic(o->op)))
		return usage("--op %s needs --qp rd: UD carries send and write",
			     bench_op_str(o->op));
	if (o->mpa && !tcp && !o->server)
		return usage("--mpa is for --qp rc-tcp");
	if (is_atomic(o->op) && o->size != 8)
		return usage("atomics are 8 bytes long: leave out --size");
	if (o->qp == WEFT_QPT_UD && o->op == BENCH_WRITE && o->size < 8)
		return usage("--qp ud --op write takes --size 8 or more");
	if (is_atomic(o->op) && o->sge != 1)
		return usage("atomics have one piece: leave out --sge");
	if (o->qp == WEFT_QPT_UD && (o->mode == BENCH_FILE || o->mode == BENCH_COUNTER))
		return usage("file and counter are for --qp rd");
	if (o->qp == WEFT_QPT_RC &&
	    (o->mode == BENCH_COUNTER || o->mode == BENCH_CREATE || (o->mode == BENCH_MEM && !tcp)))
		return usage("counter, mem and create are for --qp rd and ud, mem for rc-tcp");
	if (o->mode == BENCH_MEM && tcp && (!o->qps || !o->device2))
		return usage(
		    "mem --qp rc-tcp needs --qps N and --device2, the connections' other end");
	if (!is_crew(o->mode) && (uint64_t)o->size * o->window > 2ull << 30)
		return usage("--size %u times --window %u is more than 2 GiB: lower one", o->size,
			     o->window);
	if (o->sge > o->size)
		return usage("--sge %u pieces of %u bytes: lower --sge", o->sge, o->size);
	return check_mode(o);
}

/* "lat", "loop lat". Returns the number of words, 0 after an error message. */
static int parse_mode(struct opts *o, int argc, char **argv)
{
	int words = 1, mode;

	if (argc < 2) {
		usage("which mode? lat, bw, rate, loop, file, counter, mem, create, stages, "
		      "ladder, reg, srq or mpi3");
		return 0;
	}
	if (!strcmp(argv[1], "loop")) {
		o->loop = true;
		words = 2;
		if (argc < 3) {
			usage("loop what? lat, bw or rate");
			return 0;
		}
	}
	mode = bench_mode_parse(argv[words]);
	if (mode < 0 || (o->loop && mode > BENCH_RATE)) {
		usage(o->loop ? "loop has lat, bw and rate, not '%s'"
			      : "modes are lat, bw, rate, loop, file, counter, mem, create, "
				"stages, ladder, reg, srq and mpi3, not '%s'",
		      argv[words]);
		return 0;
	}
	o->mode = (enum bench_mode)mode;
	return words;
}

int opts_parse(struct opts *o, int argc, char **argv)
{
	int words, opt, rc, i;

	memset(o, 0, sizeof(*o));
	o->qp = WEFT_QPT_RD;
	o->sge = 1;
	o->warmup = UINT64_MAX;
	o->port = BENCH_TCP_PORT;
	o->timeout_s = 30;
	o->clients = 1;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help, stdout);
			return BENCH_OK;
		}
		if (!strcmp(argv[i], "--version")) {
			printf("weft-bench %s\n", weft_version());
			return BENCH_OK;
		}
	}
	words = parse_mode(o, argc, argv);
	if (!words)
		return BENCH_USAGE;
	argc -= words;
	argv += words;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longopts, NULL)) != -1) {
		rc = parse_names(o, opt, optarg);
		if (rc == -2)
			rc = parse_others(o, opt, optarg, argv);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc)
		return usage("'%s' belongs to no option: leave it out", argv[optind]);
	set_defaults(o);
	return check(o);
}
