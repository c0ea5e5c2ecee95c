/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-measure: sets interrupt moderation and measures it, one setting at a time. Requests come on
 * standard input and answers go to standard output, a JSON object on each line (request.h).
 *
 * The order: open a target (target_*.c), describe it, serve requests to the end of the input, put
 * the initial settings back, close. weft-tune is the program that asks. `serve` is the other end of
 * target netdev (serve.c).
 */
#include "lib/cli.h"
#include "lib/clock.h"
#include "tools/usage.h"
#include "tools/weft-measure/request.h"
#include "tools/weft-measure/target.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

const char tool_name[] = "weft-measure";

struct opts {
	const char *port, *bind;
};

static const struct cli_option rows[] = {
    {.name = "port",
     .letter = 'p',
     .value = "PORT",
     .kind = CLI_TEXT,
     CLI_FIELD(struct opts, port),
     .initial = "47990",
     .of = "serve",
     .help = "port of TCP and UDP"},
    {.name = "bind",
     .letter = 'b',
     .value = "ADDRESS",
     .kind = CLI_TEXT,
     CLI_FIELD(struct opts, bind),
     .shown = "any",
     .of = "serve",
     .help = "address to serve on; every host that can reach the port can use it"},
};

static const struct cli_command command_rows[] = {
    {"sim", "[PROFILE]", "simulated NICs and hosts: weft, or espgoal"},
    {"device", "NIC[@NIC]", "two NICs of one weftd; without the second the next one"},
    {"netdev", "IFACE@ADDRESS[:PORT]", "an interface of Linux; serve runs at the other end"},
    {"serve", "[IFACE]",
     "the other end of netdev: answers its pings, sends its bulk, and sets IFACE on request; "
     "without IFACE sets nothing at this end"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "sets interrupt moderation and measures it",
    .usage = "weft-measure sim [PROFILE]\n"
	     "weft-measure device NIC[@NIC]\n"
	     "weft-measure netdev IFACE@ADDRESS[:PORT]\n"
	     "weft-measure serve [--port PORT] [--bind ADDRESS] [IFACE]",
    .about = "Sets interrupt moderation and measures it. Each line of standard input is a\n"
	     "request, each line of standard output an answer, both JSON objects; the first line\n"
	     "of output describes the target. At the end of the input, and after signals, the\n"
	     "initial settings are put back. weft-tune starts this program.",
    .after = "Exit status: 0 done, 1 failure, 2 usage.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
    .commands = command_rows,
    .num_commands = sizeof(command_rows) / sizeof(command_rows[0]),
};

static volatile bool stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = true;
}

static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM};
	/* SA_RESTART: a line that is read in part is not lost. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	/* A program that nohup started goes on. */
	if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A measurement ends early when the program that asked for it dies. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

struct session {
	const struct tune_target_ops *ops;
	struct tune_target *target;
	struct tune_setting applied;
	bool is_applied; /* applied is what the target has now */
	bool keep;       /* the initial settings are not put back at the end */
};

static int apply(struct session *s, const struct tune_setting *setting, char *error)
{
	int rc;

	if (s->is_applied && s->applied.mode == setting->mode &&
	    !memcmp(s->applied.param, setting->param, sizeof(setting->param)))
		return 0;
	s->is_applied = false;
	rc = s->ops->apply(s->target, setting, error);
	if (rc)
		return rc;
	s->applied = *setting;
	s->is_applied = true;
	return 0;
}

static int restore(struct session *s, char *error)
{
	s->is_applied = false;
	return s->ops->restore(s->target, error);
}

/* Carries a request out. Returns its answer. */
static json_t *serve_request(struct session *s, const char *line)
{
	char error[TUNE_ERROR_CHARS] = "";
	struct tune_result result;
	struct request request;
	double begin_s = clock_now_s();
	int rc;

	if (!request_parse(line, &request, error))
		return answer_error(-EINVAL, error);
	s->keep = request.keep || request.restore;
	tune_result_clear(&result);
	if (request.restore)
		rc = restore(s, error);
	else if (request.effort.metrics && stop)
		rc = -EINTR;
	else
		rc = apply(s, &request.setting, error);
	if (!rc && request.effort.metrics)
		rc = s->ops->measure(s->target, &request.effort, &result, &stop, error);
	return rc ? answer_error(rc, error) : answer_result(&result, clock_now_s() - begin_s);
}

static int run(struct session *s)
{
	char error[TUNE_ERROR_CHARS], *line = NULL;
	bool ok = answer_send(answer_target(s->ops, s->target));
	size_t bytes = 0;

	while (ok && getline(&line, &bytes, stdin) >= 0)
		ok = answer_send(serve_request(s, line));
	free(line);
	if (!s->keep && restore(s, error)) {
		fprintf(stderr, "weft-measure: %s\n", error);
		ok = false;
	}
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int measure(const struct tune_target_ops *ops, const char *name)
{
	struct session s = {.ops = ops};
	char error[TUNE_ERROR_CHARS] = "";
	int status;

	catch_signals();
	s.target = ops->open(name, error);
	if (!s.target) {
		answer_send(answer_error(-EIO, error));
		return EXIT_FAILURE;
	}
	status = run(&s);
	ops->close(s.target);
	return status;
}

static int weft_measure(int argc, char **argv)
{
	static const struct tune_target_ops *const targets[] = {
	    &tune_target_sim, &tune_target_device, &tune_target_netdev};
	struct opts opts = {0};
	const char *command, *name;
	struct cli cli;
	int rc = cli_take(&cli, &program, &opts, NULL, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (!cli.num_words)
		return usage("sim, device, netdev or serve?");
	command = cli.words[0];
	name = cli.num_words > 1 && *cli.words[1] ? cli.words[1] : NULL;
	if (!cli_find_command(&program, command))
		return usage("there is no target '%s': sim, device, netdev, or serve", command);
	if (cli.num_words > 2)
		return usage("%s takes one name, '%s' is one too many", command, cli.words[2]);
	if (!cli_check_command(&cli, command))
		return cli_say(&cli);
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (strcmp(targets[i]->name, command))
			continue;
		if (!name && targets[i] != &tune_target_sim)
			return usage("%s needs a name", command);
		return measure(targets[i], name);
	}
	return tune_serve(opts.bind, opts.port, name);
}

int main(int argc, char **argv)
{
	return output_end(weft_measure(argc, argv));
}
