/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of weft-bench.
 *
 * The requirements of a mode are checked here, before anything is opened: a wrong command line
 * ends with one line that says what to change, and exit code 2. Calls lib/cli.h.
 */
#include "lib/cli.h"
#include "shared_defs/hw_cm.h"
#include "tools/usage.h"
#include "tools/weft-bench/bench.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char tool_name[] = "weft-bench";

static bool take_qp(struct cli *cli, const char *text);
static bool take_mpa(struct cli *cli, const char *text);
static bool take_peer_ip(struct cli *cli, const char *text);

#define FIELD(member) CLI_FIELD(struct opts, member)
#define TEXT(word, unit, member, commands, shows, text)                                            \
	{                                                                                          \
		.name = word, .value = unit, .kind = CLI_TEXT, FIELD(member), .of = commands,      \
		.shown = shows, .help = text                                                       \
	}
#define NUMBER(word, unit, member, least_value, most_value, commands, shows, text)                 \
	{                                                                                          \
		.name = word, .value = unit, .kind = CLI_NUMBER, FIELD(member),                    \
		.low = least_value, .high = most_value, .of = commands, .shown = shows,            \
		.help = text                                                                       \
	}
#define SECONDS(word, member, otherwise, text)                                                     \
	{                                                                                          \
		.name = word, .value = "S", .kind = CLI_REAL, FIELD(member), .least = 0.001,       \
		.most = 86400, .initial = otherwise, .help = text                                  \
	}
#define FLAG(word, member, text)                                                                   \
	{                                                                                          \
		.name = word, .kind = CLI_FLAG, FIELD(member), .help = text                        \
	}

static const struct cli_option rows[] = {
    {.name = "Data", .kind = CLI_GROUP},
    {.name = "qp",
     .value = "TRANSPORT",
     .apply = take_qp,
     .choices = "ud|rd|rc|rc-esp|rc-tcp",
     .initial = "rd",
     .help = "ud, rd, rc, rc-esp or rc-tcp; rc: connected; rc-esp: over ESP streams; rc-tcp: "
	     "standard iWARP, by the NIC's TCP"},
    {.name = "op",
     .value = "OP",
     .kind = CLI_CHOICE,
     FIELD(op),
     .choices = "send|write|read|atomic|cas|put",
     .initial = "send",
     .help =
	 "send, write, put, read, atomic (fetch and add), cas. write: lat, bw and rate use "
	 "RDMA Write with immediate on rd, Write-Record on ud. read, atomic, cas, put: rd only. "
	 "put: RDMA Write alone, timed by its completions at the client and checked at the "
	 "server in the end"},
    NUMBER("size", "N", size, 1, 1u << 30, NULL,
	   "lat, rate 64; bw, file 64K; atomics 8; srq 2K; reg 16M; mpi3 1M; tag 4M",
	   "bytes of a message, of a buffer (srq), the largest (reg, mpi3, tag); K, M, G: powers "
	   "of 1024"),
    NUMBER("iters", "N", iters, 1, 1000000000, NULL,
	   "10000; rate 1000000; srq 20000; ladder 2000; reg, mpi3 200",
	   "messages, adds of one client (counter), frames of a rung (ladder); at most, of one "
	   "figure (reg, mpi3)"),
    SECONDS("duration", duration_s, NULL, "seconds instead of --iters"),
    NUMBER("warmup", "N", warmup, 0, 1000000, NULL, "lat 100; bw, rate one window",
	   "messages before those measured"),
    NUMBER("window", "N", window, 1, BENCH_MAX_WINDOW, NULL, "4M / size, from 4 to 128",
	   "messages in flight"),
    {.name = "sge",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(sge),
     .low = 1,
     .high = BENCH_MAX_SGE,
     .initial = "1",
     .help = "pieces that a message is gathered from"},
    {.name = "mem",
     .value = "WHERE",
     .kind = CLI_CHOICE,
     FIELD(mem),
     .choices = "weft|malloc|shared",
     .initial = "weft",
     .help = "origin of buffers: weft (weft_alloc()), malloc, or shared: memory that the NIC must "
	     "reach with system calls"},
    {.name = "mpa",
     .value = "WORDS",
     .apply = take_mpa,
     .choices = "crc|markers|crc,markers|none",
     .shown = "as weftd was started",
     .help = "agreement of the ends of rc-tcp"},
    FLAG("no-inline", no_inline, "never copy small messages into the request"),
    FLAG("event", event, "block for completions instead of polling"),
    TEXT("wakes", "FILE", wakes_file, "lat", NULL,
	 "lat --event: write how long each wake-up took, from the NIC's completion to the end of "
	 "poll(): ns, one a line"),
    FLAG("stamps", stamps,
	 "messages above 1 KiB differ from earlier ones in a word of each KiB, and receivers wipe "
	 "nothing: for figures of bandwidth; at both ends"),
    {.name = "Ends", .kind = CLI_GROUP},
    TEXT("device", "NIC", device, NULL, "the first NIC", "name or socket of the NIC"),
    TEXT("device2", "NIC", device2, NULL, "the same NIC",
	 "NIC of the other end: loop and modes "
	 "without a server"),
    TEXT("run-dir", "DIR", run_dir, NULL, "$WEFT_RUN_DIR, else /run/weft",
	 "where the NICs' sockets are"),
    FLAG("server", server, "wait for a client"),
    TEXT("connect", "ADDR", connect, NULL, NULL, "TCP name or address of the server"),
    {.name = "port",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(port),
     .high = 65535,
     .initial = "18515",
     .help = "TCP port of the server; 0: the server chooses and prints it"},
    SECONDS("timeout", timeout_s, "30", "give up when nothing moves for S seconds"),
    FLAG("json", json, "one JSON object instead of a table"),
    {CLI_CONFIG, .apply = cli_config},
    {.name = "Single modes", .kind = CLI_GROUP},
    TEXT("send", "FILE", send_file, "file", NULL, "send FILE, with --connect"),
    TEXT("recv", "FILE", recv_file, "file", NULL, "receive into FILE, with --server"),
    {.name = "clients",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(clients),
     .low = 1,
     .high = 1000,
     .initial = "1",
     .help = "counter: how many clients the server waits for"},
    TEXT("netdev", "IF", netdev, "ladder", NULL, "ladder: the interface that frames are sent on"),
    {.name = "peer-ip",
     .value = "IP",
     .apply = take_peer_ip,
     .of = "mem ladder",
     .help = "mem: address of the first peer; ladder: our own address, in the NIC's subnet (one "
	     "above the NIC's)"},
    NUMBER("pace", "N", pace, 1, 1000000000, "bw rate", "no limit",
	   "at most N messages a second, at even distances where the sender keeps up"),
    TEXT("part", "NAME", part, "reg mpi3 tag grow", "all", "only this part"),
    NUMBER("recvs", "N", recvs, 1, 1024, NULL, "32",
	   "srq: receives of each queue pair without a shared queue"),
    NUMBER("list", "N", list, 10, 50000, "tag", "10000",
	   "tag: receives, or messages, in the longest list of match"),
    NUMBER("pid", "PID", pid, 1, INT_MAX, "mem", NULL, "the weftd to measure"),
    NUMBER("qps", "N", qps, 1, 1u << 20, "mem create grow", NULL,
	   "make N queue pairs, ready to send; --qp rc-tcp: N connections from --device to "
	   "--device2, both of that weftd; grow: no number beyond N"),
    NUMBER("peers", "N", peers, 1, 1u << 16, "mem srq", "srq 64",
	   "srq: how many; mem: exchange one message with each of N peers, from --peer-ip upwards"),
};

static const struct cli_command modes[] = {
    {"lat", NULL,
     "ping-pong: round trips one at a time, percentiles as perftest prints them "
     "(send, write: half a round trip; read, atomic: a whole one)"},
    {"bw", NULL, "a stream of messages, counted and checked at the receiver: Gb/s"},
    {"rate", NULL, "the same with small messages: million messages a second"},
    {"loop", "lat|bw|rate", "one thread drives both ends, no server"},
    {"file", NULL, "moves a file with RDMA Writes, checked by SHA-256"},
    {"counter", NULL,
     "clients fetch-and-add onto one counter of the server; the sum must be "
     "right and no original value may come twice"},
    {"stages", NULL,
     "cycles per packet of each stage of the NIC, for small UD and RD messages "
     "and RDMA Write of 1 MiB between two NICs of one weftd --stages"},
    {"ladder", NULL,
     "round trips of a small frame that is sent on --netdev, an interface of the "
     "kernel, and answered by the port of weftd (--port-echo) at its other end, "
     "by the firmware, by the core of collectives (--cores with coll) and by a "
     "process; as root"},
    {"mem", NULL, "memory of weftd per idle queue pair or per idle peer, as difference of RSS"},
    {"create", NULL,
     "time that N queue pairs with a completion queue each take: to create, to "
     "make ready to send, to destroy; milliseconds for all"},
    {"reg", NULL,
     "cost of registering memory, savings by the registration cache (parts cost, "
     "policy, table2, heap)"},
    {"srq", NULL,
     "memory for receives and performance with N peers: a shared receive queue that "
     "is refilled at a low watermark beside receives of each queue pair"},
    {"mpi3", NULL,
     "message passing as MPI libraries do it: bandwidth both ways, many queue "
     "pairs and processes, reuse of buffers, overlap and progress (parts basic, "
     "qps, pairs, reuse, overlap, progress, sci)"},
    {"tag", NULL,
     "messages with tags, matched by the NIC: latency, bandwidth and rate, latency behind long "
     "lists, overlap with computation, usage of announcements, small messages from memory "
     "that is not registered (parts lat, bw, rate, match, overlap, adapt, freq)"},
    {"grow", NULL,
     "rate of RD Sends of 64 bytes by the number of queue pairs, of peers (NICs of one weftd), of "
     "processes, and of regions of memory (parts qps, peers, procs, memory)"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "measures weft NICs and checks every byte",
    .usage = "weft-bench MODE [options] --server\n"
	     "weft-bench MODE [options] --connect ADDR\n"
	     "weft-bench loop lat|bw|rate [options] [--device2 NIC]\n"
	     "weft-bench stages [--device NIC] [--device2 NIC] [--json]\n"
	     "weft-bench ladder --netdev IF [--device NIC] [--json]\n"
	     "weft-bench mem --pid PID --qps N | --peers N --peer-ip A.B.C.D\n"
	     "weft-bench create --qps N\n"
	     "weft-bench reg|mpi3|tag|grow [--part NAME] [--device NIC] [--device2 NIC] [--json]\n"
	     "weft-bench srq [--peers N] [--recvs N] [--device NIC] [--device2 NIC] [--json]",
    .about =
	"Measures weft NICs and checks every byte. The two ends find each other over TCP "
	"(--port),\n"
	"data goes through the NICs. The server takes size, operation and counts from the client.",
    .after = "Exit status: 0 every byte was right, 1 failure, 2 usage.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
    .commands = modes,
    .num_commands = sizeof(modes) / sizeof(modes[0]),
};

static bool take_qp(struct cli *cli, const char *text)
{
	return bench_qp_set(cli->values, text) ||
	       cli_wrong(cli, "--qp takes ud, rd, rc, rc-esp or rc-tcp, not '%.40s'", text);
}

/* Over TCP, the properties that MPA's ends ask each other for. */
static bool take_mpa(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;

	o->mpa = HW_MPA_GIVEN | HW_MPA_RTR_WRITE | HW_MPA_RTR_READ;
	if (!strcmp(text, "crc") || !strcmp(text, "crc,markers"))
		o->mpa |= HW_MPA_CRC;
	if (!strcmp(text, "markers") || !strcmp(text, "crc,markers"))
		o->mpa |= HW_MPA_MARKERS;
	return o->mpa & (HW_MPA_CRC | HW_MPA_MARKERS) || !strcmp(text, "none") ||
	       cli_wrong(cli, "--mpa takes crc, markers, 'crc,markers' or none, not '%.40s'", text);
}

static bool take_peer_ip(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1)
		return cli_wrong(cli, "--peer-ip takes an IPv4 address, not '%.40s'", text);
	o->peer_ip = ntohl(in.s_addr);
	return true;
}

static bool is_atomic(enum bench_op op)
{
	return op == BENCH_ATOMIC || op == BENCH_CAS;
}

/* The modes of several processes, which use crew.c. */
static bool is_crew(enum bench_mode mode)
{
	return mode == BENCH_REG || mode == BENCH_SRQ || mode == BENCH_MPI3 || mode == BENCH_TAG ||
	       mode == BENCH_GROW;
}

static void set_crew_defaults(struct opts *o)
{
	if (!o->size)
		o->size = o->mode == BENCH_REG   ? 16 << 20
			  : o->mode == BENCH_SRQ ? 2048
			  : o->mode == BENCH_TAG ? 4 << 20
						 : 1 << 20;
	if (!o->iters)
		o->iters = o->mode == BENCH_SRQ ? 20000 : 200;
	if (!o->peers && o->mode == BENCH_SRQ)
		o->peers = 64;
	if (!o->recvs)
		o->recvs = 32;
	if (!o->list)
		o->list = 10000;
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
	static const char *const tag[] = {"lat",   "bw",   "rate", "match", "overlap",
					  "adapt", "freq", "ring", NULL};
	static const char *const grow[] = {"qps", "procs", "memory", NULL};
	const char *const *name = o->mode == BENCH_REG    ? reg
				  : o->mode == BENCH_TAG  ? tag
				  : o->mode == BENCH_GROW ? grow
							  : mpi3;

	while (*name && strcmp(*name, o->part))
		name++;
	return *name;
}

static int check_crew(const struct opts *o)
{
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
		return usage("give either --server or --connect ADDR");
	if (!two_ends && (o->server || o->connect))
		return usage("this mode has no other end: leave out --server and --connect");
	if (o->connect && !o->port)
		return usage("--port 0 is for --server: give the port that it prints");
	if (o->device2 && !o->loop && o->mode != BENCH_STAGES && o->mode != BENCH_MEM &&
	    !is_crew(o->mode))
		return usage("--device2 is for loop; give --device to each end");
	if (o->wakes_file && (!o->event || !o->connect))
		return usage("--wakes is for lat --event --connect");
	if (o->mode == BENCH_FILE && (!o->send_file == !o->recv_file))
		return usage("file needs --send FILE or --recv FILE");
	if (o->mode == BENCH_FILE && !o->recv_file != !o->server)
		return usage("file: give --recv FILE with --server, --send FILE with --connect");
	if (o->mode == BENCH_MEM && !o->pid)
		return usage("mem needs --pid of the weftd");
	if (o->mode == BENCH_MEM && !o->qps == !o->peers)
		return usage("mem needs --qps N or --peers N");
	if (o->peers && !o->peer_ip && o->mode != BENCH_SRQ)
		return usage("--peers needs --peer-ip, the first peer's address");
	if (o->mode == BENCH_CREATE && !o->qps)
		return usage("create needs --qps N");
	if (o->mode == BENCH_LADDER && !o->netdev)
		return usage(
		    "ladder needs --netdev, the interface at the other end of the NIC's port");
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

/* Takes "lat" or "loop lat" from the words. Returns CLI_RUN, or CLI_USAGE with a message. */
static int take_mode(struct opts *o, struct cli *cli)
{
	const char *word = cli->num_words ? cli->words[0] : NULL;
	int words = 1, mode;

	if (!word)
		return usage(
		    "a mode is missing: lat, bw, rate, loop, file, counter, mem, create, stages, "
		    "ladder, reg, srq, mpi3, tag or grow");
	o->loop = !strcmp(word, "loop");
	if (o->loop && cli->num_words < 2)
		return usage("loop needs lat, bw or rate");
	if (o->loop)
		word = cli->words[words++];
	mode = bench_mode_parse(word);
	if (mode < 0 || (o->loop && mode > BENCH_RATE))
		return usage(o->loop ? "loop has lat, bw and rate, not '%s'"
				     : "modes are lat, bw, rate, loop, file, counter, mem, create, "
				       "stages, ladder, reg, srq, mpi3, tag and grow, not '%s'",
			     word);
	o->mode = (enum bench_mode)mode;
	if (cli->num_words > words)
		return usage("'%s' belongs to no option: leave it out", cli->words[words]);
	return cli_check_command(cli, word) ? CLI_RUN : cli_say(cli);
}

int opts_parse(struct opts *o, int argc, char **argv)
{
	struct cli cli;
	int rc;

	memset(o, 0, sizeof(*o));
	o->qp = WEFT_QPT_RD;
	o->warmup = UINT64_MAX;
	rc = cli_take(&cli, &program, o, NULL, argc, argv);
	if (rc == CLI_RUN)
		rc = take_mode(o, &cli);
	if (rc != CLI_RUN)
		return rc;
	set_defaults(o);
	return check(o);
}
