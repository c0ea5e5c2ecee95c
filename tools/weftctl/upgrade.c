/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upgrade: lets every weftd go on with the firmware of a file. Each is asked first whether it
 * could, so that either all of them change or none does. docs/upgrade.md.
 */
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	UPGRADE_MAX_DAEMONS = 64,
};

struct upgrade {
	const char *file;
	int fd;
	bool check;                         /* this round changes nothing */
	bool quiet;                         /* and prints nothing: another round follows */
	uint32_t seen[UPGRADE_MAX_DAEMONS]; /* processes of this round: one has several NICs */
	uint32_t num_seen;
	json_t *rows;
};

/* The image that belongs to this weftctl: ../lib/weft/firmware.so. */
static bool own_file(char *path, size_t bytes)
{
	char self[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	return n > 0 &&
	       (size_t)snprintf(path, bytes, "%s/../lib/weft/firmware.so", dirname(self)) < bytes;
}

static int refused(const struct upgrade *u, int rc, const struct weft_upgrade *result)
{
	if (rc == -ENOEXEC)
		return fail("%s: weftd (process %u) refuses it and goes on as before: %s", u->file,
			    result->pid, result->why);
	if (rc == -EPERM)
		return fail("upgrade is for root and for weftd's user");
	if (rc == -EOPNOTSUPP)
		return fail("this weftd is too old to be upgraded while it runs: start it again");
	return fail("upgrade: %s", strerror(-rc));
}

static void add_row(struct upgrade *u, const struct weft_upgrade *result)
{
	json_t *row =
	    json_pack("{s:i, s:s, s:s, s:i, s:f}", "pid", (int)result->pid, "from", result->version,
		      "to", result->version_new, "shards", (int)result->shards, "longest_us",
		      (double)result->longest_ns / 1000);

	if (row)
		json_array_append_new(u->rows, row);
}

static bool is_among(const uint32_t *pid, uint32_t num, uint32_t wanted)
{
	for (uint32_t i = 0; i < num; i++)
		if (pid[i] == wanted)
			return true;
	return false;
}

/* A NIC's weftd is asked which process it is before it is changed: once for all of its NICs. */
static int one_nic(struct weft_context *context, void *arg)
{
	struct upgrade *u = arg;
	struct weft_upgrade result;
	int rc = weft_upgrade(context, u->fd, true, &result);

	if (rc && is_among(u->seen, u->num_seen, result.pid))
		return CTL_FAILED; /* the reason was printed for another of its NICs */
	if (rc) {
		if (result.pid && u->num_seen < UPGRADE_MAX_DAEMONS)
			u->seen[u->num_seen++] = result.pid;
		return refused(u, rc, &result);
	}
	if (is_among(u->seen, u->num_seen, result.pid) || u->num_seen == UPGRADE_MAX_DAEMONS)
		return CTL_OK;
	u->seen[u->num_seen++] = result.pid;
	if (!u->check) {
		rc = weft_upgrade(context, u->fd, false, &result);
		if (rc)
			return refused(u, rc, &result);
	}
	if (!u->quiet)
		add_row(u, &result);
	return CTL_OK;
}

int upgrade_open(const struct ctl *ctl, const char **file)
{
	static char path[PATH_MAX];

	*file = ctl->firmware;
	if (!*file && own_file(path, sizeof(path)))
		*file = path;
	return *file ? open(*file, O_RDONLY | O_CLOEXEC) : -1;
}

int run_upgrade(const struct ctl *ctl)
{
	static const struct out_column columns[] = {{"pid", "PID"},
						    {"from", "FROM"},
						    {"to", "TO"},
						    {"shards", "SHARDS"},
						    {"longest_us", "LONGEST_US"}};
	struct upgrade u = {.check = true, .quiet = !ctl->check};
	bool some = false;
	int rc;

	u.fd = upgrade_open(ctl, &u.file);
	if (u.fd < 0)
		return fail("%s: %s; --firmware FILE names an image", u.file ? u.file : "firmware",
			    strerror(errno));
	u.rows = json_array();
	rc = each_nic(ctl, one_nic, &u, &some);
	if (!rc && !ctl->check) {
		u.check = u.quiet = false;
		u.num_seen = 0;
		rc = each_nic(ctl, one_nic, &u, &some);
	}
	close(u.fd);
	return out_rows(ctl, rc, some && !rc, columns, sizeof(columns) / sizeof(columns[0]),
			u.rows);
}
