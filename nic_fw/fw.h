/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The firmware's public face: one shard of one NIC per instance.
 *
 * dpdk_app (lcore.c, client.c) and sim_harness use it. Every call on an instance comes from one
 * thread at a time: the core that polls it. A process may hold many instances; there are no
 * globals. See ARCHITECTURE.md for the walk through fw_poll().
 */
#ifndef WEFT_FW_H
#define WEFT_FW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"
#include "shared_defs/be.h"
#include "shared_defs/hw_cmd.h"
#include "shared_defs/hw_limits.h"

struct fw_nic;

enum {
	FW_RD_AWAKE = 16,  /* fw_config.rd_awake of a NIC; with 0 idle sessions rest at once */
	FW_TCP_AWAKE = 16, /* fw_config.tcp_awake of a NIC; with 0 connections rest at once */
};

struct fw_config {
	char name[16]; /* "weft0" */
	uint8_t mac[6];
	uint8_t ip_prefix; /* bits */
	uint8_t nic_index; /* 0-31: QPNs of a process's NICs differ in it */
	uint8_t shard;     /* 0 answers ARP and ICMP for the NIC */
	uint8_t num_shards;
	uint8_t num_coll_shards; /* the last ones, for collectives alone; query-device reports it */
	uint16_t mtu;            /* largest IPv4 packet, HW_MIN_MTU..HW_MAX_MTU */
	uint32_t ip;             /* network byte order */
	uint32_t gateway;        /* network byte order; 0: only the subnet is reachable */
	uint32_t link_mbps;      /* for query-device */
	uint8_t switch_id;       /* likewise; 0: the NIC is on a wire */
	bool cc_off;             /* RD: no congestion control, the window alone */
	bool bundle;             /* RD: short messages share frames with peers that take them */
	uint32_t rd_awake;  /* sessions of RD that need not rest while they are idle (rd_rest.c) */
	uint32_t tcp_awake; /* connections of TCP, likewise (tcp_rest.c) */
	/*
	 * ESP: packets in flight on a stream, and those of a transmission whose beginning the peer
	 * has not acknowledged. 1..63; 0: the default, 32 and 16.
	 */
	uint8_t esp_burst, esp_initial_burst;
	uint16_t mpa; /* HW_MPA_* (hw_cm.h); 0: HW_MPA_DEFAULT */
	/*
	 * Random, and secret: peers and processes that have it can make chains of
	 * hash tables long. Not zero.
	 */
	uint64_t hash_secret[2];
	/*
	 * Addresses of NICs by nic_index, for peers given by QPN alone (address vector without
	 * GRH): IP in network byte order, 0: unknown.
	 */
	uint32_t nic_ip[32];
	/* Interrupt moderation of each vector at start; all 0: off. */
	struct hw_coalesce coalesce[HW_NUM_VECTORS];
};

/* Sets the addresses of code that an instance holds: fw_ops.adopt. Between turns. */
void fw_adopt(struct fw_nic *nic);

/* Address space that an instance needs; pages of it are committed as they are used. */
size_t fw_arena_bytes(void);

/*
 * Makes an instance in arena (page-aligned, zero-filled, fw_arena_bytes() long). The port
 * table is copied. Returns NULL when the configuration is out of range.
 */
struct fw_nic *fw_init(const struct fw_config *config, const struct fw_port *port, void *arena,
		       size_t arena_bytes);

/* The part of struct fw_config that fw_renew() changes. */
struct fw_net {
	uint16_t mtu;
	uint8_t ip_prefix;
	uint32_t ip;
	uint32_t gateway;
};

/*
 * Makes an instance in arena (as fw_init()) that goes on in place of nic, between two of its turns,
 * with another address or MTU, and with its counters, link and interrupt moderation. The caller
 * attaches the tools again. Returns NULL, with nic as before: something of a process is left, or a
 * value is out of range.
 */
struct fw_nic *fw_renew(struct fw_nic *nic, const struct fw_net *net, void *arena,
			size_t arena_bytes);

/* The NIC of this index has another address (fw_config.nic_ip). Between turns. */
void fw_set_nic_ip(struct fw_nic *nic, uint32_t index, uint32_t ip);

/*
 * One turn: doorbells, received frames, timers, transmission, events. now_ns never goes back.
 * Handles at most about budget frames and requests; a frame of UD, ESP, TCP and groups counts
 * once for each 4 KiB or part (eth_tx_cost()). Below FW_TURN_LONG the turn is short: in one of
 * eight such turns a stage makes one copy of memory that is not mapped, not two (dear.h). Returns
 * the work done; 0: idle.
 */
uint32_t fw_poll(struct fw_nic *nic, uint64_t now_ns, uint32_t budget);

/* Work that fw_poll() counts for a copy of memory that is not mapped (dear.h). */
enum {
	FW_DEAR_COPY_UNITS = 16,  /* each copy, */
	FW_DEAR_UNIT_BYTES = 256, /* and so many of its bytes one more */
};

/* Budgets: fw_pace.h chooses. */
enum {
	FW_TURN_LONG = 32, /* small enough to stay in the cache */
	FW_TURN_SHORT = 8,
};

/* Kinds of work that the last fw_poll() did; fw_did(). */
enum {
	/* In slices (slice.h): */
	FW_DID_FLUSH = 0x01,   /* queue pairs */
	FW_DID_LEAVE = 0x02,   /* objects that processes left */
	FW_DID_COMMAND = 0x04, /* commands that took longer than a turn */
	/*
	 * A lone request: FW_LONE_BYTES at most, the last of its queue, behind less than
	 * FW_LONE_REQUESTS that are not complete.
	 */
	FW_DID_LONE = 0x08,
};
enum {
	FW_LONE_BYTES = 4096,
	FW_LONE_REQUESTS = 4,
};
uint32_t fw_did(const struct fw_nic *nic);

/*
 * Sets the time without a turn: before fw_client_attach(), fw_client_detach(), fw_cmd() and
 * fw_link(), which may set timers. As in fw_poll(), now_ns never goes back.
 */
void fw_now(struct fw_nic *nic, uint64_t now_ns);

/* Returns the time at which fw_poll() must run even without input; UINT64_MAX: never. */
uint64_t fw_next_timer_ns(const struct fw_nic *nic);

/*
 * To sleep: fw_sleep(nic, true) publishes it to every client and then checks the doorbells once
 * more (pair D3). It returns true if the core may sleep. Call fw_sleep(nic, false) after.
 */
bool fw_sleep(struct fw_nic *nic, bool sleep);

/*
 * For a core that sleeps whenever it has no work: ACKs that wait for data to ride on leave with the
 * next turn, since a timer would cost more than they do, and later ones do not wait. Returns true
 * if there are such.
 */
bool fw_hurry(struct fw_nic *nic);

struct fw_client_params {
	void *bar; /* the BAR, mapped, zero-filled */
	uint64_t bar_bytes;
	uint32_t pid; /* clients with one pid and uid are one process; 0: a process of its own */
	uint32_t uid;
	bool tool;   /* no BAR; only queries */
	uint8_t use; /* hw_use, which LIST shows */
	char name[24];
	bool sees_all; /* root: LIST also shows addresses and STags of other users */
	/* Lowest port that it may bind (bind(2), ip_unprivileged_port_start); 0: every port. */
	uint32_t first_port;
	struct hw_share_limits limits;
};

/* Returns the size of one shard's table of a kind; 0: not a kind of the firmware. Pure. */
uint64_t fw_share_max(enum hw_share kind);

/*
 * Admits a process. Writes the BAR's header and makes EQ 0 in it. Returns 0 with *client and resp
 * filled, or a positive errno (EUSERS: too many clients; EDQUOT: of this process or user).
 */
int fw_client_attach(struct fw_nic *nic, const struct fw_client_params *params, uint32_t *client,
		     struct hw_resp_attach *resp);

/* Sets the limits of all processes and users that are attached; those to come bring their own. */
void fw_set_limits(struct fw_nic *nic, const struct hw_share_limits *limits);

/* After EDQUOT: returns the share that was used up. */
struct hw_resp_quota fw_quota(const struct fw_nic *nic);

enum fw_detach_result {
	FW_DETACH_DONE,    /* nothing of the client is left */
	FW_DETACH_PENDING, /* port->detached() will be called, by fw_poll() */
};

/*
 * Detaches a process that has ended or is unwanted. From now on its peers and other processes see
 * none of its objects: its doorbells are ignored, its memory is neither read nor written, no
 * completion and no event is reported. Its QPs are ended (peers get errors) and its objects are
 * freed, in slices if there are many. Until that is done the BAR must stay mapped, mappings come
 * back with mem_unmap(), and the client's number stays reserved; it takes no command.
 */
enum fw_detach_result fw_client_detach(struct fw_nic *nic, uint32_t client);

enum fw_cmd_result {
	FW_CMD_DONE,    /* resp is filled */
	FW_CMD_PENDING, /* port->cmd_done() will be called */
};

/*
 * Accompanies a command: a mapping for REG_MR with HW_REG_F_MAPPED; byte code for GOAL_OP, which
 * nothing changes meanwhile.
 */
struct fw_cmd_aux {
	void *mapping;      /* address of the mapping */
	void *handle;       /* argument of mem_unmap(); NULL: mapping */
	uint64_t map_bytes; /* its length */
	uint64_t offset;    /* of the region's first byte in it, page rounding for example */
	const struct goal_op_insn *code; /* as many as the command names */
	/*
	 * A compiled form of the same code, which takes a struct goal_op_call; NULL: it is
	 * interpreted.
	 */
	uint64_t (*native)(void *call);
	void *native_handle; /* argument of native_free() */
};

/*
 * Carries out one command of a client: all but ATTACH, ALLOC_MEM and CAPTURE. If REG_MR fails the
 * mapping stays the caller's; on success it is the firmware's until mem_unmap.
 */
enum fw_cmd_result fw_cmd(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
			  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp);

/*
 * HW_CMD_COALESCE and HW_CMD_VECTOR without a client, for the owner of the NIC; with cmd->set 0 it
 * only queries. Nothing is set if a value is out of range. Returns 0 or a positive errno.
 */
int fw_coalesce(struct fw_nic *nic, const struct hw_cmd_coalesce *cmd,
		struct hw_resp_coalesce *resp);
int fw_vector(const struct fw_nic *nic, uint32_t vector, struct hw_resp_vector *resp);

/*
 * For tests, between turns: counts queues with unreported completions that no timer, doorbell or
 * handler will ever report. Always 0.
 */
uint32_t fw_lost_interrupts(const struct fw_nic *nic);

/* The link went up or down: sends port events to every client. */
void fw_link(struct fw_nic *nic, bool up);

/* weftd ends: DEVICE_FATAL to every client, nic_state STOPPED. */
void fw_shutdown(struct fw_nic *nic);

/* Stores the name and value of counter i. Returns false past the last. Names are stable. */
bool fw_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value);

/*
 * Trace: when set, fw calls it for each event of shared_defs/trace_events.h in the order
 * of the walk. NULL turns it off.
 */
typedef void (*fw_trace_fn)(void *ctx, uint64_t now_ns, uint32_t event, uint32_t qpn, uint64_t arg0,
			    uint64_t arg1);
void fw_set_trace(struct fw_nic *nic, fw_trace_fn fn, void *ctx);

/* The stages of a turn, in the order of the walk; wire_* and port_* are the port's. */
#define FW_STAGE_NAMES(X)                                                                          \
	X(turn)                                                                                    \
	X(db)                                                                                      \
	X(sched)                                                                                   \
	X(wqe)                                                                                     \
	X(ud_tx)                                                                                   \
	X(rd_tx)                                                                                   \
	X(eth_tx)                                                                                  \
	X(port_tx)                                                                                 \
	X(wire_tx)                                                                                 \
	X(wire_rx)                                                                                 \
	X(port_rx)                                                                                 \
	X(eth_rx)                                                                                  \
	X(dgram)                                                                                   \
	X(ud_rx)                                                                                   \
	X(rd_rx)                                                                                   \
	X(rd_ack)                                                                                  \
	X(ddp_rx)                                                                                  \
	X(rdmap_rx)                                                                                \
	X(cq)                                                                                      \
	X(eq)                                                                                      \
	X(timer)                                                                                   \
	X(goal)                                                                                    \
	X(esp)                                                                                     \
	X(tcp)
enum fw_stage {
	FW_STAGE_TURN, /* time in no other stage */
	FW_STAGE_DB,
	FW_STAGE_SCHED,
	FW_STAGE_WQE,
	FW_STAGE_UD_TX,
	FW_STAGE_RD_TX,
	FW_STAGE_ETH_TX,
	FW_STAGE_PORT_TX,
	FW_STAGE_WIRE_TX,
	FW_STAGE_WIRE_RX,
	FW_STAGE_PORT_RX,
	FW_STAGE_ETH_RX, /* with IPv4 and UDP */
	FW_STAGE_DGRAM,
	FW_STAGE_UD_RX,
	FW_STAGE_RD_RX, /* ACKs that ride on data included */
	FW_STAGE_RD_ACK,
	FW_STAGE_DDP_RX,
	FW_STAGE_RDMAP_RX,
	FW_STAGE_CQ,
	FW_STAGE_EQ,
	FW_STAGE_TIMER,
	FW_STAGE_GOAL, /* the interpreter */
	FW_STAGE_ESP,  /* streams, both ways, and the messages on them */
	FW_STAGE_TCP,  /* both ways, with the protocols that connections carry */
	FW_STAGES
};

/* Counts cycles per stage by this clock from now on; NULL ends it. Between turns only. */
void fw_set_clock(struct fw_nic *nic, uint64_t (*clock)(void));
/* For the port, within its functions: enters a stage, or returns to the previous one. */
uint8_t fw_stage(struct fw_nic *nic, uint8_t stage);

/*
 * The calls on an instance as a table, so that an instance can go from one firmware to another
 * between turns. All of them mean what the functions fw_*() above do.
 */
struct fw_ops {
	/* Takes over an instance of equal layout that another firmware has run until now. */
	void (*adopt)(struct fw_nic *nic);
	uint32_t (*poll)(struct fw_nic *nic, uint64_t now_ns, uint32_t budget);
	uint32_t (*did)(const struct fw_nic *nic);
	void (*now)(struct fw_nic *nic, uint64_t now_ns);
	uint64_t (*next_timer_ns)(const struct fw_nic *nic);
	bool (*sleep)(struct fw_nic *nic, bool sleep);
	bool (*hurry)(struct fw_nic *nic);
	int (*client_attach)(struct fw_nic *nic, const struct fw_client_params *params,
			     uint32_t *client, struct hw_resp_attach *resp);
	struct hw_resp_quota (*quota)(const struct fw_nic *nic);
	enum fw_detach_result (*client_detach)(struct fw_nic *nic, uint32_t client);
	enum fw_cmd_result (*cmd)(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
				  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp);
	int (*coalesce)(struct fw_nic *nic, const struct hw_cmd_coalesce *cmd,
			struct hw_resp_coalesce *resp);
	int (*vector)(const struct fw_nic *nic, uint32_t vector, struct hw_resp_vector *resp);
	void (*set_limits)(struct fw_nic *nic, const struct hw_share_limits *limits);
	void (*link)(struct fw_nic *nic, bool up);
	void (*shutdown)(struct fw_nic *nic);
	bool (*stat)(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value);
	uint8_t (*stage)(struct fw_nic *nic, uint8_t stage);
	struct fw_nic *(*renew)(struct fw_nic *nic, const struct fw_net *net, void *arena,
				size_t arena_bytes);
	void (*set_nic_ip)(struct fw_nic *nic, uint32_t index, uint32_t ip);
};

enum {
	FW_IMAGE_MAGIC = 0x57465431, /* "WFT1": the form of struct fw_image itself */
	FW_IMAGE_VERSION_CHARS = 32,
	/*
	 * The meaning of the state of an instance. It is raised by a change that gives a field a
	 * new meaning and leaves all declarations as they are.
	 */
	FW_STATE_VERSION = 1,
};

/* The entry of a firmware: of the one that is built in, or of an image that weftd loads. */
struct fw_image {
	uint32_t magic;
	uint32_t state_version;
	/* A hash of the declarations of all state, and of fw_port.h: tools/fw_layout.sh. */
	uint64_t layout;
	char version[FW_IMAGE_VERSION_CHARS];
	struct fw_ops ops;
};

extern const struct fw_image weft_firmware;

/* True if an instance of one firmware can go on with the other. Pure. */
static inline bool fw_image_fits(const struct fw_image *image, const struct fw_image *other)
{
	return image->magic == other->magic && image->state_version == other->state_version &&
	       image->layout == other->layout;
}

/*
 * Returns the bits of a TCP port that are the shard's number in each port that the shard draws for
 * a connection (l4_port_bind()), so that one rule for each shard lets a device steer them. Pure.
 */
static inline uint16_t fw_tcp_port_bits(uint32_t num_shards)
{
	return num_shards > 1 ? (uint16_t)((1u << (32 - __builtin_clz(num_shards - 1))) - 1) : 0;
}

/*
 * Returns the shard of a NIC that a frame belongs to, from its bytes: by UDP port for weft's
 * datagrams, by the owner of the port for TCP (cm_ports: fw_port.cm_ports, or NULL), 0 for the
 * rest. Sets *all for frames that every shard receives (ARP replies, multicast). Reads only the
 * first bytes (at most FW_RX_HDR_BYTES). Pure; any core.
 */
uint32_t fw_steer(const uint8_t *frame, uint32_t bytes, uint32_t num_shards,
		  const uint32_t *cm_ports, bool *all);

/* A run of packets in one frame (struct fw_tx_frame). */
struct fw_run {
	uint32_t packets;
	uint32_t segment_bytes; /* payload of each packet but the last */
	uint32_t bytes;         /* of payload in all */
};

/*
 * Turns the headers of a run, from Ethernet's on, into those of packet i, counted from 0.
 * Pure; any core.
 */
void fw_run_hdr(uint8_t *hdr, uint32_t i, const struct fw_run *run);

/*
 * Makes the headers of all packets of a run, at hdrs + i * stride: of the first from Ethernet's on,
 * of the others what follows UDP or TCP. hdr: bytes of headers, as in a frame, up to
 * FW_TX_HDR_BYTES. Pure; any core.
 */
void fw_run_hdrs(const struct fw_run *run, const uint8_t *hdr, uint32_t bytes, uint8_t *hdrs,
		 uint32_t stride);

/*
 * Computes the CRC32C of each packet of a run, as it lies in a frame, into crcs. hdr: bytes of
 * headers, from Ethernet's on, up to FW_TX_HDR_BYTES. piece: the payload, run->bytes in all.
 * crc32c: as in struct fw_port. Pure; any core.
 */
void fw_run_crcs(const struct fw_run *run, const uint8_t *hdr, uint32_t bytes,
		 const struct fw_rx_seg *piece,
		 uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes),
		 struct be32 *crcs);

#endif /* WEFT_FW_H */
