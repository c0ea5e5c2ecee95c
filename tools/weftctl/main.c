/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftctl: shows the state of the NICs of a weftd. Calls lists.c, stats.c, xdp.c, capture.c,
 * coalesce.c.
 */
#include "lib/coalesce_words.h"
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/usage.h"

const char tool_name[] = "weftctl";

static const char help[] =
    "Usage: weftctl COMMAND [NIC] [options]\n"
    "\n"
    "Shows NICs, what processes have made on them, and what goes over the wire. NIC is a name\n"
    "such as weft0, or the path of a NIC's socket; without one, all NICs are shown.\n"
    "\n"
    "Commands\n"
    "  list               the NICs: addresses, MTU, link, shards\n"
    "  clients [NIC]      processes that are attached, with the share that is fullest\n"
    "  users [NIC]        what each user has, all processes together, and may have\n"
    "  qps [NIC]          queue pairs of all processes\n"
    "  mrs [NIC]          memory regions\n"
    "  cqs [NIC]          completion queues\n"
    "  neigh [NIC]        neighbours that ARP has found\n"
    "  peers [NIC]        sessions of reliable datagrams\n"
    "  groups [NIC]       IPv4 groups, and how many queue pairs are attached\n"
    "  xdp [NIC]          the XDP program of NICs on interfaces: frames by reason, queues\n"
    "  stats [NIC]        counters, as ethtool -S prints them\n"
    "  capture NIC -w FILE\n"
    "                     every frame of a NIC into a pcapng file, until Ctrl-C; as root.\n"
    "                     Wireshark reads it with weft.lua: tshark -X lua_script:weft.lua -r FILE\n"
    "  coalesce [NIC] [show]\n"
    "                     interrupt moderation, as ethtool -c shows it; --stats: its effect\n"
    "  coalesce NIC set rx-usecs 5 rx-frames 16 ...\n"
    "                     limits, as with ethtool -C: rx-usecs, rx-frames, tx-usecs, tx-frames,\n"
    "                     each with -irq behind it too; usecs 0 to 1023, frames 0 to 255, 0: off\n"
    "  coalesce NIC adaptive on|off\n"
    "                     the NIC chooses the limits by what it measures\n"
    "  coalesce NIC target p99=20us\n"
    "                     the fewest interrupts that tell 99 % of completions within 20 us\n"
    "  coalesce NIC off   an interrupt for every event\n"
    "\n"
    "Options\n"
    "  --json             JSON instead of tables\n"
    "  --nonzero          stats: only counters that are not 0\n"
    "  --per-shard        stats: each shard's own, instead of their sums\n"
    "  -w FILE            capture: where to, - for standard output\n"
    "  -c COUNT           capture: end after so many frames; --watch: so many lines\n"
    "  --seconds S        capture: end after so many seconds\n"
    "  --vector N         coalesce: this interrupt vector alone\n"
    "  --stats            coalesce: interrupts by cause, and the time that completions waited\n"
    "  --watch S          coalesce: what these gain, every S seconds\n"
    "  --run-dir DIR      where the NICs' sockets are (WEFT_RUN_DIR, else /run/weft)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 done, 1 failure (no such NIC, no weftd), 2 usage.\n";

enum {
	OPT_JSON = 256,
	OPT_NONZERO,
	OPT_PER_SHARD,
	OPT_SECONDS,
	OPT_RUN_DIR,
	OPT_VECTOR,
	OPT_STATS,
	OPT_WATCH,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"json", no_argument, NULL, OPT_JSON},
    {"nonzero", no_argument, NULL, OPT_NONZERO},
    {"per-shard", no_argument, NULL, OPT_PER_SHARD},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"vector", required_argument, NULL, OPT_VECTOR},
    {"stats", no_argument, NULL, OPT_STATS},
    {"watch", required_argument, NULL, OPT_WATCH},
    {"run-dir", required_argument, NULL, OPT_RUN_DIR},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

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

/* -1: accepted; else an exit code. */
static int take_option(struct ctl *ctl, int opt, char **argv)
{
	switch (opt) {
	case OPT_JSON:
		ctl->json = true;
		return -1;
	case OPT_NONZERO:
		ctl->nonzero = true;
		return -1;
	case OPT_PER_SHARD:
		ctl->per_shard = true;
		return -1;
	case 'w':
		ctl->file = optarg;
		return -1;
	case 'c':
		return take_number("-c", optarg, 1, UINT64_MAX, &ctl->count);
	case OPT_SECONDS:
		return take_seconds("--seconds", optarg, 0.001, 1e6, &ctl->seconds);
	case OPT_VECTOR:
		ctl->has_vector = true;
		return take_number32("--vector", optarg, 0, UINT16_MAX, &ctl->vector);
	case OPT_STATS:
		ctl->stats = true;
		return -1;
	case OPT_WATCH:
		return take_seconds("--watch", optarg, 0.001, 1e6, &ctl->watch_s);
	case OPT_RUN_DIR:
		if (setenv("WEFT_RUN_DIR", optarg, 1))
			return fail("%s", strerror(errno));
		return -1;
	case 'h':
	case OPT_HELP:
		fputs(help, stdout);
		return CTL_OK;
	case OPT_VERSION:
		printf("weftctl %s\n", weft_version());
		return CTL_OK;
	default:
		return usage_option(opt, argv, longopts);
	}
}

/* Options that belong to other commands. -1: none. */
static int check_options(const struct ctl *ctl)
{
	bool capture = !strcmp(ctl->command, "capture"), stats = !strcmp(ctl->command, "stats");
	bool coalesce = !strcmp(ctl->command, "coalesce"), watch = ctl->watch_s > 0;

	if (!capture && (ctl->file || (ctl->count && !watch) || ctl->seconds > 0))
		return usage("-w, -c and --seconds are for capture, -c for --watch too");
	if (!coalesce && (ctl->has_vector || ctl->stats || watch))
		return usage("--vector, --stats and --watch are for coalesce");
	if (coalesce && ctl->setting.set && (ctl->stats || watch))
		return usage("--stats and --watch show and set nothing: leave them out, or the "
			     "setting");
	if (coalesce && !ctl->nic && (ctl->setting.set || watch))
		return usage("coalesce which NIC? weftctl list names them");
	if (!stats && (ctl->nonzero || ctl->per_shard))
		return usage("--nonzero and --per-shard are for stats");
	if (capture && !ctl->nic)
		return usage("capture which NIC? weftctl list names them");
	if (capture && !ctl->file)
		return usage("capture needs -w FILE");
	if (capture && ctl->json && !strcmp(ctl->file, "-"))
		return usage("--json and -w - cannot share standard output");
	if (!strcmp(ctl->command, "list") && ctl->nic)
		return usage("list shows every NIC: leave out '%s'", ctl->nic);
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

static const char command_names[] =
    "list, clients, users, qps, mrs, cqs, neigh, peers, groups, xdp, stats, coalesce or capture";

/* NULL: there is none of that name. */
static int (*find_command(const char *name))(const struct ctl *ctl)
{
	static const struct {
		const char *name;
		int (*run)(const struct ctl *ctl);
	} commands[] = {
	    {"list", run_list},         {"xdp", run_xdp},         {"stats", run_stats},
	    {"coalesce", run_coalesce}, {"capture", run_capture}, {"users", run_users},
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
	int opt, rc;

	/* The library that parses the options would take such a value for an option. */
	for (int i = 1; i < argc && !strcmp(argv[1], "coalesce"); i++)
		if (argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9')
			return usage("'%s': usecs are 0 to 1023, frames 0 to 255", argv[i]);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hw:c:", longopts, NULL)) != -1) {
		rc = take_option(&ctl, opt, argv);
		if (rc >= 0)
			return rc;
	}
	if (optind == argc)
		return usage("which command? %s", command_names);
	ctl.command = argv[optind++];
	run = find_command(ctl.command);
	if (!run)
		return usage("there is no command '%s': say %s", ctl.command, command_names);
	if (run == run_coalesce) {
		rc = take_coalesce(&ctl, argv + optind, argc - optind);
		if (rc >= 0)
			return rc;
		optind = argc;
	}
	if (optind < argc)
		ctl.nic = argv[optind++];
	if (optind < argc)
		return usage("one NIC at a time: leave out '%s'", argv[optind]);
	rc = check_options(&ctl);
	return rc >= 0 ? rc : run(&ctl);
}

int main(int argc, char **argv)
{
	return output_end(do_command(argc, argv));
}
