/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of the configuration; see capture_conf.h. Calls capture.c and args_capture.c.
 */
#include "dpdk_app/control/capture_conf.h"

#include <errno.h>
#include <string.h>

#include "dpdk_app/args/args_capture.h"
#include "dpdk_app/control/capture.h"
#include "dpdk_app/log.h"
#include "dpdk_app/own_file.h"

static bool same(const struct conf_capture *a, const struct conf_capture *b)
{
	if (!a || !b)
		return a == b;
	return !strcmp(a->file, b->file) && a->limit_bytes == b->limit_bytes;
}

/* Returns 0 or a positive errno. */
static int start(struct app *app, struct nic *nic, const struct conf_capture *line,
		 struct change_report *report)
{
	int err = capture_to_file(nic, line->file, line->limit_bytes);

	if (err) {
		change_say(report, "%s: capture: %s %s", nic->name, line->file,
			   err == -EBUSY ? "waits: another capture of this NIC runs"
					 : own_file_reason(err));
		return -err;
	}
	conf_capture_put(&app->conf, line);
	change_say(report, "%s: capture into %s", nic->name, line->file);
	return 0;
}

int capture_conf_apply(struct app *app, const struct conf *conf, struct change_report *report)
{
	int err = 0;

	for (uint32_t i = 0; i < app->num_nics; i++) {
		const struct conf_capture *line = conf_capture_of(conf, i);
		struct nic *nic = &app->nic[i];

		if (!app_has_nic(app, i) || same(line, conf_capture_of(&app->conf, i)))
			continue;
		/* No reference into app->conf may be in use from here on. */
		if (conf_capture_of(&app->conf, i)) {
			conf_capture_remove(&app->conf, i);
			if (capture_has_file(nic))
				capture_stop(nic);
			if (!line)
				change_say(report, "%s: no capture", nic->name);
		}
		if (line) {
			int rc = start(app, nic, line, report);

			err = rc ? rc : err;
		}
	}
	return err;
}

void capture_conf_begin(struct app *app)
{
	static struct conf conf;
	static struct change_report report;
	const char *line = report.text;

	conf = app->conf;
	app->conf.num_captures = 0;
	(void)capture_conf_apply(app, &conf, &report);
	for (size_t chars; *line; line += chars + (line[chars] == '\n')) {
		chars = strcspn(line, "\n");
		log_info("%.*s", (int)chars, line);
	}
}

void capture_conf_forget(const struct nic *nic)
{
	conf_capture_remove(&nic->app->conf, nic->index);
}
