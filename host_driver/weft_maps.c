/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads /proc/self/maps line by line. See weft_maps.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/weft_maps.h"

enum {
	/* A line is at most PATH_MAX and the fields before the path. */
	WEFT_MAPS_BUFFER_BYTES = 8192,
};

static const char *parse_number(const char *p, unsigned base, uint64_t *value)
{
	const char *start = p;
	unsigned digit;

	*value = 0;
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		*value = *value * base + digit;
	}
	return p == start ? NULL : p;
}

/* A number and the character that must follow it. */
static const char *parse_field(const char *p, unsigned base, char end, uint64_t *value)
{
	p = p ? parse_number(p, base, value) : NULL;
	return p && *p == end ? p + 1 : NULL;
}

bool weft_maps_parse(const char *line, struct weft_vma *vma)
{
	uint64_t dev_major, dev_minor;
	const char *p = line;

	p = parse_field(p, 16, '-', &vma->start);
	p = parse_field(p, 16, ' ', &vma->end);
	if (!p || strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	vma->readable = p[0] == 'r';
	vma->writable = p[1] == 'w';
	vma->executable = p[2] == 'x';
	vma->shared = p[3] == 's';
	p = parse_field(p + 5, 16, ' ', &vma->offset);
	p = parse_field(p, 16, ':', &dev_major);
	p = parse_field(p, 16, ' ', &dev_minor);
	p = p ? parse_number(p, 10, &vma->inode) : NULL;
	if (!p)
		return false;
	vma->dev_major = (uint32_t)dev_major;
	vma->dev_minor = (uint32_t)dev_minor;
	while (*p == ' ')
		p++;
	/* Names given with PR_SET_VMA_ANON_NAME are the user's. */
	vma->special = *p == '[' && strncmp(p, "[anon:", 6) != 0;
	return true;
}

/* Hands on the complete lines of buffer; returns how many bytes are left, -1 to stop. */
static ssize_t take_lines(char *buffer, size_t bytes,
			  bool (*fn)(const struct weft_vma *vma, void *arg), void *arg)
{
	char *line = buffer, *newline;
	struct weft_vma vma;

	while ((newline = memchr(line, '\n', bytes))) {
		*newline = '\0';
		if (weft_maps_parse(line, &vma) && !fn(&vma, arg))
			return -1;
		bytes -= (size_t)(newline + 1 - line);
		line = newline + 1;
	}
	memmove(buffer, line, bytes);
	return (ssize_t)bytes;
}

int weft_maps_walk(bool (*fn)(const struct weft_vma *vma, void *arg), void *arg)
{
	char buffer[WEFT_MAPS_BUFFER_BYTES];
	ssize_t n, left = 0;
	int fd, rc = 0;

	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (left >= 0) {
		n = read(fd, buffer + left, sizeof(buffer) - (size_t)left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		if (n <= 0)
			break;
		left = take_lines(buffer, (size_t)(left + n), fn, arg);
	}
	close(fd);
	return rc;
}
