/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private declarations of sim_harness.
 *
 * Path of a frame: tx_burst (sim_port.c) -> sim_link_tx -> filter, partition, faults, output queue
 * (sim_link.c) -> event -> sim_nic_rx (sim_nic.c) -> rx_burst at the next poll.
 */
#ifndef WEFT_SIM_INT_H
#define WEFT_SIM_INT_H

#include "sim_harness/sim.h"
#include "lib/fault.h"
#include "shared_defs/hw_limits.h"

#include <stdio.h>

enum {
	SIM_MEM_REGIONS = 64, /* per process, at a time */
	SIM_RX_SPLIT_MIN = FW_RX_HDR_BYTES,
	SIM_START_NS = 1000000, /* time of the first event: 0 means "never" in some places */
	SIM_CLIENTS = 256,      /* per shard; HW_MAX_CLIENTS */
	SIM_FAULT_KINDS = 20,   /* limit of the kinds that --faults may name */
	SIM_PKT_CRCS = 4,       /* CRC32Cs of a frame */
};

/* The payload of a frame that lies in its sender's memory (sim_borrow.c). */
struct sim_loan {
	struct sim_loan *next, *prev; /* in shard->loans of the sender */
	struct sim_shard *lender;
	struct sim_pkt *pkt;
	bool shown;  /* the receiving firmware has it */
	uint32_t at; /* offset of the payload in the frame */
	uint32_t num_pieces;
	struct fw_rx_seg piece[FW_TX_SEGS_MAX];
};

/* A frame on the network. data is a separate allocation, so that a sanitizer detects overruns. */
struct sim_pkt {
	struct sim_pkt *next;
	struct sim_pkt *prev; /* while the firmware holds it: in shard->lent */
	struct sim_pkt *more; /* further segments of the frame */
	bool loop;            /* sent by the NIC to itself */
	bool trusted;         /* arrives with FW_RX_CRC_OK */
	uint8_t num_crcs;
	uint16_t crc_at[SIM_PKT_CRCS];
	uint16_t csum_at; /* 0: no checksum */
	uint32_t bytes;
	uint8_t *data;         /* with a loan: the payload as it was when it was sent */
	struct sim_loan *loan; /* NULL: data is the whole frame */
	/* sim_run.c: number of the run that it belongs to, 0: none; its place in it. */
	uint32_t run, run_at;
	uint8_t crcs[FW_RUN_MAX][4]; /* of the packets that come as one frame with it */
};

/* An item of lib/heap.h. */
struct sim_event {
	uint64_t when_ns;
	uint64_t seq; /* orders events of equal time */
	sim_fn fn;
	void *ctx;
	uint64_t arg;
};

/* Frames in the switch's output queue: departure time and size. */
struct sim_queue {
	struct sim_queue_entry {
		uint64_t leaves_ps;
		uint32_t bytes;
	} * ring;
	uint32_t mask, head, tail; /* free-running */
	uint64_t bytes;
	uint64_t free_ps; /* time when the line is free again */
};

/* A pending answer of fw_cmd(). */
struct sim_answer {
	struct sim_answer *next;
	struct hw_cmd_resp resp;
};

struct sim_mem {
	uint8_t *addr;
	size_t bytes;    /* a multiple of the page size */
	uint64_t offset; /* in the simulation's memfd; UINT64_MAX: not mappable */
};

struct sim_proc {
	struct sim_proc *next; /* list of the simulation, newest first */
	struct sim_nic *nic;
	struct sim_shard *shard;
	struct weft_context *context;
	char name[24];
	uint32_t client;
	bool attached;
	struct hw_resp_attach start; /* the answer to START */
	bool dead;
	bool opened;
	bool any_memory; /* sim_proc_any_memory() */
	bool moves;      /* sim_proc_move_memory() */
	bool nonblocking;
	uint32_t number; /* in order of creation */
	uint32_t last_tag;
	void *bar;
	uint64_t bar_bytes;
	struct sim_mem mem[SIM_MEM_REGIONS];
	uint32_t num_mem;
	struct sim_answer *answers;
	uint32_t pending; /* commands without an answer yet */
	/* An atomic on a page that comes late: carried out at due_ns, or by sim_proc_settle(). */
	struct sim_late {
		bool open; /* the firmware has not taken its result */
		bool over; /* it was carried out */
		uint64_t due_ns;
		uint64_t addr;
		struct fw_atomic op;
		int result;
		uint64_t original;
	} late;
	/* A write that was given up and is carried out at due_ns, or by sim_proc_settle(). */
	struct sim_late_write {
		uint8_t *data; /* NULL: none */
		uint64_t due_ns;
		uint64_t addr;
		uint32_t bytes;
		uint64_t number;
	} late_write;
	uint8_t irq_pending[HW_MAX_EQ_PER_CLIENT];
	sim_irq_fn on_irq;
	void *on_irq_ctx;
};

/* An entry of a MAC filter. */
struct sim_mac {
	uint8_t mac[6];
	uint32_t ip;
};

/* A NIC's mapping of process memory. */
struct sim_map {
	struct sim_map *next;
	uint32_t client;
	void *addr;
	size_t bytes;
};

/* One firmware instance and the core that polls it. */
struct sim_shard {
	struct sim_nic *nic;
	uint32_t index;
	struct fw_nic *fw;
	void *arena;
	size_t arena_bytes;
	bool asleep;
	bool drowsy; /* its last turn found no work; when it ends, the core sleeps */
	bool in_poll;
	bool ran;            /* since sim_nic_ran() */
	uint64_t poll_at_ns; /* time of its next poll; UINT64_MAX: none */
	uint64_t busy_until_ns;
	uint64_t tx_at_ns; /* time when frames of the current turn leave */
	uint32_t paid_rx;  /* queued frames whose cost has elapsed */
	uint64_t paid_ops; /* counted by ops_index */
	uint32_t ops_index;
	struct sim_pkt *rx_head, *rx_tail;
	uint32_t rx_frames;
	uint32_t in_burst;                   /* frames of rx_burst() before rx_free() */
	struct sim_pkt *lent;                /* frames that the firmware has, including held ones */
	struct sim_loan *loans;              /* frames under way with payload of its processes */
	struct sim_proc *procs[SIM_CLIENTS]; /* indexed by client number */
	/* Clients whose process has ended and that the firmware is still freeing, by number. */
	struct sim_leaving {
		const struct sim_proc *proc; /* NULL: not leaving, or its process was freed */
		bool leaving;
		void *bar; /* mapping that the process gave up; unmapped at the end */
		uint64_t bar_bytes;
	} leaving[SIM_CLIENTS];
	struct sim_map *maps;
	struct sim_mac *macs;
	uint32_t num_macs, max_macs;
	struct sim_prng port_prng;
	struct sim_prng poll_prng;
};

struct sim_nic {
	struct sim *sim;
	uint32_t index;
	uint32_t incarnation;
	uint32_t ip;
	uint8_t mac[6];
	uint32_t mtu;
	char name[16];
	bool dead;
	uint64_t clock_offset_ns; /* the NIC's clock minus the simulation's */
	uint64_t paused_until_ns;
	struct sim_link link;
	struct sim_queue out; /* the NIC's output queue */
	struct sim_queue in;  /* the switch's queue towards the NIC */
	uint64_t ctl_free_ps; /* control frames, which do not wait behind data */
	uint64_t in_last_ns;  /* arrival of the last frame in order */
	struct fault fault;   /* draws from link_prng */
	bool clogged;
	struct sim_pkt *clog_head, *clog_tail;
	uint64_t blocked[SIM_MAX_NICS / 64]; /* one bit per destination NIC */
	struct sim_prng link_prng;
	struct sim_nic_counts counts;
	/* Not of the digest. */
	uint64_t lent_frames, settled_frames;
	uint64_t runs, run_packets;
	uint32_t num_shards;
	uint32_t next_shard; /* for the next process */
	uint32_t *cm_ports;  /* fw_port.cm_ports; NULL: only one shard */
	struct sim_shard shard[SIM_MAX_SHARDS];
};

struct sim {
	struct sim_config config;
	uint64_t seed;
	uint64_t now_ns;
	uint64_t seq;
	uint64_t events;
	struct sim_event *heap;
	size_t heap_count, heap_size;
	struct sim_nic *nics[SIM_MAX_NICS];
	uint32_t num_nics;
	struct sim_proc *procs;
	uint32_t procs_made;
	sim_filter filter;
	void *filter_ctx;
	struct sim_prng fault_prng;
	uint32_t fault_ppm[SIM_FAULT_KINDS]; /* for lasting faults: probability per tick */
	bool doubtful;                       /* frames may have changed: no port may trust one */
	bool fault_clock;
	sim_fault_fn on_fault;
	void *on_fault_ctx;
	/* memory of processes: one address window, and one memfd for mappable memory */
	uint8_t *window;
	uint64_t window_used;
	int memfd;
	uint64_t memfd_bytes;
	FILE *pcap;
	uint32_t pcap_interfaces;
	FILE *trace;
	uint64_t digest;
	uint64_t pkts; /* existing frames, checked at the end */
	uint32_t runs; /* runs of packets that were sent: the number of the last one */
};

/* sim_link.c: allocates a frame; data NULL leaves its bytes undefined. Freed with all segments. */
struct sim_pkt *sim_pkt_new(struct sim *sim, const void *data, uint32_t bytes);
void sim_pkt_free(struct sim *sim, struct sim_pkt *pkt);

/* sim_run.c: fw_port.tx_run. */
uint32_t sim_run_limit(void *ctx, const uint8_t mac[6]);
/* Describes a frame of several packets. */
struct fw_run sim_run_of(const struct fw_tx_frame *frame);
/* Makes the frame of one of them, counted from 0. */
void sim_run_packet(const struct fw_tx_frame *frame, const struct fw_run *run, uint32_t i,
		    struct fw_tx_frame *packet);
/*
 * Makes the frame of pkt, which has left the queue, that of a run with the packets behind it, up to
 * limit in all, if they belong together. Returns their number; 1: the frame is unchanged.
 */
uint32_t sim_run_join(struct sim_shard *shard, struct sim_pkt *pkt, struct fw_rx_frame *frame,
		      uint32_t limit);

/* sim_borrow.c: lends the payload of a frame, whose bytes are in pkt, if it may be. */
void sim_loan_take(struct sim_shard *shard, const struct fw_tx_frame *frame, struct sim_pkt *pkt);
/* Copies the payload into the frame, if it is lent; or leaves it as it was when it was sent. */
void sim_loan_copy(struct sim_pkt *pkt);
void sim_loan_drop(struct sim_pkt *pkt);
/* fw_port.tx_settle; ctx is a struct sim_shard. */
void sim_loan_settle(void *ctx);
/* fw_port.tx_settle_mem. */
void sim_loan_settle_mem(void *ctx, const void *mem, size_t bytes);
/* Returns true if a frame under way reads this memory. */
bool sim_loan_reaches(const struct sim_shard *shard, const void *mapping, size_t bytes);
/* Returns the pieces of a lent frame, at most FW_RX_SEGS_MAX, to the firmware. */
uint32_t sim_loan_pieces(struct sim_pkt *pkt, struct fw_rx_seg *seg);
/* Returns a copy with the payload as it was when it was sent; one that is lent as the frame is. */
struct sim_pkt *sim_pkt_twin(struct sim *sim, const struct sim_pkt *pkt);
struct sim_pkt *sim_pkt_same(struct sim *sim, const struct sim_pkt *pkt);
/* A CRC32C lies there. The port knows that the frame is right, if it may. Spoils what none reads.
 */
void sim_pkt_crc(struct sim_pkt *pkt, uint32_t at);
void sim_pkt_trust(struct sim *sim, struct sim_pkt *pkt, uint32_t csum_at);
void sim_pkt_spoil(struct sim_pkt *pkt);

/*
 * sim_forge.c: returns a copy of a weft datagram, a TCP segment or an ARP request with an error
 * that its CRC does not reveal; or NULL.
 */
struct sim_pkt *sim_forge(struct sim *sim, struct sim_prng *prng, const struct sim_pkt *pkt);
/* sim_forge_tcp.c: tests for a TCP segment; returns a wrong copy of one. */
bool sim_is_segment(const struct sim_pkt *pkt);
struct sim_pkt *sim_forge_segment(struct sim *sim, struct sim_prng *prng,
				  const struct sim_pkt *pkt);

/* sim_link.c: sends a frame from a NIC at when_ns; takes ownership of pkt. */
void sim_link_tx(struct sim_nic *from, struct sim_pkt *pkt, uint64_t when_ns, bool control);
/* Returns the number of frames in the NIC's output queue at when_ns. */
uint32_t sim_link_backlog(struct sim_nic *nic, uint64_t when_ns);
/* Delivers a frame to the NIC's own address. */
void sim_link_loop(struct sim_nic *nic, struct sim_pkt *pkt);
/* Delivers waiting frames now. */
void sim_link_unclog(struct sim_nic *nic);
void sim_link_free(struct sim_nic *nic);
/* Frees the data of an event that never ran. */
void sim_link_drop_event(struct sim *sim, const struct sim_event *ev);

/* sim_nic.c: handles an arriving frame; distributes it to its shards. Takes ownership of pkt. */
void sim_nic_rx(struct sim_nic *nic, struct sim_pkt *pkt);
void sim_nic_free(struct sim_nic *nic);
/* Returns the number that the NIC with this address would have. */
uint32_t sim_nic_by_ip(uint32_t ip);
/* Polls at when_ns, or when the current turn has ended. */
void sim_shard_wake(struct sim_shard *shard, uint64_t when_ns);
/*
 * Prepares a call to the firmware outside a poll: waits for the end of a pause and sets the time.
 */
void sim_shard_enter(struct sim_shard *shard);

/* Accounts for a frame sent in the current turn; shard->tx_at_ns is its time. */
void sim_shard_pay_tx(struct sim_shard *shard, uint32_t bytes);

/* sim_port.c: fills in the environment of a shard (struct fw_port). */
void sim_port_fill(struct sim_shard *shard, struct fw_port *port);

/* sim_host.c, for sim_port.c: effects of the NIC on a process. */
struct sim_proc *sim_shard_proc(struct sim_shard *shard, uint32_t client);
void sim_proc_irq(struct sim_proc *proc, uint32_t eq);
void sim_proc_answer(struct sim_proc *proc, const struct hw_cmd_resp *resp);
void sim_proc_free(struct sim_proc *proc);
/* fw_port.detached; and the same for all clients of a NIC without power. */
void sim_shard_detached(struct sim_shard *shard, uint32_t client);
void sim_shard_forget_leaving(struct sim_shard *shard);

/* sim_mem.c */
int sim_mem_init(struct sim *sim);
void sim_mem_close(struct sim *sim);
void sim_mem_free_all(struct sim_proc *proc);
/* Returns the region that contains [addr, addr + bytes), or NULL. */
struct sim_mem *sim_mem_find(struct sim_proc *proc, uint64_t addr, uint64_t bytes);
/*
 * Carries out an atomic that waits for a page. As weftd answers commands that give memory back
 * when copies under way are over, the process may use its memory again after each of its commands.
 */
void sim_proc_settle(struct sim_proc *proc);
/* Returns true if host_read and host_write may access the range. */
bool sim_mem_reach(struct sim_proc *proc, uint64_t addr, uint64_t bytes);
/* Moves memory of whole pages onto pages that NICs can map. Returns false if that fails. */
bool sim_mem_move(struct sim_proc *proc, struct sim_mem *mem);
/* Creates a mapping of a region for the NIC; NULL on failure. sim_mem_unmap() removes it. */
void *sim_mem_map(struct sim_shard *shard, uint32_t client, const struct sim_mem *mem);
/* Returns false if there is no such mapping. */
bool sim_mem_unmap(struct sim_shard *shard, uint32_t client, void *mapping);

/* sim_mac.c: fw_port.mac_filter; test of a group MAC; removal of all entries. */
uint32_t sim_mac_filter(void *ctx, const uint8_t mac[6], uint32_t ip, bool in);
bool sim_mac_wanted(const struct sim_nic *nic, const uint8_t *mac);
void sim_mac_clear(struct sim_shard *shard);

/* sim_crc.c: like fw_crc32c() and fw_copy_crc32c(). */
uint32_t sim_crc32c(uint32_t crc, const void *data, size_t bytes);
uint32_t sim_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes);

/* sim_pcap.c */
void sim_pcap_frame(struct sim_nic *nic, const struct sim_pkt *pkt, uint64_t when_ns, bool out);
void sim_pcap_close(struct sim *sim);

/* sim_trace.c */
void sim_trace_attach(struct sim_shard *shard);
void sim_trace_close(struct sim *sim);

#endif /* WEFT_SIM_INT_H */
