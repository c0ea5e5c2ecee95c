/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seam between libweft and whatever carries its commands to the NIC.
 *
 * weft_cmd.c implements it over weftd's UNIX socket; sim_harness and the unit tests
 * implement it in the process itself, around a struct fw_nic or a fake NIC, without sockets,
 * descriptors or threads. Called by weft_dev.c and every file that sends a command. Not installed:
 * weft_open_channel() is for the simulator and the tests, which link libweft.a.
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft.h"
#include "shared_defs/hw_cmd.h"

enum {
	WEFT_CHAN_FDS = 3, /* ATTACH: BAR, doorbell, EQ 0 */
};

/* weft_chan_ops.flags */
enum {
	/*
	 * The NIC reads the process's memory directly, or it is this process: nothing is moved
	 * onto shared pages, REG_MR never names an extent, weft_alloc() gives plain memory.
	 */
	WEFT_CHAN_F_NO_MEMFD = 0x01,
};

/*
 * All may be called from any thread at once, except close(), which is the last. chan is the
 * argument given to weft_open_channel(). Functions marked optional may be NULL; what then
 * happens is said.
 */
struct weft_chan_ops {
	uint32_t flags; /* WEFT_CHAN_F_* */

	/*
	 * Sends one command (hw_cmd_bytes() of them) and waits for its answer. fd_in goes with it
	 * (-1: none; stays the caller's). Descriptors of the answer go to fds_out in the order that
	 * hw_cmd.h names, the rest is set to -1; they become the caller's. 0: resp is filled, and
	 * resp->status is the NIC's verdict. -EIO: the NIC is gone. -ETIMEDOUT: it
	 * does not answer, and counts as gone from now on. cmd->tag is the channel's to set.
	 */
	int (*command)(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		       int fds_out[WEFT_CHAN_FDS]);

	/* Wakes a NIC whose header says sleeping. Optional: writes the doorbell eventfd. */
	void (*wake)(void *chan);

	/*
	 * Waits until event queue eq may have an entry or the NIC is gone; fd is its eventfd
	 * or -1. 0 (look again), -ETIMEDOUT, -EINTR. timeout_ms -1: for ever. Spurious
	 * returns are fine. Optional: poll(2) on fd and hangup_fd.
	 */
	int (*wait)(void *chan, uint32_t eq, int fd, int timeout_ms);

	/* True once the NIC is gone. Cheap. Optional: POLLHUP on hangup_fd. */
	bool (*gone)(void *chan);

	/*
	 * A descriptor that reports EPOLLHUP or EPOLLRDHUP when the NIC goes. Optional: async_fd
	 * and comp_channel->fd are then -1 when the event queue has no eventfd either.
	 */
	int (*hangup_fd)(void *chan);

	/*
	 * Maps the BAR (fd as answered to ATTACH, -1 where none was). NULL: failed, errno set.
	 * The mapping is close()'s to end. Optional: mmap(2) of fd, munmap(2) after close().
	 */
	void *(*map_bar)(void *chan, int fd, uint64_t bytes);

	/*
	 * The memory is there, readable and writable. Optional, of channels with
	 * WEFT_CHAN_F_NO_MEMFD: without it, and when it says no, the list of mappings is read.
	 */
	bool (*vouches)(void *chan, uint64_t addr, uint64_t bytes);

	/*
	 * Detaches; on return the NIC no longer touches the process's memory. Frees chan.
	 */
	void (*close)(void *chan);

	/*
	 * In a child of fork: gives up descriptors without a word to the NIC. Optional:
	 * nothing is done.
	 */
	void (*abandon)(void *chan);
};

/*
 * Attaches through a channel: what weft_open_device() does once it is connected. name is the
 * context's name; attach_flags: HW_ATTACH_F_*. ops must outlive the context. On failure returns
 * NULL with errno set, and chan has been closed.
 */
struct weft_context *weft_open_channel(const struct weft_chan_ops *ops, void *chan,
				       const char *name, uint32_t attach_flags);

/*
 * Connects to weftd's socket (weft_cmd.c). 0 and *ops, *chan; or a negative errno. A tool waits 10
 * s for an answer at most, and 2 s where weftd is stopped; a program likewise for the latter, until
 * it is attached.
 */
int weft_chan_connect(const char *path, bool tool, const struct weft_chan_ops **ops, void **chan);

#endif /* WEFT_CHAN_H */
