/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of the firmware: all that it calls outside itself.
 *
 * One table of functions per NIC instance, given at fw_init(). dpdk_app/port_*.c and
 * sim_harness/sim_nic.c implement it. nic_fw calls nothing else: no libc I/O, no allocation, no
 * clock of its own, no threads. All functions are called from the core that runs fw_poll() or
 * fw_cmd() of that instance, never from another.
 *
 * Offloads that hardware has beside a MAC are here too: CRC32C, copy with CRC, and the DMA engine,
 * which takes gather descriptors (struct fw_tx_frame) and inserts the CRC32C on the way out.
 */
#ifndef WEFT_FW_PORT_H
#define WEFT_FW_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_atomic.h"

struct hw_cmd_resp;
struct hw_resp_quota;

enum {
	FW_TX_SEGS_MAX = 20, /* headers, 16 SGEs, room for a second header and CRCs */
	FW_TX_HDR_BYTES = 192,
	/* Headers lie contiguous in seg[0] of a received frame up to this many bytes. */
	FW_RX_HDR_BYTES = 192,
	FW_BURST = 32, /* frames moved by one call in either direction */
	/* Packets of a run, and their payload together: struct fw_tx_frame. */
	FW_RUN_MAX = 32,
	FW_RUN_BYTES = 49152,
	FW_RUN_LEAST_BYTES = 1024, /* a run has so much payload, or its packets go alone */
	/* Each packet of a run may have a piece, beside headers and CRC32Cs. */
	FW_RX_SEGS_MAX = FW_RUN_MAX + 2,
	/* Payload of so many bytes and more may be placed by fw_port.place(). */
	FW_PLACE_BYTES = 4096,
	FW_CM_PORT_WORDS = 5 * 65536,
};

struct fw_rx_seg {
	const uint8_t *data;
	uint32_t bytes;
};

/* fw_rx_frame.flags */
enum {
	FW_RX_HELD = 0x01, /* set by the firmware in rx_burst's array: rx_free() leaves it */
	/*
	 * Set by the port: the CRC32C is known to be right, since the frame never left this
	 * machine's memory. Its bytes may be missing. The payload may change while it is read,
	 * since it may lie in the memory of the sending process. Headers do not change.
	 */
	FW_RX_CRC_OK = 0x02,
	FW_RX_LOOP =
	    0x04, /* set by the port: it is this NIC's own (FW_TX_LOOP, FW_TX_F_ALSO_LOOP) */
	/*
	 * Set by the port: the checksum of TCP or UDP is known to be right, or was never computed.
	 */
	FW_RX_CSUM_OK = 0x08,
	/* Set by the port: payload lies in its sender's memory, until rx_free() at most. */
	FW_RX_LENT = 0x10,
};

/* A received frame, from the Ethernet header on, without the FCS. Read only. */
struct fw_rx_frame {
	struct fw_rx_seg seg[FW_RX_SEGS_MAX];
	uint32_t num_seg;
	uint32_t bytes; /* sum of the segments */
	uint32_t flags;
	/*
	 * A run, as its sender has made it (struct fw_tx_frame); the headers fill seg[0]. One of
	 * TCP has FW_RX_CSUM_OK. run 0 or 1: one packet.
	 */
	uint16_t run, run_bytes;
	void *cookie; /* the port's: an mbuf, a packet of the simulator */
};

/* Source of the bytes of a piece of a frame. */
enum fw_tx_kind {
	FW_TX_HDR,  /* fw_tx_frame.hdr at offset addr */
	FW_TX_MEM,  /* mem: memory that the NIC has mapped */
	FW_TX_HOST, /* read by the port at addr in the client's address space */
};

/* fw_tx_seg.flags */
enum {
	FW_TX_F_CRC_BEGIN = 0x01, /* start a CRC32C with this piece */
	FW_TX_F_CRC_END = 0x02,   /* append the CRC32C, 4 bytes, after this piece */
};

struct fw_tx_seg {
	const uint8_t *mem;
	uint64_t addr;
	uint32_t bytes;
	uint16_t client;
	uint8_t kind; /* fw_tx_kind */
	uint8_t flags;
};

/* fw_tx_frame.flags */
enum {
	FW_TX_LOOP = 0x01,      /* to the NIC's own address: comes back as received */
	FW_TX_F_CONTROL = 0x02, /* ACKs, ARP: never queued after data in a port */
	/*
	 * The port may leave the pieces of kind FW_TX_MEM in place until it has delivered the
	 * frame, in order with all others, or tx_settle() is called.
	 */
	FW_TX_F_BORROW = 0x04,
	FW_TX_F_ALSO_LOOP = 0x08, /* to a group: goes out, and comes back as received */
};

/*
 * A frame to send: pieces in order. The firmware keeps it until tx_burst() returns. The port copies
 * all that it needs before it returns, except for pieces that FW_TX_F_BORROW lets it read later.
 */
struct fw_tx_frame {
	uint8_t hdr[FW_TX_HDR_BYTES];
	struct fw_tx_seg seg[FW_TX_SEGS_MAX];
	uint32_t num_seg;
	uint32_t bytes; /* of the whole frame, CRC32Cs included, FCS not */
	uint32_t flags;
	/*
	 * The port puts the Internet checksum (RFC 1071) of the bytes from csum_start to the end
	 * into the two bytes at csum_at, which hold the pseudo header's sum. After the CRC32Cs.
	 * csum_start 0: none.
	 */
	uint16_t csum_start, csum_at;
	/*
	 * A run: several packets of one message in one frame, which the port passes on whole;
	 * tx_run() has allowed it. Each packet has run_bytes of payload, the last one the rest. The
	 * headers are those of the first packet but for what belongs to the end of the message,
	 * which is the last packet's; fw_run_hdr() makes those of each, with the pseudo header's
	 * sum at csum_at. At the end are the CRC32Cs of all packets, 4 bytes each; zeros in a frame
	 * without FW_TX_F_CRC_BEGIN. run 0 or 1: one packet.
	 */
	uint16_t run, run_bytes;
	/*
	 * Set by tx_burst: 0: sent; -EFAULT: a FW_TX_HOST piece was unreachable; -EBUSY: it could
	 * not be read now. The frame was sent in the first case only.
	 */
	int32_t status;
	uint64_t cookie; /* the firmware's, to identify the frame when status is set */
};

/* Bytes of a frame's packets, each with its own headers and CRC32C. */
static inline uint32_t fw_tx_packet_bytes(const struct fw_tx_frame *frame)
{
	uint32_t more = frame->run > 1 ? frame->run - 1u : 0;

	return more ? frame->bytes + more * (frame->seg[0].bytes + frame->seg[1].bytes)
		    : frame->bytes;
}

static inline uint32_t fw_rx_packet_bytes(const struct fw_rx_frame *frame)
{
	uint32_t more = frame->run > 1 ? frame->run - 1u : 0;

	return frame->bytes + more * frame->seg[0].bytes;
}

/*
 * An atomic operation on an element of hw_atomic_bytes(type), little-endian in memory. Values are
 * in the low bytes; the bytes above are ignored.
 */
struct fw_atomic {
	uint8_t op;       /* hw_atomic_op, valid with the type */
	uint8_t type;     /* hw_atomic_type */
	uint64_t compare; /* comparand, or mask */
	uint64_t value;   /* operand */
};

/*
 * Computes what an operation makes of an element. True: *result is to be stored; false: the element
 * stays as it is, and nothing is written. Ports call it, too (nic_fw/base/atomic_op.c).
 */
bool fw_atomic_result(const struct fw_atomic *op, uint64_t original, uint64_t *result);

/*
 * The environment. ctx is the first argument of every call.
 */
struct fw_port {
	void *ctx;

	/*
	 * Takes up to n received frames. The firmware releases them by calling rx_free() on the
	 * same array, except those it flagged FW_RX_HELD, which it releases with
	 * rx_release(cookie).
	 */
	uint32_t (*rx_burst)(void *ctx, struct fw_rx_frame *frames, uint32_t n);
	void (*rx_free)(void *ctx, struct fw_rx_frame *frames, uint32_t n);
	void (*rx_release)(void *ctx, void *cookie);
	/*
	 * Makes *copy a frame of one piece with the same bytes, which rx_release() frees: for a
	 * frame with FW_RX_LENT that is to be held, or a packet of a run. False: no memory. NULL:
	 * no frame has that flag.
	 */
	bool (*rx_copy)(void *ctx, const struct fw_rx_frame *frame, struct fw_rx_frame *copy);
	/*
	 * Copies payload of pieces, at least FW_PLACE_BYTES in all, to mapped memory of a process,
	 * which reads them next; the firmware does not. A piece may overlap the target. NULL:
	 * the firmware copies.
	 */
	void (*place)(void *ctx, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg);

	/*
	 * Sends frames in order and sets their status. Returns how many it took: all, if no more
	 * are offered than tx_room() reported; the rest is lost and counted. Frames whose status is
	 * negative count as taken and were not sent. On return only frames with FW_TX_F_BORROW
	 * reference memory of a client.
	 */
	uint32_t (*tx_burst)(void *ctx, struct fw_tx_frame *frames, uint32_t n);

	/*
	 * On return no frame that tx_burst() took references memory of a client. NULL: none ever
	 * does.
	 */
	void (*tx_settle)(void *ctx);
	/*
	 * The same for frames of which a piece begins in these bytes, of the firmware's own memory.
	 * NULL: where tx_settle is.
	 */
	void (*tx_settle_mem)(void *ctx, const void *mem, size_t bytes);

	/*
	 * Number of frames that the port is sure to take now: the room in its hardware queue and
	 * its own buffers. The firmware stages no more than that in a turn. NULL: there is always
	 * room.
	 */
	uint32_t (*tx_room)(void *ctx);

	/*
	 * Packets that a run to this MAC may have, FW_RUN_MAX at most, if tx_burst() follows in
	 * this turn; 1: none, as where each packet has a fate of its own. NULL: no runs.
	 */
	uint32_t (*tx_run)(void *ctx, const uint8_t mac[6]);

	/*
	 * Accesses memory of a client process that is not mapped. Returns 0; -EFAULT when the range
	 * does not exist, or the process is not the one that attached; -EBUSY when a page does not
	 * arrive within the time that a core waits. After -EBUSY the same access may succeed later,
	 * and a write may still be carried out. Costs system calls.
	 */
	int (*host_read)(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes);
	int (*host_write)(void *ctx, uint32_t client, uint64_t addr, const void *src,
			  uint32_t bytes);

	/*
	 * Carries out an atomic on memory of a client that is not mapped, at an address that is a
	 * multiple of the element's size. No other call of this table accesses the client's memory
	 * between its read and its write. Returns 0 with *original, which has zeros above the
	 * element; -EFAULT: nothing was written; -EBUSY: not begun; -EINPROGRESS: it is carried out
	 * once, but not within the time that a core waits. Until then accesses to the client's
	 * memory return -EBUSY. host_atomic_over() then has the result, once, and it must be taken
	 * before the client's next atomic: it returns 0 with *original or -EFAULT, as above, or
	 * -EBUSY: not yet.
	 */
	int (*host_atomic)(void *ctx, uint32_t client, uint64_t addr, const struct fw_atomic *op,
			   uint64_t *original);
	int (*host_atomic_over)(void *ctx, uint32_t client, uint64_t *original);

	/*
	 * Reports whether an access that returned -EBUSY or -EINPROGRESS may still change memory of
	 * the client. since 0: returns a number that stands for it, or 0: none. since such a
	 * number: returns it until that access is over, then 0. NULL: no access is ever late.
	 */
	uint64_t (*host_late)(void *ctx, uint32_t client, uint64_t since);

	/* Signals the eventfd of a client's event queue. */
	void (*irq)(void *ctx, uint32_t client, uint32_t eq);

	/* Answers a command for which fw_cmd() returned FW_CMD_PENDING. */
	void (*cmd_done)(void *ctx, uint32_t client, const struct hw_cmd_resp *resp);

	/*
	 * A client for which fw_client_detach() returned FW_DETACH_PENDING is gone: its BAR is no
	 * longer touched, its number may be reused. NULL: only if every detach is done at once.
	 */
	void (*detached)(void *ctx, uint32_t client);

	/* A mapping given with REG_MR (fw_cmd_aux.handle) is no longer used. */
	void (*mem_unmap)(void *ctx, uint32_t client, void *mapping);

	/*
	 * The compiled form of a user's operation (fw_cmd_aux.native_handle) is no longer used.
	 * NULL: only if the port compiles none.
	 */
	void (*native_free)(void *ctx, void *native);

	/*
	 * The MAC filter. in: frames to this group MAC are wanted from now on; else they are no
	 * longer needed. ip: the IPv4 group, network byte order, for ports that filter by it (32
	 * groups share a MAC); 0: frames of any protocol. It cannot fail: a port without room lets
	 * more frames in, and the firmware checks each frame itself. Repeated calls have no effect.
	 * Returns how many other instances of this NIC want the same (mac, ip). NULL: frames to all
	 * groups come in, and this instance is the only one.
	 */
	uint32_t (*mac_filter)(void *ctx, const uint8_t mac[6], uint32_t ip, bool in);

	/*
	 * The table of ports of the connection manager, which the instances of a NIC share:
	 * FW_CM_PORT_WORDS words, zero before the first instance; they change them atomically.
	 * NULL: this is the only instance, and keeps its own.
	 */
	uint32_t *cm_ports;

	/*
	 * A TCP port gets its first listener or connection (in), or has lost the last. Returns 0,
	 * or a positive errno, only with in: the NIC must not use the port. EADDRINUSE: another
	 * program has it at the NIC's address; others: it cannot be reserved there. Calls for a
	 * port of a NIC alternate, over all instances. NULL: the address is the NIC's alone.
	 */
	int (*tcp_port)(void *ctx, uint16_t port, bool in);

	/* Frees pages of the arena that are not in use any more. Page-aligned. */
	void (*arena_release)(void *ctx, void *addr, size_t bytes);

	/*
	 * The client's use of its BAR grows by so many bytes beyond its highest so far. False: a
	 * share is used up, and *quota names it. The use ends with the client. NULL: always
	 * allowed.
	 */
	bool (*bar_take)(void *ctx, uint32_t client, uint64_t bytes, struct hw_resp_quota *quota);

	/*
	 * The firmware will write to these bytes of the client's BAR, whole pages, during later
	 * commands of the client. The port may prepare the pages before it passes the next one.
	 * NULL: nothing is to be done.
	 */
	void (*bar_ahead)(void *ctx, uint32_t client, uint64_t offset, uint64_t bytes);

	/*
	 * The time within a turn, on the clock of fw_poll(), for users that need it finer than
	 * turns: traces, WTIME. NULL: there is none.
	 */
	uint64_t (*clock_ns)(void *ctx);

	/*
	 * 1 + the CPU of the thread that runs the turns, for processes that wait for the NIC: the
	 * poll_cpu of hw_bar_header. NULL: unknown.
	 */
	uint32_t (*poll_cpu)(void *ctx);

	/*
	 * A number that cannot be predicted from others of them. The firmware makes names (STags,
	 * epochs, keys) of the upper half and first sequence numbers of the lower.
	 */
	uint64_t (*random64)(void *ctx);

	/*
	 * CRC32C over data, continuing crc. Start with FW_CRC32C_INIT; the value on the wire is the
	 * complement (fw_crc32c_wire() in nic_fw/base/crc32c.h). copy_crc32c also copies, in one
	 * pass if the machine can.
	 */
	uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes);
	uint32_t (*copy_crc32c)(uint32_t crc, void *dst, const void *src, size_t bytes);
};

#define FW_CRC32C_INIT 0xffffffffu

#endif /* WEFT_FW_PORT_H */
