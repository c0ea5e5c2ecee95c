/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record on disk: made, read, added to; see record.h. Called by main.c and run.c; calls
 * record_csv.c for the lines and record_plan.c for run.json.
 */
#include "tools/weft-tune/record.h"
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SYNC_S = 1, /* between calls of fsync: a power cut loses no more */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int tune_path(char path[TUNE_PATH_CHARS], const char *dir, const char *file, char *error)
{
	if (snprintf(path, TUNE_PATH_CHARS, "%s/%s", dir, file) < TUNE_PATH_CHARS)
		return 0;
	return tune_fail(error, -ENAMETOOLONG, "%.100s...: the name is too long", dir);
}

/* mkdir -p. */
static int make_dirs(const char *dir, char *error)
{
	char path[TUNE_PATH_CHARS];

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return tune_fail(error, -ENAMETOOLONG, "%.100s...: the name is too long", dir);
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			return tune_fail(error, -errno, "%s: cannot be made: %s", path,
					 strerror(errno));
		*p = c;
		if (c == '\0')
			return 0;
	}
}

static int write_all(struct tune_record *record, const char *text, size_t bytes, char *error)
{
	while (bytes) {
		ssize_t n = write(record->fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tune_fail(error, -errno, "%s/%s: cannot be written: %s", record->dir,
					 TUNE_CSV, strerror(errno));
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int write_header(struct tune_record *record, char *error)
{
	char line[TUNE_LINE_CHARS];

	return write_all(record, line, (size_t)tune_csv_header(line), error);
}

int tune_record_create(struct tune_record *record, const char *dir, const struct tune_plan *plan,
		       char *error)
{
	char path[TUNE_PATH_CHARS];
	int rc;

	*record = (struct tune_record){.fd = -1};
	if (!dir)
		return 0;
	rc = make_dirs(dir, error);
	if (!rc)
		rc = tune_path(path, dir, TUNE_CSV, error);
	if (rc)
		return rc;
	snprintf(record->dir, sizeof(record->dir), "%s", dir);
	if (!access(path, F_OK))
		return tune_fail(error, -EEXIST,
				 "%s holds a record: go on with --resume %s, or give another --out",
				 dir, dir);
	rc = tune_plan_save(plan, dir, error);
	if (rc)
		return rc;
	record->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	if (record->fd < 0)
		return tune_fail(error, -errno, "%s: cannot be made: %s", path, strerror(errno));
	rc = write_header(record, error);
	return rc ? rc : tune_record_sync(record, error);
}

static int append(struct tune_record *record, const struct tune_entry *entry, char *error)
{
	if (record->num == record->room) {
		size_t room = record->room ? record->room * 2 : 256;
		struct tune_entry *more = realloc(record->entries, room * sizeof(*more));

		if (!more)
			return tune_fail(error, -ENOMEM, "out of memory");
		record->entries = more;
		record->room = room;
	}
	record->entries[record->num++] = *entry;
	return 0;
}

/* Takes the lines of the file up to the first that is not whole, which must be the last. */
static int read_lines(struct tune_record *record, FILE *f, const char *path, char *error)
{
	char line[TUNE_LINE_CHARS], header[TUNE_LINE_CHARS];
	struct tune_entry entry;
	int rc;

	tune_csv_header(header);
	if (!fgets(line, sizeof(line), f) || strcmp(line, header))
		return tune_fail(error, -EINVAL, "%s: its columns are not those of this weft-tune",
				 path);
	while (fgets(line, sizeof(line), f)) {
		if (!tune_entry_parse(line, &entry)) {
			if (!strchr(line, '\n') && feof(f))
				return 0;
			return tune_fail(error, -EINVAL, "%s: line %zu is no measurement", path,
					 record->num + 2);
		}
		rc = append(record, &entry, error);
		if (rc)
			return rc;
	}
	return 0;
}

int tune_record_load(struct tune_record *record, const char *dir, struct tune_plan *plan,
		     char *error)
{
	char path[TUNE_PATH_CHARS];
	FILE *f;
	int rc;

	*record = (struct tune_record){.fd = -1};
	snprintf(record->dir, sizeof(record->dir), "%s", dir);
	rc = tune_plan_load(plan, dir, error);
	if (!rc)
		rc = tune_path(path, dir, TUNE_CSV, error);
	if (rc)
		return rc;
	f = fopen(path, "re");
	if (!f)
		return tune_fail(error, -errno, "%s: cannot be read: %s", path, strerror(errno));
	rc = read_lines(record, f, path, error);
	fclose(f);
	return rc;
}

/* Length of the header and of the entries that were taken. */
static int whole_bytes(const struct tune_record *record, const char *path, off_t *bytes,
		       char *error)
{
	FILE *f = fopen(path, "re");
	char line[TUNE_LINE_CHARS];

	if (!f)
		return tune_fail(error, -errno, "%s: cannot be read: %s", path, strerror(errno));
	for (size_t i = 0; i <= record->num; i++)
		if (!fgets(line, sizeof(line), f))
			break;
	*bytes = ftello(f);
	fclose(f);
	return 0;
}

int tune_record_continue(struct tune_record *record, char *error)
{
	char path[TUNE_PATH_CHARS];
	off_t bytes = 0;
	int rc = tune_path(path, record->dir, TUNE_CSV, error);

	if (!rc)
		rc = whole_bytes(record, path, &bytes, error);
	if (rc)
		return rc;
	record->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (record->fd < 0 || ftruncate(record->fd, bytes))
		return tune_fail(error, -errno, "%s: cannot be written: %s", path, strerror(errno));
	return 0;
}

int tune_record_sync(struct tune_record *record, char *error)
{
	record->synced_s = now_s();
	/* EINVAL: a pipe or a device, which has no disk behind it. */
	if (record->fd >= 0 && fsync(record->fd) && errno != EINVAL)
		return tune_fail(error, -errno, "%s/%s: fsync: %s", record->dir, TUNE_CSV,
				 strerror(errno));
	return 0;
}

int tune_record_add(struct tune_record *record, const struct tune_entry *entry, char *error)
{
	char line[TUNE_LINE_CHARS];
	int rc = append(record, entry, error);

	if (rc || record->fd < 0)
		return rc;
	/* One write for a line: a process that is killed leaves at most the last one torn. */
	rc =
	    write_all(record, line, (size_t)tune_entry_format(entry, record->num - 1, line), error);
	if (!rc && now_s() >= record->synced_s + SYNC_S)
		rc = tune_record_sync(record, error);
	return rc;
}

void tune_record_close(struct tune_record *record)
{
	if (record->fd >= 0)
		close(record->fd);
	free(record->entries);
	*record = (struct tune_record){.fd = -1};
}
