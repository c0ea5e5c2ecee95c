/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-irqs: measures the cost of a benchmark to the host besides its own time: interrupts,
 * wake-ups, switches. Calls run.c.
 */
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cli.h"
#include "tools/usage.h"
#include "tools/weft-irqs/tool.h"

const char tool_name[] = "weft-irqs";

static bool take_pids(struct cli *cli, const char *text);
static bool take_comms(struct cli *cli, const char *text);
static bool take_wakers(struct cli *cli, const char *text);
static bool take_ifaces(struct cli *cli, const char *text);
static bool take_format(struct cli *cli, const char *text);

#define FIELD(member) CLI_FIELD(struct tool, member)

static const struct cli_option rows[] = {
    {.name = "Processes to count besides COMMAND and its children", .kind = CLI_GROUP},
    {.name = "pid",
     .letter = 'p',
     .value = "PID[,PID]",
     .apply = take_pids,
     .help = "these processes, and children that they make from now on"},
    {.name = "comm",
     .value = "NAME[,NAME]",
     .apply = take_comms,
     .help = "processes of this name, there already or later"},
    {.name = "all", .letter = 'a', .kind = CLI_FLAG, FIELD(counted.all), .help = "every process"},
    {.name = "The report", .kind = CLI_GROUP},
    {.name = "waker",
     .value = "WHO[,WHO]",
     .apply = take_wakers,
     .help = "times to running for wake-ups by WHO alone: the name or pid of a process (weftd "
	     "signals eventfds itself), a softirq (NET_RX), timer, or irq"},
    {.name = "iface",
     .value = "IFACE[,IFACE]",
     .apply = take_ifaces,
     .help = "only these interfaces, of this network namespace"},
    {.name = "seconds",
     .value = "S",
     .kind = CLI_REAL,
     FIELD(seconds),
     .least = 0.001,
     .most = 1e6,
     .help = "end after S seconds; COMMAND gets SIGTERM"},
    {.name = "interval",
     .letter = 'I',
     .value = "S",
     .kind = CLI_REAL,
     FIELD(interval_s),
     .least = 0.01,
     .most = 1e6,
     .help = "also report every S seconds the events since the last report"},
    {.name = "json", .apply = take_format, .help = "an object on one line for each report"},
    {.name = "csv",
     .apply = take_format,
     .help = "rows of seconds, what, name, id, counter, value"},
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .kind = CLI_TEXT,
     FIELD(output),
     .shown = "standard error",
     .help = "place of the report, - is standard output"},
    {.name = "verbose",
     .letter = 'v',
     .kind = CLI_FLAG,
     FIELD(counted.verbose),
     .help = "libbpf's messages too"},
    {.name = "raw",
     .kind = CLI_FLAG,
     FIELD(counted.raw),
     .help = "raw tracepoints even where tp_btf works (to find faults)"},
    {CLI_CONFIG, .apply = cli_config},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 8,
    .version = WEFT_VERSION,
    .summary = "counts interrupts, wake-ups and context switches of a command",
    .usage = "weft-irqs [options] [--] COMMAND [ARG]...\n"
	     "weft-irqs [options] --pid PID[,PID] | --comm NAME | --all",
    .about =
	"Counts what the kernel does for processes while COMMAND runs: CPU time, context "
	"switches,\n"
	"wake-ups and the time from each until the thread runs, softirqs and hard interrupts on\n"
	"top of them, NAPI polls of interfaces. Without COMMAND: until Ctrl-C, the end of the\n"
	"processes, or --seconds. Needs root, and a kernel of 5.12 or later with BTF; it counts "
	"in\n"
	"the kernel (BPF), nothing is written per event.",
    .after =
	"Exit status: that of COMMAND, 128 + N if signal N ended it, 127 if it is not found, 126\n"
	"if it cannot be executed; 1 for a failure of weft-irqs itself, 2 usage; 0 without "
	"COMMAND.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
    .in_order = true,
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

/* fn takes each word of a list with commas. */
static bool each_word(struct cli *cli, const char *list,
		      bool (*fn)(struct cli *cli, struct tool *tool, const char *word))
{
	char *rest = (char *)(uintptr_t)list, *word;

	/* The list is a word of the command line, or a text that a file's row keeps: ours to cut
	 * up. */
	while ((word = strsep(&rest, ",")))
		if (!fn(cli, cli->values, word))
			return false;
	return true;
}

static bool take_pid(struct cli *cli, struct tool *tool, const char *word)
{
	uint64_t pid;

	if (!cli_parse_number(word, &pid) || pid < 1 || pid > INT_MAX)
		return cli_wrong(cli, "--pid takes numbers of processes, not '%.40s'", word);
	if (tool->counted.num_pids == TOOL_MAX_PIDS)
		return cli_wrong(cli, "at most %d processes by --pid", (int)TOOL_MAX_PIDS);
	tool->pid[tool->counted.num_pids++] = (pid_t)pid;
	return true;
}

static bool take_comm(struct cli *cli, struct tool *tool, const char *word)
{
	if (!*word || strlen(word) >= IRQS_NAME)
		return cli_wrong(cli,
				 "--comm takes names of 1 to %d characters, as ps -o comm has "
				 "them, not '%.40s'",
				 (int)IRQS_NAME - 1, word);
	if (tool->counted.num_names == IRQS_NAMES)
		return cli_wrong(cli, "at most %d names by --comm", (int)IRQS_NAMES);
	tool->name[tool->counted.num_names++] = word;
	return true;
}

static bool take_waker(struct cli *cli, struct tool *tool, const char *word)
{
	if (!*word)
		return cli_wrong(cli, "--waker takes names, not ''");
	if (tool->counted.num_wakers == TOOL_MAX_NAMES)
		return cli_wrong(cli, "at most %d wakers", (int)TOOL_MAX_NAMES);
	tool->waker[tool->counted.num_wakers++] = word;
	return true;
}

static bool take_iface(struct cli *cli, struct tool *tool, const char *word)
{
	unsigned int index = if_nametoindex(word);

	/* The command line is right, the machine is not as it says: reported after parsing. */
	if (!index) {
		*(const char **)cli->context = word;
		return true;
	}
	if (tool->num_ifaces == TOOL_MAX_NAMES)
		return cli_wrong(cli, "at most %d interfaces", (int)TOOL_MAX_NAMES);
	tool->ifindex[tool->num_ifaces++] = index;
	return true;
}

static bool take_pids(struct cli *cli, const char *text)
{
	return each_word(cli, text, take_pid);
}

static bool take_comms(struct cli *cli, const char *text)
{
	return each_word(cli, text, take_comm);
}

static bool take_wakers(struct cli *cli, const char *text)
{
	return each_word(cli, text, take_waker);
}

static bool take_ifaces(struct cli *cli, const char *text)
{
	return each_word(cli, text, take_iface);
}

static bool take_format(struct cli *cli, const char *text)
{
	enum tool_format format = strcmp(cli->row->name, "csv") ? TOOL_JSON : TOOL_CSV;
	struct tool *tool = cli->values;

	(void)text;
	if (tool->format != TOOL_TEXT && tool->format != format)
		return cli_wrong(cli, "--json or --csv, not both");
	tool->format = format;
	return true;
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
	const char *no_iface = NULL;
	struct cli cli;
	struct stat st;
	int rc;

	rc = cli_take(&cli, &program, &tool, &no_iface, argc, argv);
	if (rc != CLI_RUN)
		return rc;
	if (no_iface)
		return fail("there is no interface '%s' in this network namespace (ip link)",
			    no_iface);
	if (cli.num_words)
		tool.command = cli.words;
	else if (!tool.counted.num_pids && !tool.counted.num_names && !tool.counted.all)
		return usage("nothing to count: give a command, --pid, --comm or --all");
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
