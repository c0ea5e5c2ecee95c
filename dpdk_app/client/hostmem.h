/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory shared with processes: making it, sealing it, mapping it, surviving it.
 *
 * All of it is memfds that weftd made. A page that a core touches must be there, and stay: a core
 * that faults on a page of a hole that is being punched waits for as long as that takes. So
 * every memfd is mapped first and then sealed with F_SEAL_FUTURE_WRITE (fcntl(2)): from then on no
 * process can punch it, write to it by a system call, or map it for writing anew, and the mappings
 * that there are go on. A second mapping is a copy of the first (mremap(2) with an old size of 0).
 *
 * A page may still turn out not to be there (a cgroup is out of memory): the SIGBUS that follows
 * puts a zero page in its place and marks the mapping; client.c ends the processes that use it.
 *
 * Called on the control thread, but for the signal handler, which may run on any, and where said.
 */
#ifndef WEFT_APP_HOSTMEM_H
#define WEFT_APP_HOSTMEM_H

#include <stdbool.h>
#include <stdint.h>

/* A mapping. It stays at its address until it is unmapped. */
struct hostmem;

enum {
	HOSTMEM_PAGE_BYTES = 4096,
};

/* Installs the signal handler; control_fd is the eventfd to wake. 0 or -errno. */
int hostmem_init(int control_fd) __attribute__((warn_unused_result));

/*
 * Makes a memfd of bytes that can neither shrink nor grow, and that can be sealed further. 0 and
 * *fd, or -errno.
 */
int hostmem_create(const char *name, uint64_t bytes, int *fd) __attribute__((warn_unused_result));

/*
 * Seals what hostmem_create() made for good: nobody can punch it or make a writable mapping of it
 * from now on. May wait for whoever punches it now. May be repeated. 0; -EPERM: the process has
 * forbidden more seals. Any thread.
 */
int hostmem_seal(int fd) __attribute__((warn_unused_result));

/*
 * Maps [0, bytes) of a memfd that is not sealed yet, for reading and writing; its pages are locked
 * as they come. 0; -ENOSPC: there are as many mappings as weftd may have; or -errno.
 */
int hostmem_map(int fd, uint64_t bytes, struct hostmem **map) __attribute__((warn_unused_result));

/*
 * Maps [0, bytes) of memory that another process made and may punch, for reading and writing. Its
 * pages are made now, as far as they can be had. 0 or -errno, as hostmem_map().
 */
int hostmem_map_foreign(int fd, uint64_t bytes, struct hostmem **map)
    __attribute__((warn_unused_result));

/*
 * Address space for bytes, to be filled by hostmem_place() with pieces as many as said, which
 * count as mappings. 0 or -errno, as hostmem_map().
 */
int hostmem_reserve(uint64_t bytes, uint32_t pieces, struct hostmem **map)
    __attribute__((warn_unused_result));

/*
 * Puts [offset, offset + bytes) of the memfd behind `from` at `at` of a reservation; all in whole
 * pages. The range may lie beyond what `from` itself maps. 0 or -errno.
 */
int hostmem_place(struct hostmem *map, uint64_t at, const struct hostmem *from, uint64_t offset,
		  uint64_t bytes) __attribute__((warn_unused_result));

void hostmem_unmap(struct hostmem *map);

uint8_t *hostmem_start(const struct hostmem *map);
/* A page of it could not be had. Any thread. */
bool hostmem_failed(const struct hostmem *map);
/* Some mapping has failed since this was last asked. */
bool hostmem_any_failed(void);

/*
 * Maps the pages of a range of whole pages. They must be there: memory is the process's to take,
 * in its cgroup and within its limits, so none is ever made in its place. 0; -ENOMEM: a page is
 * not there. Any thread.
 */
int hostmem_populate(void *start, uint64_t bytes) __attribute__((warn_unused_result));

/* Makes the pages of weftd's own part of a mapping, before a core writes there. Any thread. */
void hostmem_make(void *start, uint64_t bytes);

/* True: mapped pages are locked, so that pages which were mapped once are there as long as their
 * mapping.
 */
bool hostmem_locks_pages(void);

/* Mappings that there are. */
uint32_t hostmem_count(void);
/* How many there may be: less than vm.max_map_count, of which weftd needs some itself. */
uint32_t hostmem_max(void);

#endif /* WEFT_APP_HOSTMEM_H */
