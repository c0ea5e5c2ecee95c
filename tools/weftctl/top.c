/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command top, and --watch of the listings. On a terminal top draws a screen, elsewhere it
 * prints tables, with --json a line of JSON for each picture. Calls top_sample.c, top_screen.c and
 * out.c.
 */
#include "tools/weftctl/top.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double default_s = 1.0;

static volatile sig_atomic_t ended;

static void on_end(int number)
{
	(void)number;
	ended = 1;
}

static void catch_ends(void)
{
	struct sigaction action = {.sa_handler = on_end};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Waits; a signal ends it early. */
static void wait_for(double seconds)
{
	const struct timespec span = {.tv_sec = (time_t)seconds,
				      .tv_nsec = (long)(fmod(seconds, 1.0) * 1e9)};

	if (!ended)
		(void)nanosleep(&span, NULL);
}

static void now_text(char *text, size_t bytes)
{
	time_t now = time(NULL);
	struct tm parts;

	if (!localtime_r(&now, &parts) || !strftime(text, bytes, "%H:%M:%S", &parts))
		snprintf(text, bytes, "?");
}

/* A copy of the rows in which numbers are text with their units' prefixes. */
static json_t *text_rows(const struct top_table *table, const json_t *rows, size_t num_columns)
{
	json_t *copy = json_array(), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		json_t *texts = json_object();

		for (size_t k = 0; k < num_columns; k++) {
			const char *key = table->columns[k].key;
			char text[40];

			top_text(key, json_object_get(row, key), text, sizeof(text));
			json_object_set_new(texts, key, json_string(text));
		}
		json_array_append_new(copy, texts);
	}
	return copy;
}

static int print_tables(const struct ctl *ctl, const json_t *picture, const char *head)
{
	int rc = CTL_OK;

	puts(head);
	for (size_t i = 0; i < top_num_tables && rc == CTL_OK; i++) {
		const struct top_table *table = &top_tables[i];
		const json_t *rows = json_object_get(picture, table->key);
		size_t num = 0;

		if (!json_array_size(rows))
			continue;
		while (num < sizeof(table->columns) / sizeof(table->columns[0]) &&
		       table->columns[num].key)
			num++;
		putchar('\n');
		rc = out_table(ctl, table->columns, num, text_rows(table, rows, num));
	}
	putchar('\n');
	return rc;
}

static int print_line(const json_t *picture)
{
	char *text = json_dumps(picture, JSON_COMPACT | JSON_REAL_PRECISION(9));

	if (!text)
		return fail("cannot write this as JSON: not UTF-8, or out of memory");
	puts(text);
	free(text);
	return CTL_OK;
}

/* Columns by which the key s sorts in turn; NULL: each table by its own. */
static const char *next_sort(const char *sort)
{
	static const char *const sorts[] = {NULL,  "tx_bits",   "objects",
					    "qps", "in_flight", "srtt_us"};
	size_t num = sizeof(sorts) / sizeof(sorts[0]);

	for (size_t i = 0; i < num; i++)
		if (sort == sorts[i] || (sort && sorts[i] && !strcmp(sort, sorts[i])))
			return sorts[(i + 1) % num];
	return NULL;
}

/* Shows the picture. Returns false when the user ends it. */
static bool show(const json_t *picture, double every_s, const char **sort)
{
	char head[160], now[16];
	int key;

	now_text(now, sizeof(now));
	snprintf(head, sizeof(head), "weftctl top  %s  every %g s  sorted by %s  (q ends, s sorts)",
		 now, every_s, *sort ? *sort : "default");
	key = top_screen_show(picture, head, every_s);
	if (key == 's')
		*sort = next_sort(*sort);
	return key != 'q' && key != 3;
}

static int one(const struct ctl *ctl, const json_t *picture, double every_s)
{
	char head[64], now[16];

	if (ctl->json)
		return print_line(picture);
	now_text(now, sizeof(now));
	snprintf(head, sizeof(head), "weftctl top  %s  every %g s", now, every_s);
	return print_tables(ctl, picture, head);
}

static int loop(const struct ctl *ctl, double every_s, bool screen)
{
	struct top_past past = {0};
	const char *sort = ctl->sort;
	uint64_t shown = 0;
	json_t *picture;
	int rc = CTL_OK;

	/* Rates need two pictures. */
	picture = top_sample(ctl, &past, sort);
	while (picture && !ended && (!ctl->count || shown < ctl->count) && rc == CTL_OK) {
		json_decref(picture);
		if (!shown || !screen)
			wait_for(shown ? every_s : fmin(every_s, default_s));
		picture = top_sample(ctl, &past, sort);
		if (!picture || ended)
			break;
		shown++;
		if (!screen)
			rc = one(ctl, picture, every_s);
		else if (!show(picture, every_s, &sort))
			break;
		fflush(stdout);
	}
	/* A script that asked for so many pictures learns that the last one is not whole. */
	if (!picture || (ctl->count && past.missing))
		rc = CTL_FAILED;
	json_decref(picture);
	json_decref(past.values);
	return rc;
}

int run_top(const struct ctl *ctl)
{
	double every_s = ctl->watch_s > 0 ? ctl->watch_s : default_s;
	bool screen = !ctl->json && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	int rc;

	catch_ends();
	if (screen && !top_screen_begin())
		return fail("this terminal (TERM) cannot show a screen; weftctl top | cat prints "
			    "tables");
	rc = loop(ctl, every_s, screen);
	if (screen)
		top_screen_end();
	return rc;
}

int top_watch(const struct ctl *ctl, int (*run)(const struct ctl *ctl))
{
	bool screen = isatty(STDOUT_FILENO) && !ctl->json;
	int rc = CTL_OK;

	catch_ends();
	for (uint64_t n = 0; !ended && (!ctl->count || n < ctl->count); n++) {
		char now[16];

		if (n)
			wait_for(ctl->watch_s);
		if (ended)
			break;
		now_text(now, sizeof(now));
		if (screen)
			/* Home, and clear to the end: ECMA-48, CUP and ED. */
			printf("\033[H\033[J");
		if (!ctl->json)
			printf("%sweftctl %s  %s\n", n && !screen ? "\n" : "", ctl->command, now);
		rc = run(ctl);
		fflush(stdout);
	}
	return rc;
}
