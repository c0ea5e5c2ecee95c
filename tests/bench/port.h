/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake world of one NIC: an implementation of nic_fw/fw_port.h that a test sets and reads.
 *
 * Frames that the NIC sends are assembled as a MAC's DMA engine does and given to sent(); frames
 * for the NIC wait in the inbox until they are due. Every segment of a received frame is an
 * allocation of its exact size, so that the sanitizer reports any byte read beyond it. Memory of
 * processes is the test's own unless mem() returns another address. A test that needs more replaces
 * entries of the table that bench_port_table() returns. tests/bench/wire.h joins ports.
 *
 * A broken rule of the port ends the program (bench_fail()): no CUnit here, since the fuzz targets
 * use the port, too. Not thread-safe.
 */
#ifndef WEFT_TESTS_BENCH_PORT_H
#define WEFT_TESTS_BENCH_PORT_H

#include "nic_fw/fw.h"
#include "nic_fw/fw_port.h"
#include "shared_defs/hw_cmd.h"

enum {
	BENCH_CLIENTS = 16,      /* clients with an interrupt counter each */
	BENCH_LATE_BYTES = 9216, /* of a write that is carried out later */
	BENCH_UNMAPS = 16,
	BENCH_CRCS = 8, /* of a frame whose CRC32Cs nobody needs */
};

/* fw_config.hash_secret: any, the same in each run. */
#define BENCH_HASH_SECRET                                                                          \
	{                                                                                          \
		UINT64_C(0x6a09e667f3bcc909), UINT64_C(0xbb67ae8584caa73b)                         \
	}

/* Prints an error message and aborts; bench_on_fail, unless NULL, prints the state first. */
void bench_fail(const char *what, ...) __attribute__((format(printf, 1, 2), noreturn));
extern void (*bench_on_fail)(void);
#define BENCH_CHECK(cond, ...)                                                                     \
	do {                                                                                       \
		if (!(cond))                                                                       \
			bench_fail(__VA_ARGS__);                                                   \
	} while (0)

/* A frame outside of the NIC. */
struct bench_frame {
	uint8_t *b; /* an allocation of exactly n bytes */
	uint32_t n;
	uint32_t to;     /* number of a port on the wire */
	uint32_t flags;  /* as sent, FW_TX_*; as received, FW_RX_* */
	uint32_t piece;  /* bytes of each received segment after the headers; 0: one segment */
	uint64_t due_ns; /* when it may be received */
	/* Ports that lend use it (tests/bench/loan.h). */
	struct bench_loan {
		struct bench_port *lender; /* NULL: the frame was put in, or its sums count */
		uint16_t num_crcs, csum_at;
		uint16_t crc_at[BENCH_CRCS];
		uint32_t at, num; /* pieces in memory of processes, from byte `at` on; 0: none */
		struct fw_rx_seg piece[FW_TX_SEGS_MAX];
	} loan;
};

struct bench_wire;

struct bench_port {
	struct fw_nic *nic;      /* the NIC of this port */
	struct bench_wire *wire; /* the wire it is joined to; NULL: none */
	uint32_t number;         /* on the wire */
	/* Settings. */
	bool dead;             /* not polled; frames to it are lost */
	uint32_t inbox_max;    /* frames beyond are lost; 0: it grows */
	uint32_t piece;        /* of frames put into the inbox from now on */
	uint32_t rx_flags;     /* likewise */
	bool lends;            /* as a port of weftd's switch does: loan.h */
	uint32_t tx_room;      /* frames that tx_burst() still takes; UINT32_MAX: no end */
	uint32_t max_bytes;    /* of a frame; 0: any */
	bool host_fault;       /* memory of processes does not exist */
	bool host_busy;        /* memory of processes is temporarily absent */
	bool host_late;        /* atomics on it are begun, and not over until this is false */
	bool host_writes_late; /* likewise the first write; accesses behind it are refused */
	uint64_t next_random;  /* its low half in both halves of the next number, then counted up */
	uint64_t *shared_random; /* counted up in place of next_random, unless NULL */
	const uint64_t *now_ns;  /* NULL: every frame is due */
	uint32_t poll_cpu;       /* as the port reports it */
	/* Takes a frame that the NIC sent, with its memory; NULL: it is freed. */
	void (*sent)(struct bench_port *port, struct bench_frame *frame);
	/* Memory of a process; NULL there: -EFAULT. NULL: the address itself. */
	void *(*mem)(struct bench_port *port, uint32_t client, uint64_t addr, uint32_t bytes);
	/* Runs at every call of the port; NULL: nothing does. */
	void (*meanwhile)(void);

	/* Counts. */
	uint32_t frames_sent, tx_calls;
	uint32_t settles, settled; /* calls of tx_settle; frames_sent at the last of them */
	uint32_t settles_mem;      /* calls of tx_settle_mem; of the last one: */
	const void *settled_mem;
	size_t settled_bytes;
	uint32_t rx_out; /* frames that the firmware has not given back */
	uint32_t rx_freed;
	uint32_t host_calls;
	const void *host_src;  /* the source of the last host_write() */
	uint32_t host_atomics; /* carried out */
	struct bench_late {
		bool open;
		uint64_t addr;
		struct fw_atomic op;
	} late[BENCH_CLIENTS];
	struct bench_late_write {
		uint64_t number; /* 0: none was begun */
		void *mem;
		uint32_t bytes;
		uint8_t data[BENCH_LATE_BYTES];
	} late_write;
	uint32_t num_irqs;
	uint32_t irqs[BENCH_CLIENTS][HW_MAX_EQ_PER_CLIENT];
	uint32_t num_done, done_client; /* cmd_done() */
	struct hw_cmd_resp done;
	uint32_t num_detached, last_detached;
	uint32_t num_unmaps; /* the first BENCH_UNMAPS are in unmapped */
	void *unmapped[BENCH_UNMAPS];
	uint8_t filter_mac[6]; /* the last call of mac_filter() */
	uint32_t filter_ip, filter_calls, filter_others;
	bool filter_in;

	/* In the order in which they are due. */
	struct bench_frame *inbox;
	uint32_t inbox_count, inbox_size;
};

/* All zero except for unlimited room. */
void bench_port_init(struct bench_port *port);
/* Empties the inbox. */
void bench_port_clear(struct bench_port *port);
/* Frees the inbox. */
void bench_port_free(struct bench_port *port);
/* A table for fw_init(). port stays where it is as long as the NIC. */
struct fw_port bench_port_table(struct bench_port *port);
/* Copies a frame into the inbox, after those that are due before or at the same time. */
void bench_port_put(struct bench_port *port, const void *frame, uint32_t bytes, uint64_t due_ns);
/* Likewise, with the loan of a frame that a port sent. */
void bench_port_lend(struct bench_port *port, const struct bench_frame *frame, uint64_t due_ns);
/* Removes frame i of the inbox. */
void bench_port_drop(struct bench_port *port, uint32_t i);

/*
 * Writes the bytes of a frame from segment `first` on to out, with CRC32Cs and checksum; returns
 * their number, or -EFAULT if memory of a process is missing. port may be NULL: memory of processes
 * is at the address itself.
 */
int bench_assemble(struct bench_port *port, const struct fw_tx_frame *tx, uint32_t first,
		   uint8_t *out, uint32_t max);
/* Divides a frame into segments of frame.piece; bench_release() frees them. */
void bench_segment(const struct bench_frame *frame, struct fw_rx_frame *rx);
void bench_release(void *cookie);

/* Maps memory that reads as zero, as arenas and BARs begin. munmap() frees it. */
void *bench_map(size_t bytes);

#endif /* WEFT_TESTS_BENCH_PORT_H */
