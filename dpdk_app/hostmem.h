/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory shared with processes: making it, checking it, mapping it, surviving it.
 *
 * A page of a mapping may turn out not to be there (its cgroup is out of memory, a hole was
 * punched and cannot be filled): the SIGBUS that follows puts a zero page in its place and marks
 * the process, which control.c then ends.
 *
 * Called on the control thread, but for the signal handler, which may run on any.
 */
#ifndef WEFT_APP_HOSTMEM_H
#define WEFT_APP_HOSTMEM_H

#include <stdbool.h>
#include <stdint.h>

struct client;

/* Installs the signal handler; control_fd is the eventfd to wake. 0 or -errno. */
int hostmem_init(int control_fd) __attribute__((warn_unused_result));

/* Makes a memfd of bytes that can neither shrink nor grow. 0 and *fd, or -errno. */
int hostmem_create(const char *name, uint64_t bytes, int *fd) __attribute__((warn_unused_result));

/*
 * Is fd memory that cannot be taken away: a memfd sealed against shrinking that holds
 * [offset, offset + bytes)? 0; -EPERM: not sealed; -EINVAL: no memfd, or too small.
 */
int hostmem_check(int fd, uint64_t offset, uint64_t bytes) __attribute__((warn_unused_result));

/*
 * Maps that range for owner; *start is where offset lies. write asks for a writable mapping.
 * 0 or -errno.
 */
int hostmem_map(struct client *owner, int fd, uint64_t offset, uint64_t bytes, bool write,
		void **start) __attribute__((warn_unused_result));

/* Unmaps what hostmem_map() put at start. */
void hostmem_unmap(void *start);

#endif /* WEFT_APP_HOSTMEM_H */
