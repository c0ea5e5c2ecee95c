/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from and to process memory that weftd has not mapped, by a separate thread.
 *
 * Such a copy is a system call that sleeps while a page is absent: on disk, on an NFS or FUSE
 * server that may be the process itself, or under a memory limit. A polling core must not sleep
 * that long. It passes the copy to the process's worker and waits for a bounded time. After that
 * the core continues without it, and the access returns -EBUSY, which the firmware treats like a
 * loss on the wire. There is one copy at a time. The worker owns its buffer, so a late copy does
 * not touch the firmware's memory.
 *
 * Each function states the thread that may call it. No thread waits for the worker: hostcopy_end()
 * requests its end, and hostcopy_over() returns true when its copy has finished.
 */
#ifndef WEFT_APP_HOSTCOPY_H
#define WEFT_APP_HOSTCOPY_H

#include <stdbool.h>
#include <stdint.h>

struct fw_atomic;
struct hostcopy;

/* Counted by the core. */
struct hostcopy_stats {
	uint64_t copies;
	uint64_t waits;    /* copies that were not finished at once */
	uint64_t given_up; /* copies that exceeded the core's waiting time */
	uint64_t refused;  /* accesses rejected while an abandoned copy was in progress */
};

/*
 * Enables real-time priority for workers created later, by starting a thread that creates them
 * while weftd still has the right. No effect without the right. Call it once, on the control
 * thread.
 */
void hostcopy_allow(void);

/*
 * Creates the worker. mem_fd: the process's memory, of which it keeps a copy; cpu: CPU of the core
 * that will wait for it; control_fd: eventfd written when hostcopy_passed() may have become true.
 * Returns 0 or -errno. Control thread.
 */
int hostcopy_start(struct hostcopy **copy, int mem_fd, int cpu, int control_fd)
    __attribute__((warn_unused_result));

/*
 * Called when no core uses it any more. Does not wait; the eventfd is written when hostcopy_over()
 * becomes true, after which hostcopy_free() may be called. Control thread.
 */
void hostcopy_end(struct hostcopy *copy);
bool hostcopy_over(const struct hostcopy *copy);
void hostcopy_free(struct hostcopy *copy);

/* Returns weftd's memory per worker. */
uint64_t hostcopy_bytes(void);

/*
 * Copy memory. Return 0; -EFAULT: not mapped; -EBUSY: not in time; a write may still be executed
 * later. One core only.
 */
int hostcopy_read(struct hostcopy *copy, void *dst, uint64_t addr, uint32_t bytes,
		  struct hostcopy_stats *stats) __attribute__((warn_unused_result));
int hostcopy_write(struct hostcopy *copy, uint64_t addr, const void *src, uint32_t bytes,
		   struct hostcopy_stats *stats) __attribute__((warn_unused_result));

/*
 * An atomic of nic_fw/fw_port.h at an aligned address. Returns 0 with *original; -EFAULT: nothing
 * was written; -EBUSY: not begun; -EINPROGRESS: the worker finishes it, and hostcopy_atomic_over()
 * has the result. That returns -EBUSY until then, and 0 with *original or -EFAULT once. Until it
 * has done so, hostcopy_atomic() returns -EBUSY. One core only.
 */
int hostcopy_atomic(struct hostcopy *copy, uint64_t addr, const struct fw_atomic *op,
		    uint64_t *original, struct hostcopy_stats *stats)
    __attribute__((warn_unused_result));
int hostcopy_atomic_over(struct hostcopy *copy, uint64_t *original)
    __attribute__((warn_unused_result));

/* fw_port.host_late() of the process: copies to its memory alone count. The core. */
uint64_t hostcopy_late(const struct hostcopy *copy, uint64_t since);

/*
 * Returns true if all copies begun before mark was taken have finished, so memory deregistered
 * since then is no longer written. Otherwise the eventfd will be written. Control thread.
 */
uint64_t hostcopy_mark(const struct hostcopy *copy);
bool hostcopy_passed(struct hostcopy *copy, uint64_t mark);

#endif /* WEFT_APP_HOSTCOPY_H */
