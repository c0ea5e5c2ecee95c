/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-irqs: measures the cost of a benchmark to the host besides its own time: interrupts,
 * wake-ups, switches. Calls run.c.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/usage.h"
#include "tools/weft-irqs/tool.h"

const char tool_name[] = "weft-irqs";

static const char help[] =
    "Usage: weft-irqs [options] [--] COMMAND [ARG]...\n"
    "       weft-irqs [options] --pid PID[,PID] | --comm NAME | --all\n"
    "\n"
    "Counts what the kernel does for processes while COMMAND runs: CPU time, context switches,\n"
    "wake-ups and the time from each until the thread runs, softirqs and hard interrupts on top "
    "of\n"
    "them, NAPI polls of interfaces. Without COMMAND: until Ctrl-C, the end of the processes, or\n"
    "--seconds. Needs root, and a kernel of 5.12 or later with BTF; it counts in the kernel\n"
    "(BPF), nothing is written per event.\n"
    "\n"
    "Who is counted: COMMAND and its children, and\n"
    "  -p, --pid PID[,PID]   these processes, and children that they make from now on\n"
    "      --comm NAME       processes of this name, there already or later (NAME[,NAME])\n"
    "  -a, --all             every process\n"
    "\n"
    "What is shown\n"
    "      --waker WHO       times to running for wake-ups by WHO alone: the name or pid of a\n"
    "                        process (weftd signals eventfds itself), a softirq (NET_RX), timer,\n"
    "                        or irq (WHO[,WHO])\n"
    "      --iface IFACE     these interfaces alone, of this network namespace (IFACE[,IFACE])\n"
    "      --seconds S       end after S seconds; COMMAND gets SIGTERM\n"
    "  -I, --interval S      also every S seconds, what came since the last time\n"
    "      --json            an object on one line for each report\n"
    "      --csv             rows of seconds, what, name, id, counter, value\n"
    "  -o, --output FILE     the report's place, - is standard output (standard error)\n"
    "  -v, --verbose         what libbpf says, too\n"
    "      --raw             raw tracepoints even where tp_btf works (to find faults)\n"
    "      --help, --version\n"
    "\n"
    "Exit status: that of COMMAND, 128 + N if signal N ended it, 127 if it is not found, 126 if "
    "it\n"
    "cannot be executed; 1 for a failure of weft-irqs itself, 2 usage; 0 without COMMAND.\n";

enum {
	OPT_COMM = 256,
	OPT_WAKER,
	OPT_IFACE,
	OPT_SECONDS,
	OPT_JSON,
	OPT_CSV,
	OPT_RAW,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"pid", required_argument, NULL, 'p'},
    {"comm", required_argument, NULL, OPT_COMM},
    {"all", no_argument, NULL, 'a'},
    {"waker", required_argument, NULL, OPT_WAKER},
    {"iface", required_argument, NULL, OPT_IFACE},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"interval", required_argument, NULL, 'I'},
    {"json", no_argument, NULL, OPT_JSON},
    {"csv", no_argument, NULL, OPT_CSV},
    {"raw", no_argument, NULL, OPT_RAW},
    {"output", required_argument, NULL, 'o'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

int fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "weft-irqs: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return TOOL_FAILED;
}

/* ---- values --------------------------------------------------------------------------------- */

/*
 * Calls fn with each word of a list with commas, which it modifies. -1: all accepted; else an exit
 * code.
 */
static int each_word(struct tool *tool, char *list, int (*fn)(struct tool *tool, const char *word))
{
	char *rest = list, *word;
	int rc;

	while ((word = strsep(&rest, ","))) {
		rc = fn(tool, word);
		if (rc >= 0)
			return rc;
	}
	return -1;
}

static int take_pid(struct tool *tool, const char *word)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(word, &end, 10);
	if (*word < '0' || *word > '9' || *end || errno || pid < 1 || pid > INT_MAX)
		return usage("--pid takes numbers of processes, not '%s'", word);
	if (tool->counted.num_pids == TOOL_MAX_PIDS)
		return usage("at most %d processes by --pid", (int)TOOL_MAX_PIDS);
	tool->pid[tool->counted.num_pids++] = (pid_t)pid;
	return -1;
}

static int take_comm(struct tool *tool, const char *word)
{
	if (!*word || strlen(word) >= IRQS_NAME)
		return usage(
		    "--comm takes names of 1 to %d characters, as ps -o comm has them, not '%s'",
		    (int)IRQS_NAME - 1, word);
	if (tool->counted.num_names == IRQS_NAMES)
		return usage("at most %d names by --comm", (int)IRQS_NAMES);
	tool->name[tool->counted.num_names++] = word;
	return -1;
}

static int take_waker(struct tool *tool, const char *word)
{
	if (!*word)
		return usage("--waker takes names, not ''");
	if (tool->counted.num_wakers == TOOL_MAX_NAMES)
		return usage("at most %d wakers", (int)TOOL_MAX_NAMES);
	tool->waker[tool->counted.num_wakers++] = word;
	return -1;
}

static int take_iface(struct tool *tool, const char *word)
{
	unsigned int index = if_nametoindex(word);

	if (!index)
		return fail("there is no interface '%s' in this network namespace (ip link)", word);
	if (tool->num_ifaces == TOOL_MAX_NAMES)
		return usage("at most %d interfaces", (int)TOOL_MAX_NAMES);
	tool->ifindex[tool->num_ifaces++] = index;
	return -1;
}

/* ---- command line --------------------------------------------------------------------------- */

static int take_format(struct tool *tool, enum tool_format format)
{
	if (tool->format != TOOL_TEXT && tool->format != format)
		return usage("--json or --csv, not both");
	tool->format = format;
	return -1;
}

/* -1: accepted; else an exit code. */
static int take_option(struct tool *tool, int opt, char **argv)
{
	switch (opt) {
	case 'p':
		return each_word(tool, optarg, take_pid);
	case OPT_COMM:
		return each_word(tool, optarg, take_comm);
	case 'a':
		tool->counted.all = true;
		return -1;
	case OPT_WAKER:
		return each_word(tool, optarg, take_waker);
	case OPT_IFACE:
		return each_word(tool, optarg, take_iface);
	case OPT_SECONDS:
		return take_seconds("--seconds", optarg, 0.001, 1e6, &tool->seconds);
	case 'I':
		return take_seconds("--interval", optarg, 0.01, 1e6, &tool->interval_s);
	case OPT_JSON:
		return take_format(tool, TOOL_JSON);
	case OPT_CSV:
		return take_format(tool, TOOL_CSV);
	case 'o':
		tool->output = optarg;
		return -1;
	case 'v':
		tool->counted.verbose = true;
		return -1;
	case OPT_RAW:
		tool->counted.raw = true;
		return -1;
	case 'h':
	case OPT_HELP:
		fputs(help, stdout);
		return TOOL_OK;
	case OPT_VERSION:
		printf("weft-irqs %s\n", WEFT_VERSION);
		return TOOL_OK;
	default:
		return usage_option(opt, argv, longopts);
	}
}

static int open_output(struct tool *tool)
{
	tool->out = stderr;
	if (!tool->output)
		return 0;
	tool->out = strcmp(tool->output, "-") ? fopen(tool->output, "we") : stdout;
	return tool->out ? 0 : fail("%s: %s", tool->output, strerror(errno));
}

static int weft_irqs(int argc, char **argv)
{
	struct tool tool = {0};
	struct stat st;
	int opt, rc;

	opterr = 0;
	/* +: options of the command are left to it. */
	while ((opt = getopt_long(argc, argv, "+:hp:aI:o:v", longopts, NULL)) != -1) {
		rc = take_option(&tool, opt, argv);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc)
		tool.command = argv + optind;
	else if (!tool.counted.num_pids && !tool.counted.num_names && !tool.counted.all)
		return usage("count what? a command, --pid, --comm or --all");
	tool.counted.pids = tool.pid;
	tool.counted.names = tool.name;
	tool.counted.wakers = tool.waker;
	if (!stat("/proc/self/ns/net", &st))
		tool.netns = (uint32_t)st.st_ino;
	if (open_output(&tool))
		return TOOL_FAILED;
	rc = tool_run(&tool);
	if (tool.out != stderr && tool.out != stdout && fclose(tool.out) && rc == TOOL_OK)
		return fail("%s: %s", tool.output, strerror(errno));
	return rc;
}

int main(int argc, char **argv)
{
	return output_end(weft_irqs(argc, argv));
}
