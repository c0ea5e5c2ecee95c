/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a file of GOAL schedules, text or binary.
 *
 * The file is read, not mapped: a truncation by another process must not kill this one with SIGBUS.
 * Calls goal_text.c or goal_bin.c.
 */
#include "host_driver/goal/file/goal_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct goal_error *err, const char *name, int error)
{
	goal_error_at(err, name, 0, "%s", strerror(error));
	return -error;
}

/* Reads all of fd. The caller frees *data. */
static int read_all(int fd, const char *name, char **data, size_t *bytes, struct goal_error *err)
{
	struct stat st;
	size_t room = 65536, have = 0;
	char *buffer, *bigger;
	ssize_t n;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size < GOAL_MAX_FILE_BYTES)
		room = (size_t)st.st_size + 1; /* one byte more, to detect the end of the file */
	buffer = malloc(room);
	while (buffer) {
		n = read(fd, buffer + have, room - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int error = errno;

			free(buffer);
			return fail(err, name, error);
		}
		if (!n) {
			*data = buffer;
			*bytes = have;
			return 0;
		}
		have += (size_t)n;
		if (have > GOAL_MAX_FILE_BYTES) {
			free(buffer);
			return fail(err, name, EFBIG);
		}
		if (have < room)
			continue;
		room *= 2;
		bigger = realloc(buffer, room);
		if (!bigger)
			free(buffer);
		buffer = bigger;
	}
	return goal_error_memory(err, name);
}

int goal_file_load(const char *path, struct goal_set *set, struct goal_error *err)
{
	bool input = !strcmp(path, "-");
	const char *name = input ? "standard input" : path;
	int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	size_t bytes = 0;
	char *data = NULL;
	int rc;

	*set = (struct goal_set){0};
	if (fd < 0)
		return fail(err, name, errno);
	rc = read_all(fd, name, &data, &bytes, err);
	if (!input)
		close(fd);
	if (rc)
		return rc;
	if (goal_bin_is(data, bytes))
		rc = goal_bin_read(data, bytes, name, set, err);
	else
		rc = goal_text_read(data, bytes, name, set, err);
	free(data);
	return rc;
}
