/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channel: the interface between libweft and the transport of its commands to the NIC.
 *
 * weft_cmd.c implements it over weftd's UNIX socket. sim_harness and the unit tests implement it
 * within the process, around a struct fw_nic or a fake NIC, without sockets, descriptors or
 * threads. Not installed: weft_open_channel() is for the simulator and the tests, which link
 * libweft.a.
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft.h"
#include "shared_defs/hw_cmd.h"

enum {
	WEFT_CHAN_DOORBELLS = 2,              /* descriptors before doorbell 1, less one */
	WEFT_CHAN_FDS = 2 + HW_DOORBELLS_MAX, /* ATTACH: BAR, doorbell 0, EQ 0, other doorbells */
};

/* weft_chan_ops.flags */
enum {
	/*
	 * The NIC accesses the process's memory directly, or runs in this process: nothing is moved
	 * onto shared pages, REG_MR never names an extent, weft_alloc() returns plain memory.
	 */
	WEFT_CHAN_F_NO_MEMFD = 0x01,
	/* The NIC has a core of its own, which takes commands from slots of the BAR. */
	WEFT_CHAN_F_SLOTS = 0x02,
};

/*
 * All functions may be called concurrently from any thread, except close(), which is the last call.
 * chan is the argument given to weft_open_channel(). Optional functions may be NULL; their
 * description states the default.
 */
struct weft_chan_ops {
	uint32_t flags; /* WEFT_CHAN_F_* */

	/*
	 * Sends one command (hw_cmd_bytes() of it) and waits for its answer. fd_in is sent along
	 * (-1: none) and stays the caller's. Descriptors of the answer are stored in fds_out in the
	 * order that hw_cmd.h defines, the rest is set to -1; the caller owns them. Returns 0: resp
	 * is filled in, and resp->status is the NIC's result. -EIO: the NIC is gone. -ETIMEDOUT: it
	 * did not answer, and counts as gone from now on. The channel sets cmd->tag.
	 */
	int (*command)(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		       int fds_out[WEFT_CHAN_FDS]);

	/* Wakes a NIC whose header says that it sleeps. Default: writes the doorbell eventfd. */
	void (*wake)(void *chan);

	/*
	 * Waits until event queue eq may have an entry or the NIC is gone; fd is its eventfd or -1.
	 * Returns 0 (check again), -ETIMEDOUT or -EINTR. timeout_ms -1: no limit. Spurious returns
	 * are permitted. Default: poll(2) on fd and hangup_fd.
	 */
	int (*wait)(void *chan, uint32_t eq, int fd, int timeout_ms);

	/* Returns true once the NIC is gone. Cheap. Default: POLLHUP on hangup_fd. */
	bool (*gone)(void *chan);

	/*
	 * Returns a descriptor that reports EPOLLHUP or EPOLLRDHUP when the NIC goes away.
	 * Optional: without it, async_fd and comp_channel->fd are -1 if the event queue has no
	 * eventfd.
	 */
	int (*hangup_fd)(void *chan);

	/*
	 * Maps the BAR (fd from the answer to ATTACH, -1 if none). Returns NULL with errno set on
	 * failure. close() unmaps it. Default: mmap(2) of fd, munmap(2) after close().
	 */
	void *(*map_bar)(void *chan, int fd, uint64_t bytes);

	/*
	 * Returns true if the memory is mapped, readable and writable. Optional, for channels with
	 * WEFT_CHAN_F_NO_MEMFD: without it, or if it returns false, the list of mappings is read.
	 */
	bool (*vouches)(void *chan, uint64_t addr, uint64_t bytes);

	/* Detaches and frees chan. On return the NIC no longer accesses the process's memory. */
	void (*close)(void *chan);

	/*
	 * In a child of fork: closes descriptors without notifying the NIC. Default: does nothing.
	 */
	void (*abandon)(void *chan);
};

/*
 * Attaches through a channel; weft_open_device() calls it after connecting. name is the context's
 * name; attach_flags: HW_ATTACH_F_*. ops must outlive the context. On failure returns NULL with
 * errno set, and chan has been closed.
 */
struct weft_context *weft_open_channel(const struct weft_chan_ops *ops, void *chan,
				       const char *name, uint32_t attach_flags);

/*
 * Connects to weftd's socket (weft_cmd.c). Returns 0 and *ops, *chan, or a negative errno. A tool
 * waits at most 10 s for an answer, and 2 s if weftd is stopped. A program has the limit of 2 s
 * until it is attached.
 */
int weft_chan_connect(const char *path, bool tool, const struct weft_chan_ops **ops, void **chan);

#endif /* WEFT_CHAN_H */
