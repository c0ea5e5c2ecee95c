/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a running weftd; see change.h.
 *
 * Calls args.c, change_apply.c and log.c.
 */
#include "dpdk_app/control/change.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/control/capture_conf.h"
#include "dpdk_app/control/change_apply.h"
#include "dpdk_app/control/plug.h"
#include "dpdk_app/control/renew.h"
#include "lib/fault.h"

static struct app *change_app;
static int change_argc;
static char **change_argv;
/*
 * As parsed at the start, with which what is read only then is compared; the faults of NICs as
 * parsed last.
 */
static struct conf change_requested;

void change_init(struct app *app, int argc, char **argv)
{
	change_app = app;
	change_argc = argc;
	change_argv = argv;
	change_requested = app->conf;
}

void change_forget(const struct nic *nic)
{
	conf_fault_return(&change_app->conf, &change_requested, nic->index);
	capture_conf_forget(nic);
}

bool change_has_file(void)
{
	for (int i = 1; i < change_argc; i++) {
		/* Options may be abbreviated. */
		if (!strncmp(change_argv[i], "--con", 5))
			return true;
	}
	return false;
}

void change_say(struct change_report *report, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(report->text + report->chars, sizeof(report->text) - report->chars, format,
		      list);
	va_end(list);
	if (n <= 0 || report->chars + (size_t)n + 2 > sizeof(report->text))
		return; /* a line that does not fit is left out */
	report->chars += (size_t)n;
	report->text[report->chars++] = '\n';
	report->text[report->chars] = '\0';
}

static void log_report(const struct change_report *report)
{
	const char *line = report->text;

	while (*line) {
		size_t chars = strcspn(line, "\n");

		log_info("%.*s", (int)chars, line);
		line += chars + (line[chars] == '\n');
	}
}

/* ---- one line */

static int run_line(const char *line, struct change_report *report)
{
	static struct conf conf;
	char error[CONF_ERROR_CHARS];
	bool net = renew_handles(line);
	int err;

	if (plug_handles(line)) {
		err = plug_line(change_app, line, report);
		log_report(report);
		return err;
	}

	if (!net && !change_handles(line)) {
		change_say(report,
			   "\"%.40s\" cannot be changed while weftd runs: write it into the "
			   "configuration file, then systemctl restart weftd",
			   line);
		return ENOTSUP;
	}
	conf = change_app->conf;
	if (!(net ? renew_line(change_app, line, &conf, error) : args_line(line, &conf, error))) {
		change_say(report, "%s", error);
		return EINVAL;
	}
	err = change_apply(change_app, &conf, report);
	log_report(report);
	return err;
}

/* ---- all of the configuration */

static int reload(struct change_report *report)
{
	static struct conf conf, requested;
	char error[CONF_ERROR_CHARS] = "";
	int err, rc;

	if (args_parse(change_argc, change_argv, &conf, error) != ARGS_RUN) {
		change_say(report, "%s: nothing was changed", error);
		return EINVAL;
	}
	requested = conf;
	err = plug_reload(change_app, &conf, report);
	rc = change_apply(change_app, &conf, report);
	err = rc ? rc : err;
	if (change_left(&change_requested, &requested, report) && !err)
		err = ENOTSUP;
	memcpy(change_requested.faults, requested.faults, sizeof(requested.faults));
	change_requested.num_faults = requested.num_faults;
	if (!report->chars)
		change_say(report, "nothing differs from the configuration");
	return err;
}

void change_reload(void)
{
	static struct change_report report;

	report.chars = 0;
	report.text[0] = '\0';
	(void)reload(&report);
	log_report(&report);
}

/* ---- what is in force */

static void show(const struct nic *nic, const char *word, struct change_report *report)
{
	static const char *const levels[] = {"error", "info", "debug"};
	char words[FAULT_WORDS_CHARS];

	if (!*word || !strcmp(word, "fault")) {
		fault_words_print(&nic->fault, words, sizeof(words));
		change_say(report, "fault = %s %s", nic->name, words);
	}
	if (!*word || !strcmp(word, "log-level"))
		change_say(report, "log-level = %s", levels[log_get_level()]);
	renew_show(nic, word, report);
	if (!strcmp(word, "process"))
		change_say(report, "process = %d", (int)getpid());
	if (!*word || !strcmp(word, "quota"))
		change_quota_show(&nic->app->conf, report);
}

/* ---- the command */

/* A copy of the line that ends and is text; false: it is not. */
static bool take_line(const struct hw_cmd_change *change, char line[sizeof(change->line)])
{
	memcpy(line, change->line, sizeof(change->line));
	if (!memchr(line, '\0', sizeof(change->line)))
		return false;
	for (const char *c = line; *c; c++) {
		if (*c < ' ' || *c > '~')
			return false;
	}
	return true;
}

static void answer(const char *text, uint32_t cursor, int outcome, struct hw_resp_change *resp)
{
	uint32_t total = text ? (uint32_t)strlen(text) : 0;
	uint32_t bytes = cursor < total ? total - cursor : 0;

	if (bytes > sizeof(resp->text))
		bytes = sizeof(resp->text);
	resp->outcome = outcome;
	resp->total = total;
	resp->bytes = bytes;
	if (bytes)
		memcpy(resp->text, text + cursor, bytes);
}

int change_run(struct nic *nic, char **kept, bool owner, const struct hw_cmd *cmd,
	       struct hw_resp_change *resp)
{
	static struct change_report report;
	char line[sizeof(cmd->u.change.line)];
	uint32_t kind = cmd->u.change.kind;
	int outcome = 0;

	if (kind >= HW_CHANGE_KINDS || cmd->reserved || !take_line(&cmd->u.change, line) ||
	    (kind != HW_CHANGE_MORE && cmd->u.change.cursor))
		return EINVAL;
	if (kind == HW_CHANGE_MORE) {
		answer(*kept, cmd->u.change.cursor, 0, resp);
		return 0;
	}
	if (kind != HW_CHANGE_SHOW && !owner)
		return EPERM;
	report.chars = 0;
	report.text[0] = '\0';
	if (kind == HW_CHANGE_SHOW)
		show(nic, line, &report);
	else if (kind == HW_CHANGE_LINE)
		outcome = run_line(line, &report);
	else
		outcome = reload(&report);
	if (kind == HW_CHANGE_RELOAD)
		log_report(&report);
	free(*kept);
	*kept = strdup(report.text);
	if (!*kept)
		return ENOMEM;
	answer(*kept, 0, outcome, resp);
	return 0;
}
