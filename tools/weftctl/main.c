/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftctl: shows the state of the NICs of a weftd. Calls lists.c, colls.c, stats.c, counters.c,
 * metrics.c, xdp.c, upgrade.c, capture.c, coalesce.c, change.c, cdi.c.
 */
#include "lib/cli.h"
#include "lib/coalesce_words.h"
#include "lib/fault_words.h"
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/usage.h"

const char tool_name[] = "weftctl";

static bool take_run_dir(struct cli *cli, const char *text);
static bool take_vector(struct cli *cli, const char *text);

#define FIELD(member) CLI_FIELD(struct ctl, member)
/* Commands that --watch repeats. */
#define WATCHED                                                                                    \
	"list clients users colls qps mrs cqs neigh peers groups xdp stats top doctor fault quota"

static const struct cli_option rows[] = {
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .help = "JSON instead of tables"},
    {.name = "nonzero",
     .kind = CLI_FLAG,
     FIELD(nonzero),
     .of = "stats",
     .help = "stats: only counters that are not 0"},
    {.name = "per-shard",
     .kind = CLI_FLAG,
     FIELD(per_shard),
     .of = "stats",
     .help = "stats: counters of each shard instead of sums"},
    {.name = "write",
     .letter = 'w',
     .value = "FILE",
     .kind = CLI_TEXT,
     FIELD(file),
     .of = "capture cdi",
     .help = "capture, cdi: output file, - for standard output"},
    {.name = "count",
     .letter = 'c',
     .value = "COUNT",
     .kind = CLI_NUMBER,
     FIELD(count),
     .low = 1,
     .high = UINT64_MAX,
     .of = "capture coalesce " WATCHED,
     .help = "capture: end after COUNT frames; --watch, top: after COUNT rounds"},
    {.name = "seconds",
     .value = "S",
     .kind = CLI_REAL,
     FIELD(seconds),
     .least = 0.001,
     .most = 1e6,
     .of = "capture",
     .help = "capture: end after S seconds"},
    {.name = "vector",
     .value = "N",
     .apply = take_vector,
     .high = UINT16_MAX,
     .of = "coalesce",
     .help = "coalesce: only this interrupt vector"},
    {.name = "stats",
     .kind = CLI_FLAG,
     FIELD(stats),
     .of = "coalesce",
     .help = "coalesce: interrupts by cause, and the time that completions waited"},
    {.name = "watch",
     .value = "S",
     .kind = CLI_REAL,
     FIELD(watch_s),
     .least = 0.001,
     .most = 1e6,
     .of = "coalesce " WATCHED,
     .help = "again every S seconds; coalesce: increase of the statistics; top: default 1"},
    {.name = "sort",
     .value = "COLUMN",
     .kind = CLI_TEXT,
     FIELD(sort),
     .of = "top",
     .help = "top: sort by this key of --json, greatest first"},
    {.name = "filter",
     .value = "TEXT",
     .kind = CLI_TEXT,
     FIELD(filter),
     .of = "top",
     .help = "top: only rows with TEXT in a NIC, program, user, type or peer"},
    {.name = "listen",
     .value = "ADDR:PORT",
     .kind = CLI_TEXT,
     FIELD(listen),
     .of = "metrics",
     .help = "metrics: serve them by HTTP at /metrics until SIGTERM; without authentication"},
    {.name = "textfile",
     .value = "FILE",
     .kind = CLI_TEXT,
     FIELD(textfile),
     .of = "metrics",
     .help = "metrics: replace FILE by them, for node_exporter"},
    {.name = "most",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(most),
     .low = 1,
     .high = 100000,
     .shown = "50",
     .of = "metrics",
     .help = "metrics: processes and peers of each shard"},
    {.name = "markdown",
     .kind = CLI_FLAG,
     FIELD(markdown),
     .of = "counters",
     .help = "counters: as docs/counters.md"},
    {.name = "firmware",
     .value = "FILE",
     .kind = CLI_TEXT,
     FIELD(firmware),
     .of = "doctor upgrade",
     .shown = "lib/weft/firmware.so beside weftctl's folder",
     .help = "upgrade: the image to go on with; doctor: the one that is installed"},
    {.name = "check",
     .kind = CLI_FLAG,
     FIELD(check),
     .of = "upgrade",
     .help = "upgrade: only ask whether weftd takes the image"},
    {.name = "of",
     .value = "NIC",
     .kind = CLI_TEXT,
     FIELD(nic),
     .of = "nic port",
     .help = "nic, port: a NIC of the weftd that is meant, if several run"},
    {.name = "root",
     .value = "DIR",
     .kind = CLI_TEXT,
     FIELD(root),
     .of = "doctor",
     .help = "doctor: read /proc and /sys below DIR, of a container or a test"},
    {.name = "run-dir",
     .value = "DIR",
     .apply = take_run_dir,
     .shown = "$WEFT_RUN_DIR, else /run/weft",
     .help = "where the NICs' sockets are"},
    {CLI_CONFIG, .apply = cli_config},
};

static const struct cli_command command_rows[] = {
    {"list", NULL, "the NICs: addresses, MTU, link, shards and the load of each"},
    {"clients", "[NIC]", "attached processes, with the share of each that is most used"},
    {"users", "[NIC]", "resources that each user has and may have, all processes together"},
    {"colls", "[NIC]",
     "MPI programs: collectives that ran on the NIC, and those that the MPI library carried out"},
    {"qps", "[NIC]", "queue pairs of all processes"},
    {"mrs", "[NIC]", "memory regions"},
    {"cqs", "[NIC]", "completion queues"},
    {"neigh", "[NIC]", "neighbours that ARP has found"},
    {"peers", "[NIC]", "sessions of reliable datagrams"},
    {"groups", "[NIC]", "IPv4 groups, and how many queue pairs are attached"},
    {"top", "[NIC]",
     "rates of NICs, queue pairs, processes and peers, as top(1) shows processes; q ends, s sorts; "
     "--json: a line for each picture"},
    {"doctor", "[NIC]",
     "what of this machine and its NICs needs attention, and what to do; exit status 1 if nothing "
     "works before it is mended"},
    {"upgrade", "[NIC]",
     "lets weftd go on with the firmware that is installed now, without its programs noticing; a "
     "firmware that does not fit is refused, and weftd goes on as before; as root or weftd's user"},
    {"xdp", "[NIC]", "the XDP program of NICs on interfaces: frames by reason, queues"},
    {"stats", "[NIC]", "counters, as ethtool -S prints them"},
    {"counters", NULL, "the meaning of each counter, without a weftd"},
    {"metrics", "[NIC]",
     "counters, processes and peers as OpenMetrics text, for Prometheus: once, with --listen as "
     "an exporter, or with --textfile for node_exporter"},
    {"capture", "NIC -w FILE",
     "every frame of a NIC into a pcapng file, until Ctrl-C; as root. Wireshark reads it with "
     "weft.lua: tshark -X lua_script:weft.lua -r FILE"},
    {"cdi", "[NIC]",
     "a description of the NICs for container engines (CDI): weftctl cdi -w /etc/cdi/weft.json, "
     "then podman run --device weft/nic=weft0"},
    {"coalesce", "[NIC] [show]",
     "shows interrupt moderation, as ethtool -c does; --stats: its effect. A setting after NIC "
     "changes it: set rx-usecs 5 rx-frames 16 ...: limits, as with ethtool -C: rx-usecs, "
     "rx-frames, tx-usecs, tx-frames, and the same names with the suffix -irq (0 to 1023 usecs, "
     "0 to 255 frames, 0: off); adaptive on|off: the NIC chooses the limits from its "
     "measurements; target p99=20us: the fewest interrupts that report 99 % of completions "
     "within 20 us; off: an interrupt for every event"},
    {"fault", "[NIC] [show]",
     "shows the faults of NICs. Words after NIC set them, in place of earlier ones, for frames on "
     "the way to the NIC: loss 1%, burst 0.1%, dup 1%, reorder 1%, corrupt 0.1%, delay 50us, "
     "jitter 10us, rate 10G, seed 7; off ends them"},
    {"log", "[NIC] [LEVEL]", "shows or sets weftd's log level: error, info or debug"},
    {"quota", "[NIC] [[user:]KIND=N]",
     "shows the limits that were set, or sets one, as weftd --quota does; weftctl users shows "
     "what is used"},
    {"mtu", "[NIC] [BYTES]",
     "shows or sets the largest IPv4 packet of a NIC that no process is attached to, up to the one "
     "that its port was opened with"},
    {"ip", "[NIC] [A.B.C.D/LEN]",
     "shows or sets the address of a NIC that no process is attached to"},
    {"gw", "[NIC] [A.B.C.D|none]", "the same for its gateway"},
    {"nic", "add|remove",
     "add [ip A.B.C.D/LEN] [gw A.B.C.D]: one more NIC on the switch of a running weftd. remove NIC "
     "[force]: takes it away, unless a process is attached; with force, that gets a fatal event"},
    {"port", "add|remove",
     "add NETDEV ip A.B.C.D/LEN [gw A.B.C.D]: one more NIC, on an interface, of a weftd with "
     "--port-rights keep. remove NIC [force]: as above"},
    {"reload", "[NIC]",
     "weftd reads its configuration again: what differs and can be changed while it runs takes "
     "effect, the rest is named; exit status 1 if there is any"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 8,
    .version = WEFT_VERSION,
    .summary = "shows NICs of weftd, their users and their traffic",
    .usage = "weftctl COMMAND [NIC] [options]",
    .about = "Shows NICs, the objects of processes on them, and their traffic. NIC is a name\n"
	     "such as weft0, or the path of a NIC's socket; without one, all NICs are shown.",
    .after = "Exit status: 0 done, 1 failure (no such NIC, no weftd), 2 usage.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
    .commands = command_rows,
    .num_commands = sizeof(command_rows) / sizeof(command_rows[0]),
};

static bool take_run_dir(struct cli *cli, const char *text)
{
	return !setenv("WEFT_RUN_DIR", text, 1) ||
	       cli_wrong(cli, "--run-dir %.80s: %s", text, strerror(errno));
}

static bool take_vector(struct cli *cli, const char *text)
{
	struct ctl *ctl = cli->values;
	uint64_t vector;

	if (!cli_number(cli, text, &vector))
		return false;
	ctl->vector = (uint32_t)vector;
	ctl->has_vector = true;
	return true;
}

int fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "weftctl: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CTL_FAILED;
}

/* Options that belong to other commands. -1: none. */
static int check_options(const struct ctl *ctl)
{
	bool capture = !strcmp(ctl->command, "capture");
	bool coalesce = !strcmp(ctl->command, "coalesce"), watch = ctl->watch_s > 0;

	if (ctl->count && !watch && !capture && strcmp(ctl->command, "top"))
		return usage("--count is for capture, top and --watch");
	if (coalesce && ctl->setting.set && (ctl->stats || watch))
		return usage("--stats and --watch show and set nothing: leave them out, or the "
			     "setting");
	if (watch && ctl->words[0])
		return usage("--watch sets nothing: leave it out, or '%s'", ctl->words);
	if (coalesce && !ctl->nic && (ctl->setting.set || watch))
		return usage("coalesce which NIC? weftctl list names them");
	if (capture && !ctl->nic)
		return usage("capture which NIC? weftctl list names them");
	if (capture && !ctl->file)
		return usage("capture needs -w FILE");
	if (capture && ctl->json && !strcmp(ctl->file, "-"))
		return usage("--json and -w - cannot share standard output");
	if (!strcmp(ctl->command, "list") && ctl->nic)
		return usage("list shows every NIC: leave out '%s'", ctl->nic);
	if (!strcmp(ctl->command, "counters") && ctl->nic)
		return usage("counters are the same for every NIC: leave out '%s'", ctl->nic);
	if (ctl->listen && ctl->textfile)
		return usage("--listen and --textfile: choose one");
	if (!strcmp(ctl->command, "metrics") && ctl->json)
		return usage("metrics are text; weftctl stats --json has the counters as JSON");
	return -1;
}

static bool names_setting(const char *word)
{
	static const char *const words[] = {"show",        "set",    "adaptive", "adaptive-rx",
					    "adaptive-tx", "target", "off"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i]))
			return true;
	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		if (!strcmp(word, coalesce_word(i)))
			return true;
	return false;
}

/* The words after "coalesce": a NIC, and "show" or a setting. -1: accepted; else an exit code. */
static int take_coalesce(struct ctl *ctl, char **word, int num)
{
	char text[CTL_WORDS_CHARS] = "", error[COALESCE_ERROR_CHARS] = "";
	size_t at = 0;
	int i = 0;

	if (num && !names_setting(word[0]))
		ctl->nic = word[i++];
	if (i == num)
		return -1;
	if (!strcmp(word[i], "show") && i + 1 == num)
		return -1;
	if (!strcmp(word[i], "set"))
		i++;
	for (; i < num; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s ", word[i]);
		if (at >= sizeof(text))
			return usage("that are too many words for one setting");
	}
	return coalesce_parse(text, &ctl->setting, error, sizeof(error)) ? -1 : usage("%s", error);
}

/* True if the first word behind this command is the name of a NIC. */
static bool names_nic(int (*run)(const struct ctl *ctl), const char *word)
{
	if (run == run_fault)
		return !fault_words_is(word) && strcmp(word, "show") != 0;
	if (run == run_log)
		return strcmp(word, "error") && strcmp(word, "info") && strcmp(word, "debug");
	if (run == run_mtu)
		return word[strspn(word, "0123456789")] != '\0';
	if (run == run_ip)
		return !strchr(word, '/') || *word == '/';
	if (run == run_gw)
		return strcmp(word, "none") && word[strspn(word, "0123456789.")] != '\0';
	return !strchr(word, '=');
}

/* Commands whose words are a setting. */
static bool sets(int (*run)(const struct ctl *ctl))
{
	return run == run_fault || run == run_log || run == run_quota || run == run_mtu ||
	       run == run_ip || run == run_gw;
}

/* The words after such a command: a NIC, and a setting. -1: accepted. */
static int take_setting(struct ctl *ctl, int (*run)(const struct ctl *ctl), char **word, int num)
{
	char error[FAULT_WORDS_ERROR_CHARS];
	struct hw_fault fault;
	size_t at = 0;
	int i = 0;

	if (num && names_nic(run, word[0]))
		ctl->nic = word[i++];
	if (run == run_fault && i + 1 == num && !strcmp(word[i], "show"))
		return -1;
	for (; i < num; i++) {
		at += (size_t)snprintf(ctl->words + at, sizeof(ctl->words) - at, "%s%s",
				       at ? " " : "", word[i]);
		if (at >= sizeof(ctl->words))
			return usage("that are too many words for one setting");
	}
	if (run == run_fault && at && !fault_words_parse(ctl->words, &fault, error, sizeof(error)))
		return usage("%s", error);
	if ((run == run_ip || run == run_gw) && at && !ctl->nic)
		return usage("which NIC? weftctl %s NIC %s", ctl->command, ctl->words);
	if (run != run_fault && strchr(ctl->words, ' '))
		return usage("one setting at a time: '%s'", ctl->words);
	return -1;
}

/* The words after nic and port, which weftd reads. -1: accepted. */
static int take_plug(struct ctl *ctl, char **word, int num)
{
	size_t at = 0;

	if (num < 1 || (strcmp(word[0], "add") && strcmp(word[0], "remove")))
		return usage("%s add or %s remove?", ctl->command, ctl->command);
	if (!strcmp(word[0], "remove") && num < 2)
		return usage("remove which NIC? weftctl list names them");
	if (!strcmp(word[0], "add") && num < 2 && !strcmp(ctl->command, "port"))
		return usage("add which port? weftd --list-ports names them");
	for (int i = 0; i < num; i++) {
		at += (size_t)snprintf(ctl->words + at, sizeof(ctl->words) - at, "%s%s",
				       at ? " " : "", word[i]);
		if (at >= sizeof(ctl->words))
			return usage("that are too many words for one NIC");
	}
	if (!strcmp(word[0], "remove") && !ctl->nic)
		ctl->nic = word[1];
	return -1;
}

static const char command_names[] =
    "list, clients, users, colls, qps, mrs, cqs, neigh, peers, groups, top, doctor, upgrade, xdp, "
    "stats, counters, metrics, cdi, coalesce, fault, log, quota, mtu, ip, gw, nic, port, "
    "reload or capture";

/* NULL: there is none of that name. */
static int (*find_command(const char *name))(const struct ctl *ctl)
{
	static const struct {
		const char *name;
		int (*run)(const struct ctl *ctl);
	} commands[] = {
	    {"list", run_list},       {"xdp", run_xdp},
	    {"stats", run_stats},     {"coalesce", run_coalesce},
	    {"capture", run_capture}, {"users", run_users},
	    {"metrics", run_metrics}, {"counters", run_counters},
	    {"top", run_top},         {"doctor", run_doctor},
	    {"fault", run_fault},     {"log", run_log},
	    {"quota", run_quota},     {"reload", run_reload},
	    {"upgrade", run_upgrade}, {"cdi", run_cdi},
	    {"mtu", run_mtu},         {"ip", run_ip},
	    {"gw", run_gw},           {"nic", run_plug},
	    {"port", run_plug},       {"colls", run_colls},
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].run;
	return is_objects(name) ? run_objects : NULL;
}

static int do_command(int argc, char **argv)
{
	int (*run)(const struct ctl *ctl);
	struct ctl ctl = {0};
	struct cli cli;
	int rc, at = 1;

	/* The library that parses the options would take such a value for an option. */
	for (int i = 1; i < argc && !strcmp(argv[1], "coalesce"); i++)
		if (argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9')
			return usage("'%s': usecs are 0 to 1023, frames 0 to 255", argv[i]);
	rc = cli_take(&cli, &program, &ctl, NULL, argc, argv);
	if (rc != CLI_RUN)
		return rc;
	if (!cli.num_words)
		return usage("which command? %s", command_names);
	ctl.command = cli.words[0];
	run = find_command(ctl.command);
	if (!run)
		return usage("there is no command '%s': say %s", ctl.command, command_names);
	if (run == run_coalesce || run == run_plug || sets(run)) {
		rc = run == run_coalesce ? take_coalesce(&ctl, cli.words + 1, cli.num_words - 1)
		     : run == run_plug   ? take_plug(&ctl, cli.words + 1, cli.num_words - 1)
				       : take_setting(&ctl, run, cli.words + 1, cli.num_words - 1);
		if (rc >= 0)
			return rc;
		at = cli.num_words;
	}
	if (at < cli.num_words)
		ctl.nic = cli.words[at++];
	if (at < cli.num_words)
		return usage("one NIC at a time: leave out '%s'", cli.words[at]);
	if (!cli_check_command(&cli, ctl.command))
		return cli_say(&cli);
	rc = check_options(&ctl);
	if (rc >= 0)
		return rc;
	/* These two repeat themselves. */
	if (ctl.watch_s > 0 && run != run_coalesce && run != run_top)
		return top_watch(&ctl, run);
	return run(&ctl);
}

int main(int argc, char **argv)
{
	return output_end(do_command(argc, argv));
}
