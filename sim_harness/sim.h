/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Public interface of the simulator: many NICs in one process, a network between them, and virtual
 * time that advances only with events.
 *
 * 	struct sim *sim = sim_new(NULL, seed);
 * 	struct sim_nic *a = sim_nic_new(sim), *b = sim_nic_new(sim);
 * 	struct sim_proc *pa = sim_proc_new(a, "a"), *pb = sim_proc_new(b, "b");
 * 	struct weft_context *ca = sim_open(pa), *cb = sim_open(pb);
 * 	... create queue pairs and post with libweft ...
 * 	sim_run_until(sim, done, &state, limit_ns);
 * 	sim_free(sim);
 *
 * A run is determined by the seed and the calls made: the same program with the same seed sends the
 * same bytes at the same virtual nanosecond. One thread per struct sim; there are no globals. Times
 * are in virtual nanoseconds, probabilities in parts per million.
 *
 * tests/sim and weft-sim (sim_main.c) use it. README.md of this folder describes the files.
 */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/fw.h"
#include "shared_defs/hw_fault.h"
#include "sim_harness/sim_prng.h"

struct sim;
struct sim_nic;
struct sim_proc;
struct weft_context;

enum {
	SIM_MAX_NICS = 4096,
	SIM_MAX_SHARDS = 8,
	SIM_MAX_FRAME_BYTES = 16384,
};

/*
 * One port of the switch, both directions. LogGP's parameters: latency L, gap per message g, gap
 * per byte G; the overhead o is sim_config.poll_* or sim_config.cost.
 */
struct sim_link {
	uint64_t latency_ns; /* NIC to switch plus switch to NIC, half each */
	/* Maximum of the additional delay on the way to the NIC; keeps the order. */
	uint64_t jitter_ns;
	uint64_t gap_ns;          /* minimum time between two frames */
	uint64_t gap_ps_per_byte; /* 10 Gb/s: 800 */
	uint32_t queue_bytes;     /* switch output queue towards this NIC; drop-tail */
	uint32_t ecn_bytes;       /* mark CE above this backlog; 0: never */
	/*
	 * LogGP semantics: the gap delays the next frame instead of this one, and the bytes take
	 * time once, not on both lines. Otherwise store and forward, as in real switches.
	 */
	bool cut_through;
	struct hw_fault_chances fault; /* on the way from the switch to this NIC: lib/fault.h */
	uint64_t reorder_ns;           /* maximum delay of a reordered frame */
	uint32_t forge_ppm;            /* a forged copy follows: bytes changed, CRC correct */
};

/*
 * Cost of a core's work by kind: in a turn it reads frames, then executes operations and writes
 * frames, with these durations. All 0: the cost is sim_config.poll_work_ns alone.
 */
struct sim_cost {
	uint64_t rx_ns, tx_ns; /* per frame of any kind */
	uint64_t byte_ps;      /* plus this per byte */
	uint64_t op_ns;        /* per started operation of a GOAL schedule */
};

/* Poll cost and queues of every NIC, and the link of new NICs. */
struct sim_config {
	struct sim_link link;
	struct sim_cost cost;
	uint32_t mtu;             /* IPv4 packet, in bytes */
	uint32_t num_shards;      /* per NIC */
	uint32_t poll_budget;     /* frames and requests per fw_poll() */
	uint64_t poll_ns;         /* cost of a poll without work */
	uint64_t poll_work_ns;    /* plus this per unit of work */
	uint64_t poll_jitter_ns;  /* plus a random time up to this */
	uint64_t doorbell_ns;     /* from the wake-up call to the poll */
	uint64_t loop_ns;         /* delay of a frame to the NIC's own address */
	uint32_t rx_queue_frames; /* per shard; further frames are dropped and counted */
	/* a NIC's output queue; beyond it tx_burst accepts fewer frames. */
	uint32_t tx_queue_frames;
	uint32_t rx_split_ppm; /* frames delivered in several segments, like mbuf chains */
	uint64_t block_ns;     /* maximum time for which a process's blocking call runs the clock */
	bool cc_off;           /* RD without congestion control */
	bool no_bundle;        /* RD: each message in a frame of its own */
	uint32_t tcp_awake;    /* of fw_config: with 0 connections of TCP rest whenever they may */
	bool arp_direct;       /* the switch delivers ARP requests only to their target */
	bool wrap_soon;        /* random numbers just below 2^32: PSNs wrap soon */
	bool tx_room;          /* the port reports its free room; otherwise some frames are lost */
	bool no_host_map;      /* process memory is never mapped: process_vm is used */
	uint32_t host_busy_ppm; /* accesses to it that return "not now", as for a slow page */
	bool borrow;            /* payload from 1 KiB on stays in the sender's memory under way */
	bool no_crc; /* frames arrive as known to be right, without CRC32C and checksum */
	/*
	 * sim_digest() knows no frames. With no_crc their CRC32Cs are not computed either. Neither
	 * changes what happens, or when.
	 */
	bool no_digest;
};

/* Sets the defaults: 25 Gb/s, 2 us, MTU 4096, 1 shard, no faults. */
void sim_config_default(struct sim_config *config);

/* Creates a simulation. config NULL: the defaults. Returns NULL only when memory is exhausted. */
struct sim *sim_new(const struct sim_config *config, uint64_t seed);

/* Frees everything and closes files. Contexts of sim_open() must be closed before. */
void sim_free(struct sim *sim);

/* Changes sim_config.host_busy_ppm from now on. */
void sim_host_busy(struct sim *sim, uint32_t ppm);

const struct sim_config *sim_get_config(const struct sim *sim);
uint64_t sim_seed(const struct sim *sim);
uint64_t sim_now_ns(const struct sim *sim);
uint64_t sim_events(const struct sim *sim); /* handled so far */

/* Returns a random stream of the run for the caller's own use. */
void sim_prng_for(const struct sim *sim, struct sim_prng *prng, enum sim_stream kind,
		  uint64_t index);

/* ---- time (sim.c) ------------------------------------------------------------------------- */

typedef void (*sim_fn)(struct sim *sim, void *ctx, uint64_t arg);

/* Calls fn at a virtual time; a time in the past means now. Equal times: in order of the calls. */
void sim_at(struct sim *sim, uint64_t when_ns, sim_fn fn, void *ctx, uint64_t arg);

/*
 * Handles the next event if it is due by limit_ns. Returns false if there is none; the time is then
 * limit_ns.
 */
bool sim_step(struct sim *sim, uint64_t limit_ns);

/* Runs until now + ns. */
void sim_run_for(struct sim *sim, uint64_t ns);

/*
 * Runs until pred(ctx) is true, checked before the first event and after each one, or for limit_ns.
 * Returns the last result of pred.
 */
typedef bool (*sim_pred)(void *ctx);
bool sim_run_until(struct sim *sim, sim_pred pred, void *ctx, uint64_t limit_ns);

/* Runs until no event is left, at most limit_ns. Returns true if none is left. */
bool sim_run_idle(struct sim *sim, uint64_t limit_ns);

/* ---- NICs (sim_nic.c) --------------------------------------------------------------------- */

/* Creates the next NIC: weft<i>, 10.77.<i/250>.<1 + i%250>, MAC 02:57:46:00:<i>. */
struct sim_nic *sim_nic_new(struct sim *sim);

struct sim_nic *sim_nic_at(struct sim *sim, uint32_t i); /* NULL after the last one */
uint32_t sim_nic_count(const struct sim *sim);
uint32_t sim_nic_index(const struct sim_nic *nic);
uint32_t sim_nic_ip(const struct sim_nic *nic); /* network byte order */
const uint8_t *sim_nic_mac(const struct sim_nic *nic);
struct sim *sim_nic_sim(const struct sim_nic *nic);
uint64_t sim_nic_clock_ns(const struct sim_nic *nic); /* the NIC's own clock */
struct sim_link *sim_nic_link(struct sim_nic *nic);   /* may be changed at any time */
struct fw_nic *sim_nic_fw(struct sim_nic *nic, uint32_t shard);
/* Returns true if an instance had a turn or a command since the last call: it may have changed. */
bool sim_nic_ran(struct sim_nic *nic, uint32_t shard);

/* Returns a counter of the firmware, summed over all shards. Asserts that the name exists. */
uint64_t sim_nic_stat(const struct sim_nic *nic, const char *name);
/* Returns the sum of all counters whose names start with prefix. */
uint64_t sim_nic_stat_sum(const struct sim_nic *nic, const char *prefix);

/* Counters of the harness itself. */
struct sim_nic_counts {
	uint64_t tx_frames, rx_frames, loop_frames;
	uint64_t drop_rx_queue;     /* the firmware's receive queue was full */
	uint64_t drop_switch_queue; /* dropped at the tail of the switch's queue */
	uint64_t drop_fault, drop_partition, drop_dead;
	uint64_t to_nobody; /* sent to a station MAC that no NIC has */
	uint64_t duplicated, reordered, corrupted, forged, ecn_marked;
	uint64_t polls, idle_polls, irqs, host_faults;
	uint64_t frames_held;  /* currently held by the firmware */
	uint64_t maps, unmaps; /* of process memory */
};
const struct sim_nic_counts *sim_nic_counts(const struct sim_nic *nic);
/* Frames of several packets that the firmware has got; *packets: those in them. */
uint64_t sim_nic_runs(const struct sim_nic *nic, uint64_t *packets);

/* Frames that were sent with borrowed payload; *settled: of those, copied while under way. */
uint64_t sim_nic_lent(const struct sim_nic *nic, uint64_t *settled);

/*
 * Stops the NIC as if its power were cut: it is not polled and receives no frames. Its processes
 * stay.
 */
void sim_nic_kill(struct sim_nic *nic);
bool sim_nic_dead(const struct sim_nic *nic);
/*
 * Cuts and restores power: the firmware starts again with other random numbers. All processes of
 * the NIC are dead (their commands fail with EIO); new ones can be created.
 */
void sim_nic_restart(struct sim_nic *nic);
/* Suspends polling for ns: frames queue up, and the clock jumps at the next poll. */
void sim_nic_pause(struct sim_nic *nic, uint64_t ns);
/* Makes its clock jump ahead between two polls, while no time passes elsewhere. */
void sim_nic_jump(struct sim_nic *nic, uint64_t ns);
/* Polls now, or when the current turn ends. */
void sim_nic_wake(struct sim_nic *nic);

/* ---- the network (sim_link.c, sim_faults.c) ----------------------------------------------- */

/* Puts a frame into a NIC's receive path, as if the switch had delivered it. */
void sim_inject(struct sim_nic *nic, const void *frame, size_t bytes);

/*
 * Filter that inspects each frame leaving a NIC, before the switch, and may modify it in place. One
 * per simulation; NULL removes it.
 */
enum sim_verdict {
	SIM_PASS,
	SIM_DROP,
	SIM_TWICE,
};
typedef enum sim_verdict (*sim_filter)(void *ctx, struct sim_nic *from, uint8_t *frame,
				       size_t bytes);
void sim_set_filter(struct sim *sim, sim_filter fn, void *ctx);

/*
 * Source MAC of frames forged by the fault "forge", unless they carry the MAC of the named station.
 */
extern const uint8_t sim_forger_mac[6];

/* Blocks one direction: frames from a do not reach b. */
void sim_block(struct sim_nic *a, struct sim_nic *b, bool blocked);
/* Blocks both directions between NICs whose bits in side differ (by index, first 64 NICs). */
void sim_partition(struct sim *sim, uint64_t side);
void sim_heal(struct sim *sim);

/* Holds frames towards this NIC in the switch until it is unclogged; they then arrive at once. */
void sim_clog(struct sim_nic *nic, bool clogged);
/* Clogs NICs one after another, then unclogs them in random order, within duration_ns from now. */
void sim_swizzle(struct sim *sim, uint64_t duration_ns);

/*
 * Sets faults by a list: "loss,dup=2%,reorder,clog,kill", each with an optional =VALUE (per cent, a
 * decimal number; otherwise a default), for existing NICs and those created later.
 * sim_faults_help() lists the names. Returns 0, or -EINVAL with an explanation in message.
 */
int sim_faults_parse(struct sim *sim, const char *list, char *message, size_t message_bytes);
/* True if frames may be lost, repeated, changed or delayed, or nodes stopped. */
bool sim_faults_any(const struct sim *sim);
/* Ends all faults, partitions and clogs. */
void sim_faults_off(struct sim *sim);

/*
 * Sets the handler of the faults "kill" and "restart", called from an event of its own while faults
 * are on: only the workload knows which process should die, and the consequences. NULL: no handler.
 */
enum sim_fault_event {
	SIM_FAULT_KILL,
	SIM_FAULT_RESTART,
};
typedef void (*sim_fault_fn)(void *ctx, enum sim_fault_event event, struct sim_nic *nic);
void sim_on_fault(struct sim *sim, sim_fault_fn fn, void *ctx);

/*
 * Returns the duration of a process's wait of ns on this NIC's host; the fault "slow" multiplies
 * it.
 */
uint64_t sim_slow_ns(const struct sim_nic *nic, uint64_t ns);

/* Returns the names that sim_faults_parse() accepts with their meanings, one per line. */
const char *sim_faults_help(void);

/* ---- processes (sim_host.c, sim_mem.c) ---------------------------------------------------- */

/* Creates a process on the NIC's host, initially without memory that the NIC can access. */
struct sim_proc *sim_proc_new(struct sim_nic *nic, const char *name);

/*
 * Attaches it through libweft; NULL and errno on failure. Close the context with
 * weft_close_device(). Blocking calls of libweft run the simulation until they complete, or fail
 * with EINTR (commands: EIO) after sim_config.block_ns.
 */
struct weft_context *sim_open(struct sim_proc *proc);

/* SIGKILL: the NIC loses its QPs, memory and context. Its calls fail with EIO. */
void sim_proc_kill(struct sim_proc *proc);
bool sim_proc_dead(const struct sim_proc *proc);

struct sim_nic *sim_proc_nic(const struct sim_proc *proc);
/*
 * Returns its BAR as mapped by the process, for tests that overwrite it; NULL while it is not open.
 */
void *sim_proc_bar(const struct sim_proc *proc, uint64_t *bytes);
uint32_t sim_proc_shard(const struct sim_proc *proc);

/*
 * Allocates zeroed, page-aligned memory of the process at an address that depends on the calls
 * made, not on the machine. mapped: the NIC maps registrations of it; otherwise it is accessed by
 * host_read/host_write (process_vm). NULL: the address window is full.
 */
void *sim_mem_alloc(struct sim_proc *proc, size_t bytes, bool mapped);
/*
 * Lets the NIC access any memory that this process registers from now on, without mapping it, for
 * layers that allocate their own memory. Access to unmapped memory is then a crash, not an error.
 */
void sim_proc_any_memory(struct sim_proc *proc);
/*
 * Likewise; registration moves the memory onto pages that the NIC maps, as those of weft_alloc()
 * are by weftd. The range is of whole pages.
 */
void sim_proc_move_memory(struct sim_proc *proc);
/* Unmaps it in the process: host_read/host_write fail from now on. */
void sim_mem_free(struct sim_proc *proc, void *mem);

/* Handler of interrupts of the process's event queue eq. */
typedef void (*sim_irq_fn)(void *ctx, struct sim_proc *proc, uint32_t eq);
void sim_proc_on_irq(struct sim_proc *proc, sim_irq_fn fn, void *ctx);
/* Makes waits for events return -EAGAIN at once, as with O_NONBLOCK. */
void sim_proc_set_nonblocking(struct sim_proc *proc, bool nonblocking);

/* ---- observation (sim_pcap.c, sim_trace.c) -------------------------------------------------- */

/*
 * Writes a pcapng file of every frame at every NIC with virtual time stamps. Returns 0 or -errno.
 */
int sim_pcap_open(struct sim *sim, const char *path);
/*
 * Writes the firmware's trace events, one per line, to a file ("-": standard output). Returns 0 or
 * -errno.
 */
int sim_trace_open(struct sim *sim, const char *path);

/*
 * The digest of a run covers every frame's bytes and time, every counter, and the data added by the
 * caller. Equal seeds and calls give equal digests.
 */
void sim_digest_add(struct sim *sim, const void *data, size_t bytes);
uint64_t sim_digest(struct sim *sim);

#endif /* WEFT_SIM_H */
