/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies out of and into memory of a process that weftd has not mapped, by a thread of its own.
 *
 * Such a copy is a system call that sleeps as long as a page does not come: from a disk, a server
 * of NFS or FUSE that the process may be itself, under a memory limit. A core that polls must not
 * sleep so long. It hands the copy to the process's worker and waits a bounded time; what is not
 * done then goes on without it, and the access answers -EBUSY, which the firmware takes for a loss
 * on the wire. One copy at a time; the worker owns its buffer, so nothing of the firmware's is
 * touched late.
 *
 * The functions say which thread calls them. The thread is no one's to wait for: hostcopy_end()
 * tells it, and hostcopy_over() is true when its copy has come to an end.
 */
#ifndef WEFT_APP_HOSTCOPY_H
#define WEFT_APP_HOSTCOPY_H

#include <stdbool.h>
#include <stdint.h>

struct hostcopy;

/* Counted by the core. */
struct hostcopy_stats {
	uint64_t copies;
	uint64_t waits;    /* of them, those that were not done at once */
	uint64_t given_up; /* of them, those that took longer than the core waits */
	uint64_t refused;  /* accesses while one was under way that had been given up */
};

/*
 * Lets workers that are made later have a real-time priority, by a thread that makes them: the
 * right to it is one that weftd then gives up. Without the right nothing happens. Once, by the
 * control thread.
 */
void hostcopy_allow(void);

/*
 * Makes the worker. mem_fd: the process's memory, of which it keeps a copy; cpu: where the core
 * that will wait for it runs; control_fd: an eventfd that is written to when hostcopy_passed() may
 * have become true. 0 or -errno. Control thread.
 */
int hostcopy_start(struct hostcopy **copy, int mem_fd, int cpu, int control_fd)
    __attribute__((warn_unused_result));

/*
 * No core uses it any more. Does not wait; the eventfd is written to when hostcopy_over() has
 * become true, and hostcopy_free() may follow. Control thread.
 */
void hostcopy_end(struct hostcopy *copy);
bool hostcopy_over(const struct hostcopy *copy);
void hostcopy_free(struct hostcopy *copy);

/* Memory that a worker takes of weftd. */
uint64_t hostcopy_bytes(void);

/*
 * Copies. 0; -EFAULT: the memory is not there; -EBUSY: not now; a write may yet be carried out. One
 * core.
 */
int hostcopy_read(struct hostcopy *copy, void *dst, uint64_t addr, uint32_t bytes,
		  struct hostcopy_stats *stats) __attribute__((warn_unused_result));
int hostcopy_write(struct hostcopy *copy, uint64_t addr, const void *src, uint32_t bytes,
		   struct hostcopy_stats *stats) __attribute__((warn_unused_result));

/*
 * Whether all copies that were begun before mark was taken are over: memory that has been
 * deregistered since is not written to any more. When it is not, the eventfd will say so.
 * Control thread.
 */
uint64_t hostcopy_mark(const struct hostcopy *copy);
bool hostcopy_passed(struct hostcopy *copy, uint64_t mark);

#endif /* WEFT_APP_HOSTCOPY_H */
