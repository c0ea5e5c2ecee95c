/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory shared with processes: creation, sealing, mapping, handling of failures.
 *
 * All of it is memfds created by weftd. A page that a core accesses must be present and stay
 * present: a core that faults on a hole being punched waits as long as the punching takes. Every
 * memfd is therefore mapped first and then sealed with F_SEAL_FUTURE_WRITE (fcntl(2)). From then on
 * no process can punch it, write to it by a system call, or create a writable mapping; existing
 * mappings stay usable. A second mapping is a copy of the first (mremap(2) with an old size of 0).
 *
 * A page may still be unavailable (a cgroup is out of memory). The resulting SIGBUS handler maps a
 * zero page and marks the mapping; client.c ends the processes that use it.
 *
 * The functions run on the control thread unless stated otherwise. The signal handler may run on
 * any thread.
 */
#ifndef WEFT_APP_HOSTMEM_H
#define WEFT_APP_HOSTMEM_H

#include <stdbool.h>
#include <stdint.h>

/* A mapping. Its address is fixed until it is unmapped. */
struct hostmem;

enum {
	HOSTMEM_PAGE_BYTES = 4096,
};

/* Installs the signal handler; control_fd is the eventfd to wake. Returns 0 or -errno. */
int hostmem_init(int control_fd) __attribute__((warn_unused_result));

/*
 * Creates a memfd of bytes that can neither shrink nor grow, but can be sealed further. Returns 0
 * and *fd, or -errno.
 */
int hostmem_create(const char *name, uint64_t bytes, int *fd) __attribute__((warn_unused_result));

/*
 * Seals a memfd of hostmem_create() permanently: no process can punch it or create a writable
 * mapping of it afterwards. May wait for a punch in progress. May be repeated. Returns 0; -EPERM:
 * the process has forbidden further seals. Any thread.
 */
int hostmem_seal(int fd) __attribute__((warn_unused_result));

/*
 * Maps [0, bytes) of an unsealed memfd for reading and writing; its pages are locked when
 * populated. Returns 0; -ENOSPC: weftd's limit of mappings is reached; or -errno.
 */
int hostmem_map(int fd, uint64_t bytes, struct hostmem **map) __attribute__((warn_unused_result));

/*
 * Maps [0, bytes) of memory that another process created and may punch, for reading and writing.
 * Populates its pages as far as possible. Returns 0 or -errno, as hostmem_map().
 */
int hostmem_map_foreign(int fd, uint64_t bytes, struct hostmem **map)
    __attribute__((warn_unused_result));

/*
 * Reserves address space for bytes, to be filled by hostmem_place() with at most the given number
 * of pieces, which count as mappings. Returns 0 or -errno, as hostmem_map().
 */
int hostmem_reserve(uint64_t bytes, uint32_t pieces, struct hostmem **map)
    __attribute__((warn_unused_result));

/*
 * Maps [offset, offset + bytes) of the memfd of `from` at `at` in a reservation; all values are
 * whole pages. The range may exceed the mapping `from` itself. Returns 0 or -errno.
 */
int hostmem_place(struct hostmem *map, uint64_t at, const struct hostmem *from, uint64_t offset,
		  uint64_t bytes) __attribute__((warn_unused_result));

void hostmem_unmap(struct hostmem *map);

uint8_t *hostmem_start(const struct hostmem *map);
/* Returns true if a page of the mapping was unavailable. Any thread. */
bool hostmem_failed(const struct hostmem *map);
/* Returns true if a mapping has failed since the last call. */
bool hostmem_any_failed(void);

/*
 * Maps the pages of a page-aligned range. They must already be present, so that their memory is
 * charged to the process, its cgroup and its limits; none is allocated here. Returns 0; -ENOMEM: a
 * page is absent. Any thread.
 */
int hostmem_populate(void *start, uint64_t bytes) __attribute__((warn_unused_result));

/* Populates pages of weftd's own part of a mapping before a core writes to them. Any thread. */
void hostmem_make(void *start, uint64_t bytes);

/*
 * Returns true if mapped pages are locked: a page mapped once stays present as long as its mapping.
 */
bool hostmem_locks_pages(void);

/* Returns the number of mappings. */
uint32_t hostmem_count(void);
/* Returns the limit of mappings: below vm.max_map_count, since weftd needs some itself. */
uint32_t hostmem_max(void);

#endif /* WEFT_APP_HOSTMEM_H */
