/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries mappings one by one, or reads /proc/self/maps line by line. See weft_maps.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_driver/weft_maps.h"

enum {
	/* Maximum line length: PATH_MAX plus the fields before the path. */
	WEFT_MAPS_BUFFER_BYTES = 8192,
	/* "[anon:" and at most 79 characters of the user. */
	WEFT_MAPS_NAME_BYTES = 96,
	WEFT_MAPS_FD = 1000, /* preferred minimum of the descriptor's number */
};

/* struct procmap_query of linux/fs.h since 6.11, for older headers. */
struct weft_maps_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_bytes;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t vma_name_bytes;
	uint32_t build_id_bytes;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};
_Static_assert(sizeof(struct weft_maps_query) == 104, "the kernel's layout");

#define WEFT_MAPS_IOCTL _IOWR('f', 17, struct weft_maps_query)

/* Bits of vma_flags; in query_flags they restrict the query to such mappings. */
enum {
	WEFT_MAPS_READABLE = 0x01,
	WEFT_MAPS_WRITABLE = 0x02,
	WEFT_MAPS_EXECUTABLE = 0x04,
	WEFT_MAPS_SHARED = 0x08,
	WEFT_MAPS_OR_NEXT = 0x10, /* query_flags: the first mapping that ends after the address */
	WEFT_MAPS_OF_FILE = 0x20,
};

/*
 * The descriptor used for queries, with the file's identity. A program that closes unknown
 * descriptors may later have another file under that number. A child of a fork that ran no handlers
 * is recognised by its pid.
 */
static struct {
	_Atomic(int) fd;       /* -1: not open */
	_Atomic(bool) opening; /* held by a thread that may set dev, ino and pid */
	_Atomic(bool) unknown; /* the kernel lacks this ioctl */
	_Atomic(dev_t) dev;
	_Atomic(ino_t) ino;
	_Atomic(pid_t) pid;
} maps_file = {.fd = -1};

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

/* Parses a number and the character that must follow it. */
static const char *parse_field(const char *p, unsigned base, char end, uint64_t *value)
{
	p = p ? parse_number(p, base, value) : NULL;
	return p && *p == end ? p + 1 : NULL;
}

static void set_name(struct weft_vma *vma, const char *name)
{
	vma->heap = strcmp(name, "[heap]") == 0;
	/* Names set with PR_SET_VMA_ANON_NAME come from the user. */
	vma->special = *name == '[' && !vma->heap && strncmp(name, "[anon:", 6) != 0;
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
	set_name(vma, p);
	return true;
}

/*
 * Passes the complete lines of the buffer to fn. Returns the number of remaining bytes, or -1 to
 * stop.
 */
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

static int read_all(bool (*fn)(const struct weft_vma *vma, void *arg), void *arg)
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

/* Low numbers are left to the program, which may rely on getting the lowest free one. */
static int move_up(int fd)
{
	struct rlimit limit = {.rlim_cur = 2 * WEFT_MAPS_FD};
	int lowest = WEFT_MAPS_FD, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < WEFT_MAPS_FD)
		lowest = (int)(limit.rlim_cur / 2);
	high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/*
 * Opens the file for all later queries. Returns -1 if that fails or another thread is opening it.
 */
static int open_query(int old)
{
	struct stat st;
	int fd;

	if (atomic_exchange(&maps_file.opening, true))
		return -1;
	if (atomic_load(&maps_file.fd) != old) {
		atomic_store(&maps_file.opening, false);
		return -1;
	}
	/* The old descriptor is no longer ours, so it is not closed. */
	atomic_store(&maps_file.fd, -1);
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		fd = move_up(fd);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		maps_file.dev = st.st_dev;
		maps_file.ino = st.st_ino;
		maps_file.pid = getpid();
		atomic_store(&maps_file.fd, fd);
	}
	atomic_store(&maps_file.opening, false);
	return fd;
}

/* Returns the descriptor for queries, or -1. */
static int query_fd(void)
{
	int fd = atomic_load(&maps_file.fd);
	struct stat st;

	if (atomic_load_explicit(&maps_file.unknown, memory_order_relaxed))
		return -1;
	if (fd >= 0 && maps_file.pid == getpid() && fstat(fd, &st) == 0 &&
	    maps_file.ino == st.st_ino && maps_file.dev == st.st_dev)
		return fd;
	return open_query(fd);
}

/* Queries the kernel's name of a mapping without a file. */
static void ask_name(int fd, struct weft_vma *vma)
{
	char name[WEFT_MAPS_NAME_BYTES] = "";
	struct weft_maps_query query = {
	    .size = sizeof(query),
	    .query_addr = vma->start,
	    .vma_name_bytes = sizeof(name),
	    .vma_name_addr = (uintptr_t)name,
	};

	if (ioctl(fd, WEFT_MAPS_IOCTL, &query) < 0)
		name[0] = '\0';
	set_name(vma, name);
}

/* Returns 0, -ENOTTY if the kernel lacks the ioctl, or another negative errno. */
static int query_all(int fd, uint64_t from, uint64_t flags,
		     bool (*fn)(const struct weft_vma *vma, void *arg), void *arg)
{
	struct weft_maps_query query;
	struct weft_vma vma;
	bool more = true;

	for (; more; from = vma.end) {
		query = (struct weft_maps_query){
		    .size = sizeof(query),
		    .query_flags = flags | WEFT_MAPS_OR_NEXT,
		    .query_addr = from,
		};
		if (ioctl(fd, WEFT_MAPS_IOCTL, &query) < 0)
			return errno == ENOENT ? 0 : -errno;
		vma = (struct weft_vma){
		    .start = query.vma_start,
		    .end = query.vma_end,
		    .offset = query.vma_offset,
		    .inode = query.inode,
		    .dev_major = query.dev_major,
		    .dev_minor = query.dev_minor,
		    .readable = query.vma_flags & WEFT_MAPS_READABLE,
		    .writable = query.vma_flags & WEFT_MAPS_WRITABLE,
		    .executable = query.vma_flags & WEFT_MAPS_EXECUTABLE,
		    .shared = query.vma_flags & WEFT_MAPS_SHARED,
		};
		if (!vma.inode)
			ask_name(fd, &vma);
		more = fn(&vma, arg);
	}
	return 0;
}

static int walk(uint64_t from, uint64_t flags, bool (*fn)(const struct weft_vma *vma, void *arg),
		void *arg)
{
	int fd = query_fd();
	int rc = fd < 0 ? -ENOTTY : query_all(fd, from, flags, fn, arg);

	if (rc != -ENOTTY)
		return rc;
	if (fd >= 0)
		atomic_store_explicit(&maps_file.unknown, true, memory_order_relaxed);
	return read_all(fn, arg);
}

int weft_maps_walk(bool (*fn)(const struct weft_vma *vma, void *arg), void *arg)
{
	return walk(0, 0, fn, arg);
}

int weft_maps_walk_from(uint64_t from, bool (*fn)(const struct weft_vma *vma, void *arg), void *arg)
{
	return walk(from, 0, fn, arg);
}

int weft_maps_walk_shared(uint64_t from, bool (*fn)(const struct weft_vma *vma, void *arg),
			  void *arg)
{
	return walk(from, WEFT_MAPS_SHARED | WEFT_MAPS_OF_FILE, fn, arg);
}

void weft_maps_close(void)
{
	int fd = atomic_exchange(&maps_file.fd, -1);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && maps_file.ino == st.st_ino &&
	    maps_file.dev == st.st_dev)
		close(fd);
}

void weft_maps_forked(void)
{
	/* A thread of the parent may have been opening it. */
	if (atomic_exchange(&maps_file.opening, false))
		atomic_store(&maps_file.fd, -1);
	weft_maps_close();
}
