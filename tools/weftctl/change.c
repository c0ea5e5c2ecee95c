/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands fault, log, quota, mtu, ip, gw, nic, port and reload: changes of weftd while it
 * runs, and what is in force.
 *
 * Calls libweft's weft_change() and lib/fault_words.h. docs/operating.md, docs/faults.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fault_words.h"
#include "tools/weftctl/ctl.h"

enum {
	TEXT_CHARS = 16384,
	LINE_CHARS = 640,
	WEFTDS_MAX = 64,
	PLUG_TRIES = 200,
	PLUG_RETRY_US = 50000,
};

struct change {
	const struct ctl *ctl;
	const char *word; /* of the configuration */
	json_t *rows;
	long process[WEFTDS_MAX]; /* weftds that have been changed */
	uint32_t num_processes;
};

/* The exit status for the result of weft_change(), whose errors are printed. */
static int outcome(const struct weft_context *context, enum weft_change kind, int rc,
		   char text[TEXT_CHARS])
{
	if (rc == -EPERM)
		return fail("%s: only root and the user that weftd runs as may change it",
			    context->name);
	if (rc == -EINVAL)
		return fail("%s: the words are longer than weftd takes", context->name);
	if (rc == -EOPNOTSUPP)
		return fail("%s: its weftd is older than this weftctl: restart it", context->name);
	if (rc < 0)
		return fail("%s: %s", context->name, strerror(-rc));
	if (rc && kind == WEFT_CHANGE_LINE) {
		size_t chars = strlen(context->name);

		text[strcspn(text, "\n")] = '\0';
		/* Some name the NIC themselves. */
		if (!strncmp(text, context->name, chars) && text[chars] == ':')
			return fail("%s", text);
		return fail("%s: %s", context->name, text);
	}
	return rc ? CTL_FAILED : CTL_OK;
}

static int change(struct weft_context *context, enum weft_change kind, const char *line,
		  char text[TEXT_CHARS])
{
	int rc = weft_change(context, kind, line, text, TEXT_CHARS);

	return outcome(context, kind, rc, text);
}

/* Returns true the first time that a NIC of this weftd is seen. */
static bool is_new(struct change *c, struct weft_context *context)
{
	char text[TEXT_CHARS];
	long process = 0;

	if (change(context, WEFT_CHANGE_SHOW, "process", text) != CTL_OK ||
	    sscanf(text, "process = %ld", &process) != 1)
		return true;
	for (uint32_t i = 0; i < c->num_processes; i++)
		if (c->process[i] == process)
			return false;
	if (c->num_processes < WEFTDS_MAX)
		c->process[c->num_processes++] = process;
	return true;
}

/* ---- fault */

static json_t *fault_row(const char *nic, const char *words)
{
	char error[FAULT_WORDS_ERROR_CHARS];
	struct hw_fault f;

	if (!fault_words_parse(words, &f, error, sizeof(error)))
		return NULL;
	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "nic", nic,
			 "fault", words, "loss_percent", f.chance.loss_ppm / 1e4, "burst_percent",
			 f.chance.burst_ppm / 1e4, "dup_percent", f.chance.dup_ppm / 1e4,
			 "reorder_percent", f.chance.reorder_ppm / 1e4, "corrupt_percent",
			 f.chance.corrupt_ppm / 1e4, "delay_us", (double)f.delay_ns / 1e3,
			 "jitter_us", (double)f.jitter_ns / 1e3, "rate_bps", (json_int_t)f.rate_bps,
			 "seed", (json_int_t)f.seed);
}

static int show_fault(struct weft_context *context, struct change *c)
{
	char text[TEXT_CHARS], *words;
	json_t *row;
	int rc = change(context, WEFT_CHANGE_SHOW, "fault", text);

	if (rc != CTL_OK)
		return rc;
	text[strcspn(text, "\n")] = '\0';
	/* "fault = NIC WORDS" */
	words = strchr(text, '=');
	words = words ? strchr(words + 2, ' ') : NULL;
	row = words ? fault_row(context->name, words + 1) : NULL;
	if (!row)
		return fail("%s: its weftd answers with words that this weftctl does not know",
			    context->name);
	json_array_append_new(c->rows, row);
	return CTL_OK;
}

static int fault_nic(struct weft_context *context, void *arg)
{
	struct change *c = arg;
	char line[LINE_CHARS], text[TEXT_CHARS];
	int rc;

	if (*c->ctl->words) {
		snprintf(line, sizeof(line), "fault = %s %s", context->name, c->ctl->words);
		rc = change(context, WEFT_CHANGE_LINE, line, text);
		if (rc != CTL_OK)
			return rc;
	}
	return show_fault(context, c);
}

int run_fault(const struct ctl *ctl)
{
	static const struct out_column columns[] = {{"nic", "NIC"}, {"fault", "FAULT"}};
	struct change c = {.ctl = ctl, .rows = json_array()};
	bool some;
	int rc = each_nic(ctl, fault_nic, &c, &some);

	if (*ctl->words && !ctl->json) {
		json_decref(c.rows);
		return rc;
	}
	if (ctl->json && some)
		return out_json(c.rows) == CTL_OK ? rc : CTL_FAILED;
	return out_rows(ctl, rc, some, columns, sizeof(columns) / sizeof(columns[0]), c.rows);
}

/* ---- log, quota: of a weftd, whichever of its NICs is asked */

/* Adds a row for each line "WORD = VALUE". */
static void add_values(struct change *c, const char *nic, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		char *value = strstr(line, " = ");

		if (value)
			json_array_append_new(
			    c->rows, json_pack("{s:s, s:s}", "nic", nic, c->word, value + 3));
	}
}

static int value_nic(struct weft_context *context, void *arg)
{
	struct change *c = arg;
	char line[LINE_CHARS], text[TEXT_CHARS];
	int rc = CTL_OK;

	if (!is_new(c, context))
		return CTL_OK;
	if (*c->ctl->words) {
		snprintf(line, sizeof(line), "%s = %s", c->word, c->ctl->words);
		rc = change(context, WEFT_CHANGE_LINE, line, text);
	}
	if (rc == CTL_OK)
		rc = change(context, WEFT_CHANGE_SHOW, c->word, text);
	if (rc == CTL_OK)
		add_values(c, context->name, text);
	return rc;
}

static int run_value(const struct ctl *ctl, const char *word, const char *title)
{
	const struct out_column columns[] = {{"nic", "NIC"}, {word, title}};
	struct change c = {.ctl = ctl, .word = word, .rows = json_array()};
	bool some;
	int rc = each_nic(ctl, value_nic, &c, &some);

	if (*ctl->words && !ctl->json) {
		json_decref(c.rows);
		return rc;
	}
	return out_rows(ctl, rc, some, columns, 2, c.rows);
}

int run_log(const struct ctl *ctl)
{
	return run_value(ctl, "log-level", "LEVEL");
}

int run_quota(const struct ctl *ctl)
{
	return run_value(ctl, "quota", "QUOTA");
}

/* ---- mtu, ip, gw: of each NIC */

static int net_nic(struct weft_context *context, void *arg)
{
	struct change *c = arg;
	char line[LINE_CHARS], text[TEXT_CHARS], *value;
	int rc = CTL_OK;

	if (*c->ctl->words) {
		snprintf(line, sizeof(line), "%s = %s %s", c->word, context->name, c->ctl->words);
		rc = change(context, WEFT_CHANGE_LINE, line, text);
	}
	if (rc == CTL_OK)
		rc = change(context, WEFT_CHANGE_SHOW, c->word, text);
	if (rc != CTL_OK)
		return rc;
	text[strcspn(text, "\n")] = '\0';
	/* "WORD = NIC VALUE" */
	value = strrchr(text, ' ');
	json_array_append_new(c->rows, json_pack("{s:s, s:s}", "nic", context->name, c->word,
						 value ? value + 1 : ""));
	return CTL_OK;
}

static int run_net(const struct ctl *ctl, const char *word, const char *title)
{
	const struct out_column columns[] = {{"nic", "NIC"}, {word, title}};
	struct change c = {.ctl = ctl, .word = word, .rows = json_array()};
	bool some;
	int rc = each_nic(ctl, net_nic, &c, &some);

	if (*ctl->words && !ctl->json) {
		json_decref(c.rows);
		return rc;
	}
	return out_rows(ctl, rc, some, columns, 2, c.rows);
}

int run_mtu(const struct ctl *ctl)
{
	return run_net(ctl, "mtu", "MTU");
}

int run_ip(const struct ctl *ctl)
{
	return run_net(ctl, "ip", "ADDRESS");
}

int run_gw(const struct ctl *ctl)
{
	return run_net(ctl, "gw", "GATEWAY");
}

/* ---- nic, port: of one weftd */

/* Another removal is under way, or a request that needs the NICs where they are. */
static int plug(struct weft_context *context, const char *line, char text[TEXT_CHARS])
{
	int rc = weft_change(context, WEFT_CHANGE_LINE, line, text, TEXT_CHARS);

	for (int i = 0; rc == EAGAIN && i < PLUG_TRIES; i++) {
		usleep(PLUG_RETRY_US);
		rc = weft_change(context, WEFT_CHANGE_LINE, line, text, TEXT_CHARS);
	}
	return outcome(context, WEFT_CHANGE_LINE, rc, text);
}

static int plug_nic(struct weft_context *context, void *arg)
{
	struct change *c = arg;
	char line[LINE_CHARS], text[TEXT_CHARS];
	int rc;

	if (!is_new(c, context))
		return CTL_OK;
	if (c->num_processes > 1)
		return fail("several weftds run: --of NIC says which one is meant");
	snprintf(line, sizeof(line), "%s = %s", c->ctl->command, c->ctl->words);
	rc = plug(context, line, text);
	if (rc != CTL_OK)
		return rc;
	text[strcspn(text, "\n")] = '\0';
	if (c->ctl->json)
		json_array_append_new(c->rows, json_pack("{s:s}", "change", text));
	else
		puts(text);
	return CTL_OK;
}

int run_plug(const struct ctl *ctl)
{
	struct change c = {.ctl = ctl, .rows = json_array()};
	bool some;
	int rc = each_nic(ctl, plug_nic, &c, &some);

	if (ctl->json && some)
		return out_json(c.rows) == CTL_OK ? rc : CTL_FAILED;
	json_decref(c.rows);
	return rc;
}

/* ---- reload */

static int reload_nic(struct weft_context *context, void *arg)
{
	struct change *c = arg;
	char text[TEXT_CHARS], *rest = text, *line;
	int rc;

	if (!is_new(c, context))
		return CTL_OK;
	text[0] = '\0';
	rc = change(context, WEFT_CHANGE_RELOAD, "", text);
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (!*line)
			continue;
		if (c->ctl->json)
			json_array_append_new(
			    c->rows, json_pack("{s:s, s:s}", "nic", context->name, "change", line));
		else
			puts(line);
	}
	return rc;
}

int run_reload(const struct ctl *ctl)
{
	struct change c = {.ctl = ctl, .rows = json_array()};
	bool some;
	int rc = each_nic(ctl, reload_nic, &c, &some);

	if (ctl->json)
		return out_json(c.rows) == CTL_OK ? rc : CTL_FAILED;
	json_decref(c.rows);
	return rc;
}
