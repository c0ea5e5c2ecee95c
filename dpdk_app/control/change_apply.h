/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies the difference between two configurations to a running weftd. For change.c.
 */
#ifndef WEFT_APP_CHANGE_APPLY_H
#define WEFT_APP_CHANGE_APPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "dpdk_app/app.h"

/* Lines for the operator: what was changed, and what was not and why. */
struct change_report {
	size_t chars;
	char text[8192];
};

/* Adds a line, without its end. */
void change_say(struct change_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Applies what can be changed while weftd runs, and reports each change. app->conf follows. Returns
 * 0, or the errno of the last change that failed, which is reported too.
 */
int change_apply(struct app *app, const struct conf *conf, struct change_report *report);

/* Returns true if a line begins with a word that change_apply() handles. */
bool change_handles(const char *line);

/* Reports what differs and is read only at the start. Returns true if anything does. */
bool change_left(const struct conf *requested, const struct conf *conf,
		 struct change_report *report);

/* Reports the limits that the configuration sets, as its lines. */
void change_quota_show(const struct conf *conf, struct change_report *report);

#endif /* WEFT_APP_CHANGE_APPLY_H */
