/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftctl: shows what the NICs of a weftd are doing. Started by users and scripts; calls
 * lists.c, stats.c, capture.c.
 */
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: weftctl COMMAND [NIC] [options]\n"
    "\n"
    "Shows NICs, what processes have made on them, and what goes over the wire. NIC is a name\n"
    "such as weft0, or the path of a NIC's socket; without one, all NICs are shown.\n"
    "\n"
    "Commands\n"
    "  list               the NICs: addresses, MTU, link, shards\n"
    "  clients [NIC]      processes that are attached\n"
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
    "\n"
    "Options\n"
    "  --json             JSON instead of tables\n"
    "  --nonzero          stats: only counters that are not 0\n"
    "  --per-shard        stats: each shard's own, instead of their sums\n"
    "  -w FILE            capture: where to, - for standard output\n"
    "  -c COUNT           capture: end after so many frames\n"
    "  --seconds S        capture: end after so many seconds\n"
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
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"json", no_argument, NULL, OPT_JSON},
    {"nonzero", no_argument, NULL, OPT_NONZERO},
    {"per-shard", no_argument, NULL, OPT_PER_SHARD},
    {"seconds", required_argument, NULL, OPT_SECONDS},
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

static int usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One line: what is wrong and how to mend it. */
static int usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "weftctl: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (weftctl --help tells more)\n");
	return CTL_USAGE;
}

/* -1: taken; else an exit code. */
static int take_option(struct ctl *ctl, int opt, char **argv)
{
	char *end;

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
		errno = 0;
		ctl->count = strtoull(optarg, &end, 10);
		if (*optarg < '0' || *optarg > '9' || *end || errno || !ctl->count)
			return usage("-c takes a number of frames, not '%s'", optarg);
		return -1;
	case OPT_SECONDS:
		ctl->seconds = strtod(optarg, &end);
		if (end == optarg || *end || !(ctl->seconds > 0) || ctl->seconds > 1e6)
			return usage("--seconds takes seconds above 0, not '%s'", optarg);
		return -1;
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
	case ':':
		return usage("%s needs a value", argv[optind - 1]);
	default:
		return usage("there is no option '%s'", argv[optind - 1]);
	}
}

/* Options that belong to other commands. -1: none. */
static int check_options(const struct ctl *ctl)
{
	bool capture = !strcmp(ctl->command, "capture"), stats = !strcmp(ctl->command, "stats");

	if (!capture && (ctl->file || ctl->count || ctl->seconds > 0))
		return usage("-w, -c and --seconds are for capture");
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

int main(int argc, char **argv)
{
	struct ctl ctl = {0};
	int opt, rc;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hw:c:", longopts, NULL)) != -1) {
		rc = take_option(&ctl, opt, argv);
		if (rc >= 0)
			return rc;
	}
	if (optind == argc)
		return usage(
		    "which command? list, clients, qps, mrs, cqs, neigh, peers, groups, xdp, stats "
		    "or capture");
	ctl.command = argv[optind++];
	if (optind < argc)
		ctl.nic = argv[optind++];
	if (optind < argc)
		return usage("one NIC at a time: leave out '%s'", argv[optind]);
	if (strcmp(ctl.command, "list") && strcmp(ctl.command, "xdp") &&
	    strcmp(ctl.command, "stats") && strcmp(ctl.command, "capture") &&
	    !is_objects(ctl.command))
		return usage("there is no command '%s': say list, clients, qps, mrs, cqs, neigh, "
			     "peers, groups, xdp, stats or capture",
			     ctl.command);
	rc = check_options(&ctl);
	if (rc >= 0)
		return rc;
	if (!strcmp(ctl.command, "list"))
		return run_list(&ctl);
	if (!strcmp(ctl.command, "xdp"))
		return run_xdp(&ctl);
	if (!strcmp(ctl.command, "stats"))
		return run_stats(&ctl);
	if (!strcmp(ctl.command, "capture"))
		return run_capture(&ctl);
	return run_objects(&ctl);
}
