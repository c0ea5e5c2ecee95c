/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft-preload.so: simulates the device node that programs check before they call libibverbs.
 *
 * UCX uses a device only if /dev/infiniband/<dev_name> is a readable and writable character device;
 * it never opens the node. weft has no kernel device. This library, which weft-run --transport ib
 * adds to LD_PRELOAD, therefore answers stat() and access() for such paths. The node exists if
 * weft's libibverbs.so.1, loaded in the same process, lists a device of that name. All other paths
 * go to the C library. Opening the node still fails with ENOENT. Calls ibv_get_device_list() of the
 * loaded library.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#undef ibv_get_device_list

#define EXPORT __attribute__((visibility("default")))
#define PREFIX "/dev/infiniband/uverbs"

enum {
	UVERBS_MAJOR = 231, /* Documentation/admin-guide/devices.txt */
	UVERBS_FIRST_MINOR = 192,
};

/* Returns the C library's function of that name, which always exists. */
static void *next(const char *name)
{
	void *real = dlsym(RTLD_NEXT, name);

	assert(real);
	return real;
}

/* Returns true if libibverbs, when loaded, lists a device with this node. Does not load it. */
static bool listed(const char *dev_name)
{
	struct ibv_device **(*get)(int *);
	void (*put)(struct ibv_device **);
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct ibv_device **list = NULL;
	bool found = false;

	if (!lib)
		return false;
	*(void **)&get = dlsym(lib, "ibv_get_device_list");
	*(void **)&put = dlsym(lib, "ibv_free_device_list");
	if (get && put)
		list = get(NULL);
	for (struct ibv_device **d = list; d && *d && !found; d++)
		found = strcmp((*d)->dev_name, dev_name) == 0;
	if (list)
		put(list);
	dlclose(lib);
	return found;
}

/*
 * Returns the minor number of the node that the path names; -1: not a node of weft. Preserves
 * errno.
 */
static int node_of(const char *path)
{
	int saved = errno, number = -1;
	char *end;

	if (!path || strncmp(path, PREFIX, strlen(PREFIX)) != 0)
		return -1;
	path += strlen(PREFIX);
	if (*path >= '0' && *path <= '9') {
		long n = strtol(path, &end, 10);

		if (!*end && n >= 0 && n < UVERBS_FIRST_MINOR &&
		    listed(path - (sizeof("uverbs") - 1)))
			number = (int)n;
	}
	errno = saved;
	return number;
}

static int fill(int number, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFCHR | S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
	st->st_nlink = 1;
	st->st_rdev = makedev(UVERBS_MAJOR, UVERBS_FIRST_MINOR + number);
	st->st_blksize = 4096;
	return 0;
}

static int check_mode(int mode)
{
	if (!(mode & X_OK))
		return 0;
	errno = EACCES;
	return -1;
}

EXPORT int stat(const char *restrict path, struct stat *restrict st)
{
	int (*real)(const char *, struct stat *), number = node_of(path);

	if (number >= 0)
		return fill(number, st);
	*(void **)&real = next("stat");
	return real(path, st);
}

EXPORT int lstat(const char *restrict path, struct stat *restrict st)
{
	int (*real)(const char *, struct stat *), number = node_of(path);

	if (number >= 0)
		return fill(number, st);
	*(void **)&real = next("lstat");
	return real(path, st);
}

/* For an absolute path fd is ignored. */
EXPORT int fstatat(int fd, const char *restrict path, struct stat *restrict st, int flags)
{
	int (*real)(int, const char *, struct stat *, int), number = node_of(path);

	if (number >= 0)
		return fill(number, st);
	*(void **)&real = next("fstatat");
	return real(fd, path, st, flags);
}

EXPORT int access(const char *path, int mode)
{
	int (*real)(const char *, int);

	if (node_of(path) >= 0)
		return check_mode(mode);
	*(void **)&real = next("access");
	return real(path, mode);
}

EXPORT int faccessat(int fd, const char *path, int mode, int flags)
{
	int (*real)(int, const char *, int, int);

	if (node_of(path) >= 0)
		return check_mode(mode);
	*(void **)&real = next("faccessat");
	return real(fd, path, mode, flags);
}

#ifdef __x86_64__
/*
 * On this machine stat64 is the same struct under another name. Programs linked with an older C
 * library call __xstat().
 */
int stat64_node(const char *path, struct stat *st) __asm__("stat64");
int xstat_node(int version, const char *path, struct stat *st) __asm__("__xstat");
int xstat64_node(int version, const char *path, struct stat *st) __asm__("__xstat64");

EXPORT int stat64_node(const char *path, struct stat *st)
{
	return stat(path, st);
}

EXPORT int xstat_node(int version, const char *path, struct stat *st)
{
	int (*real)(int, const char *, struct stat *), number = node_of(path);

	if (number >= 0)
		return fill(number, st);
	*(void **)&real = next("__xstat");
	return real(version, path, st);
}

EXPORT int xstat64_node(int version, const char *path, struct stat *st)
{
	return xstat_node(version, path, st);
}
#endif
