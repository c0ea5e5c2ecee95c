/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control channel: commands of a process to its NIC.
 *
 * The channel is a UNIX socket of type SOCK_SEQPACKET, one per NIC (HW_SOCKET_DIR "/weft0"). Each
 * request is one struct hw_cmd (REG_MR: struct hw_cmd_pieces), each answer one struct hw_cmd_resp
 * with the same tag. Answers may arrive out of order. File descriptors are passed as SCM_RIGHTS:
 *
 * 	ATTACH		request: the process's /proc/self/mem if HW_ATTACH_F_MEMORY is set
 * 			answer: BAR memfd, doorbell eventfd (wakes weftd), EQ 0's eventfd
 * 	CREATE_EQ	answer: the EQ's eventfd
 * 	ALLOC_MEM	answer: a memfd of fixed size, created by weftd
 * 	OPEN_XRCD	request: the file that names the domain if HW_XRCD_F_FILE is set
 *
 * ATTACH is the first command. START follows when the process has mapped the BAR; tools need no
 * START. weftd itself answers these two, ALLOC_MEM, FREE_MEM, CAPTURE, CHANGE and UPGRADE. It
 * passes all others to the firmware (nic_fw/host/cmd*.c) on the core of the client's shard. Status:
 * 0 or a positive errno. EDQUOT: a share of the process or its user is exhausted; hw_resp_quota
 * names it. All objects of a process belong to its shard and are destroyed with the socket.
 * Attributes of queue pairs are in hw_qp_attr.h. Little-endian; docs/host-interface.md, "Commands".
 */
#ifndef WEFT_HW_CMD_H
#define WEFT_HW_CMD_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_change.h"
#include "shared_defs/hw_cm.h"
#include "shared_defs/hw_coalesce.h"
#include "shared_defs/hw_goal.h"
#include "shared_defs/hw_qp_attr.h"
#include "shared_defs/hw_ring.h"
#include "shared_defs/hw_share.h"
#include "shared_defs/hw_tag.h"
#include "shared_defs/hw_upgrade.h"

#define HW_SOCKET_DIR "/run/weft" /* overridden by WEFT_RUN_DIR in the environment */

enum {
	HW_CMD_VERSION = 3,
};

enum hw_cmd_op {
	HW_CMD_ATTACH = 1,
	HW_CMD_QUERY_DEVICE = 2,
	HW_CMD_ALLOC_PD = 3,
	HW_CMD_DEALLOC_PD = 4,
	HW_CMD_REG_MR = 5,
	HW_CMD_DEREG_MR = 6,
	HW_CMD_CREATE_EQ = 7,
	HW_CMD_DESTROY_EQ = 8,
	HW_CMD_CREATE_CQ = 9,
	HW_CMD_DESTROY_CQ = 10,
	HW_CMD_RESIZE_CQ = 11,
	HW_CMD_MODIFY_CQ = 12,
	HW_CMD_CREATE_SRQ = 13,
	HW_CMD_DESTROY_SRQ = 14,
	HW_CMD_MODIFY_SRQ = 15,
	HW_CMD_QUERY_SRQ = 16,
	HW_CMD_CREATE_QP = 17,
	HW_CMD_DESTROY_QP = 18,
	HW_CMD_MODIFY_QP = 19,
	HW_CMD_QUERY_QP = 20,
	HW_CMD_CREATE_AH = 21,
	HW_CMD_DESTROY_AH = 22,
	HW_CMD_ALLOC_MEM = 23,
	HW_CMD_STATS = 24, /* for tools: counters, by index */
	HW_CMD_LIST = 25,  /* for tools: objects of every client, by cursor */
	HW_CMD_ALLOC_MW = 26,
	HW_CMD_DEALLOC_MW = 27,
	HW_CMD_CAPTURE = 28,   /* for tools of root: the answer carries a pipe with pcapng data */
	HW_CMD_GOAL_OPEN = 29, /* collectives: hw_goal.h */
	HW_CMD_GOAL_COMM_CREATE = 30,
	HW_CMD_GOAL_COMM_DESTROY = 31,
	HW_CMD_GOAL_POOL = 32,
	HW_CMD_GOAL_LOAD = 33,
	HW_CMD_GOAL_UNLOAD = 34,
	HW_CMD_GOAL_CANCEL = 35,
	HW_CMD_ATTACH_MCAST = 36, /* attach UD QPs to IPv4 groups */
	HW_CMD_DETACH_MCAST = 37,
	HW_CMD_MODIFY_MR = 38,
	HW_CMD_CHANGE = 39,    /* for tools of root: hw_change.h */
	HW_CMD_CM_CREATE = 40, /* connections: hw_cm.h */
	HW_CMD_CM_DESTROY = 41,
	HW_CMD_CM_BIND = 42,
	HW_CMD_CM_LISTEN = 43,
	HW_CMD_CM_RESOLVE = 44,
	HW_CMD_CM_DATA = 45,
	HW_CMD_CM_CONNECT = 46,
	HW_CMD_CM_ACCEPT = 47,
	HW_CMD_CM_REJECT = 48,
	HW_CMD_CM_DISCONNECT = 49,
	HW_CMD_CM_MOVE = 50,
	HW_CMD_CM_EVENT = 51,
	HW_CMD_CM_REST = 52,
	HW_CMD_OPEN_XRCD = 53,
	HW_CMD_CLOSE_XRCD = 54,
	HW_CMD_OPEN_QP = 55,  /* open an XRC_RECV QP that another process created */
	HW_CMD_COALESCE = 56, /* interrupt moderation: hw_coalesce.h */
	HW_CMD_VECTOR = 57,
	HW_CMD_START = 58,    /* the BAR is mapped: no further mapping of it is possible */
	HW_CMD_FREE_MEM = 59, /* release memory of ALLOC_MEM */
	HW_CMD_TAG_OPEN = 60, /* tagged endpoints: hw_tag.h */
	HW_CMD_TAG_QUERY = 61,
	HW_CMD_GOAL_OP = 62,     /* a user's operation: hw_goal.h; packet: hw_cmd_pieces */
	HW_CMD_UPGRADE = 63,     /* for tools of root: hw_upgrade.h */
	HW_CMD_ALLOC_RINGS = 64, /* room in the BAR for rings of QPs with HW_QP_F_LENT */
	HW_CMD_OPS
};

struct hw_cmd_attach {
	uint32_t version; /* HW_CMD_VERSION */
	uint32_t flags;   /* HW_ATTACH_F_* */
	char name[24];    /* for weftctl: program name, NUL-terminated */
};
enum {
	HW_ATTACH_F_TOOL = 0x01, /* no BAR: only STATS, LIST, CAPTURE, QUERY_DEVICE */
	/* For collectives: use a shard reserved for them, if there is one. */
	HW_ATTACH_F_COLL = 0x02,
	/* Use the shard in bits 8 to 10; ENXIO if the NIC has no such shard. */
	HW_ATTACH_F_SHARD = 0x04,
	/*
	 * A descriptor is attached: the process's /proc/self/mem, open for reading and writing, for
	 * access to unmapped memory. EPERM: it is another file. Not for tools.
	 */
	HW_ATTACH_F_MEMORY = 0x08,
	HW_ATTACH_SHARD_SHIFT = 8,
	HW_ATTACH_SHARD_MASK = 0x700,
	/* The interface that the process uses, enum hw_use: for weftctl. */
	HW_ATTACH_USE_SHIFT = 12,
	HW_ATTACH_USE_MASK = 0x7000,
	HW_ATTACH_F_ALL = HW_ATTACH_F_TOOL | HW_ATTACH_F_COLL | HW_ATTACH_F_SHARD |
			  HW_ATTACH_F_MEMORY | HW_ATTACH_SHARD_MASK | HW_ATTACH_USE_MASK,
};
enum hw_use {
	HW_USE_LIBWEFT = 0,
	HW_USE_VERBS = 1,
	HW_USE_SOCKETS = 2,
	HW_USE_LIBFABRIC = 3,
	HW_USE_GOAL = 4,
};
/* hw_list_item.type of a client: a tool, and above it its hw_use */
enum {
	HW_CLIENT_TOOL = 0x01,
	HW_CLIENT_USE_SHIFT = 8,
};
static_assert(sizeof(struct hw_cmd_attach) == 32, "");

struct hw_cmd_reg_mr {
	uint64_t addr;
	uint64_t bytes;
	uint64_t iova;       /* address used in requests; usually equal to addr */
	uint32_t num_pieces; /* HW_REG_F_MAPPED: 1 to HW_MEM_PIECES_MAX, otherwise 0 */
	uint32_t reserved0;
	uint32_t pd;
	uint32_t access;
	uint32_t flags; /* HW_REG_F_* */
	uint32_t reserved;
};
enum {
	HW_REG_F_MAPPED = 0x01, /* memory of ALLOC_MEM; otherwise through ATTACH's descriptor */
	HW_MEM_PIECES_MAX = 128,
};

/*
 * A piece of memory from ALLOC_MEM. The pieces of a region have consecutive addresses. All but the
 * first begin, and all but the last end, at a page boundary (HW_BAR_PAGE_BYTES).
 */
struct hw_mem_piece {
	uint64_t key;    /* hw_resp_alloc_mem.key */
	uint64_t offset; /* within the memfd */
	uint64_t bytes;
};
static_assert(sizeof(struct hw_mem_piece) == 24, "");

struct hw_cmd_create_eq {
	uint32_t vector;
	uint32_t entries;
};

struct hw_cmd_create_cq {
	uint32_t entries;
	uint32_t eq; /* HW_EQ_NONE: the CQ is never armed */
	/* Bits 8 to 15: vector + 1 for an event queue without CQs; 0: its own vector. */
	uint32_t flags;
};
#define HW_EQ_NONE 0xffffffffu
enum {
	HW_CQ_VECTOR_SHIFT = 8,
	HW_CQ_VECTOR_MASK = 0xff00,
};

struct hw_cmd_cq {
	uint32_t cq;
	uint32_t entries; /* RESIZE */
	uint32_t count;   /* MODIFY: moderation */
	uint32_t period_us;
};

struct hw_cmd_srq {
	uint32_t srq;
	uint32_t pd;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	uint32_t mask;  /* MODIFY: 1 max_wr (rejected), 2 limit */
	uint32_t flags; /* CREATE: HW_SRQ_F_* */
	uint32_t xrcd;  /* CREATE, HW_SRQ_F_XRC: the domain whose QPs may use its receives */
	uint32_t cq;    /* likewise: CQ of its receives */
};
enum {
	HW_SRQ_F_XRC = 0x01,
	HW_SRQ_F_ALL = HW_SRQ_F_XRC,
};

/* Opens an XRC domain (IBA annex A14). Processes that open the same file share the domain. */
struct hw_cmd_open_xrcd {
	uint32_t flags; /* HW_XRCD_F_* */
	uint32_t reserved;
	/* HW_XRCD_F_FILE: the file's identity, set by weftd from the descriptor. */
	uint64_t file_dev;
	uint64_t file_ino;
};
static_assert(sizeof(struct hw_cmd_open_xrcd) == 24, "");
enum {
	HW_XRCD_F_FILE = 0x01,   /* a descriptor is attached; otherwise the domain is private */
	HW_XRCD_F_CREATE = 0x02, /* create the domain if the file has none; without it: EAGAIN */
	HW_XRCD_F_EXCL = 0x04,   /* fail if the file already has a domain: EINVAL */
	HW_XRCD_F_ALL = HW_XRCD_F_FILE | HW_XRCD_F_CREATE | HW_XRCD_F_EXCL,
};

struct hw_cmd_open_qp {
	uint32_t xrcd;
	uint32_t qpn;
};

struct hw_cmd_create_qp {
	uint32_t pd;
	uint32_t type; /* hw_qp_type */
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t srq;      /* or HW_SRQ_NONE */
	uint32_t sq_slots; /* a power of two; computed by the host with hw_sq_slots() */
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
	uint32_t flags; /* HW_QP_F_* */
	/* XRC_RECV; such a QP has no PD, CQ, queue or record: all other fields are 0. */
	uint32_t xrcd;
};
#define HW_SRQ_NONE 0xffffffffu

struct hw_cmd_modify_qp {
	uint32_t qpn;
	uint32_t mask; /* HW_QP_* */
	struct hw_qp_attr attr;
};

struct hw_cmd_create_ah {
	uint32_t pd;
	struct hw_av av;
};

/* ATTACH_MCAST, DETACH_MCAST. gid: IPv4-mapped address of the group. */
struct hw_cmd_mcast {
	uint32_t qpn;
	uint32_t flags; /* always 0 */
	uint8_t gid[16];
};
static_assert(sizeof(struct hw_cmd_mcast) == 24, "");

/* MODIFY_MR: the region keeps its memory, addresses and STag. */
struct hw_cmd_modify_mr {
	uint32_t stag;
	uint32_t pd;
	uint32_t access; /* HW_ACCESS_*; ZERO_BASED must not change */
	uint32_t reserved;
};
static_assert(sizeof(struct hw_cmd_modify_mr) == 16, "");

struct hw_cmd_alloc_mw {
	uint32_t pd;
	uint32_t type; /* 1 or 2 */
};

enum hw_list_kind {
	HW_LIST_CLIENTS = 0,
	HW_LIST_QPS = 1,
	HW_LIST_MRS = 2,
	HW_LIST_CQS = 3,
	HW_LIST_NEIGHBOURS = 4,
	HW_LIST_PEERS = 5,
	HW_LIST_GROUPS = 6,
	HW_LIST_SHARES = 7, /* shares of each user and process in the shard's tables */
	HW_LIST_USERS = 8,  /* shares of each user and process in the whole weftd; shard 0 */
	HW_LIST_COLLS = 9,  /* clients with collectives of an MPI library, and their counts */
	HW_LIST_KINDS
};

struct hw_cmd_list {
	uint32_t kind;   /* hw_list_kind */
	uint32_t cursor; /* initially 0, then the value of the last answer */
	uint32_t shard;
};

struct hw_cmd_handle {
	uint32_t handle; /* number of a PD, MR, EQ, SRQ, QP, AH or MW */
	uint32_t cursor; /* STATS: first counter of the answer */
	uint32_t shard;  /* STATS */
};

/*
 * The memfd has the length bytes + slack_bytes. Slack allows mappings to grow later; weftd keeps no
 * mapping of it.
 */
struct hw_cmd_alloc_mem {
	uint64_t bytes;
	uint64_t slack_bytes;
};

struct hw_cmd_free_mem {
	uint64_t key;
};

struct hw_cmd {
	uint32_t op; /* hw_cmd_op */
	uint32_t tag;
	uint64_t reserved;
	union {
		struct hw_cmd_attach attach;
		struct hw_cmd_reg_mr reg_mr;
		struct hw_cmd_create_eq create_eq;
		struct hw_cmd_create_cq create_cq;
		struct hw_cmd_cq cq;
		struct hw_cmd_srq srq;
		struct hw_cmd_create_qp create_qp;
		struct hw_cmd_alloc_rings alloc_rings;
		struct hw_cmd_modify_qp modify_qp;
		struct hw_cmd_create_ah create_ah;
		struct hw_cmd_modify_mr modify_mr;
		struct hw_cmd_alloc_mw alloc_mw;
		struct hw_cmd_mcast mcast;
		struct hw_cmd_open_xrcd open_xrcd;
		struct hw_cmd_open_qp open_qp;
		struct hw_cmd_list list;
		struct hw_cmd_handle obj;
		struct hw_cmd_alloc_mem alloc_mem;
		struct hw_cmd_free_mem free_mem;
		struct hw_cmd_cm cm;
		struct hw_cmd_cm_data cm_data;
		struct hw_cmd_goal_open goal_open;
		struct hw_cmd_goal_comm goal_comm;
		struct hw_cmd_goal_load goal_load;
		struct hw_cmd_goal_op goal_op;
		struct hw_cmd_coalesce coalesce;
		struct hw_cmd_tag_open tag_open;
		struct hw_cmd_change change;
		struct hw_cmd_upgrade upgrade;
		uint8_t bytes[112];
	} u;
};
static_assert(sizeof(struct hw_cmd) == 128, "");
static_assert(offsetof(struct hw_cmd, u) == 16, "");

/*
 * REG_MR with HW_REG_F_MAPPED: num_pieces pieces follow the command. GOAL_OP: num_insns
 * instructions follow.
 */
struct hw_cmd_pieces {
	struct hw_cmd cmd;
	union {
		struct hw_mem_piece piece[HW_MEM_PIECES_MAX];
		struct goal_op_insn insn[GOAL_OP_MAX_INSNS];
	};
};
static_assert(sizeof(struct hw_cmd_pieces) == 128 + 1024 * 8, "");

/* Returns the packet length of a command; 0: too many pieces or instructions. */
static inline size_t hw_cmd_bytes(const struct hw_cmd *cmd)
{
	if (cmd->op == HW_CMD_GOAL_OP)
		return cmd->u.goal_op.num_insns > GOAL_OP_MAX_INSNS
			   ? 0
			   : sizeof(*cmd) + cmd->u.goal_op.num_insns * sizeof(struct goal_op_insn);
	if (cmd->op != HW_CMD_REG_MR || !(cmd->u.reg_mr.flags & HW_REG_F_MAPPED))
		return sizeof(*cmd);
	if (cmd->u.reg_mr.num_pieces > HW_MEM_PIECES_MAX)
		return 0;
	return sizeof(*cmd) + cmd->u.reg_mr.num_pieces * sizeof(struct hw_mem_piece);
}

/* ATTACH: bar_bytes only, nothing for tools; START: all fields. */
enum {
	HW_DOORBELLS_MAX = 8
};
/* ATTACH: bar_bytes, doorbells (with BAR, doorbell 0, EQ 0, other doorbells); START: the rest. */
struct hw_resp_attach {
	uint64_t bar_bytes;
	uint32_t client;
	uint32_t shard;
	uint32_t num_shards;
	uint32_t eq0_offset_pages; /* BAR page of EQ 0's record, which its ring follows */
	uint32_t eq0_entries;
	uint32_t num_doorbells;
	uint16_t doorbell_cpu[HW_DOORBELLS_MAX]; /* whose processes should ring it */
};

/* Answer to QUERY_DEVICE: identity, state and all limits. */
struct hw_resp_device {
	char name[16];
	uint8_t mac[6];
	uint8_t link_up;
	uint8_t ip_prefix;
	uint32_t ip;  /* network byte order */
	uint32_t mtu; /* of the IP packet, bytes */
	uint32_t max_qp, max_cq, max_srq, max_mr, max_pd, max_ah, max_mw;
	uint32_t max_wr, max_cqe, max_sge, max_inline_bytes;
	uint32_t max_rd_atomic;
	uint32_t max_ud_payload_bytes; /* limit of one frame */
	uint32_t max_ud_long_bytes;    /* with HW_QP_F_UD_LONG */
	uint32_t num_vectors;
	uint32_t max_peers;
	uint32_t shard;
	uint32_t num_shards;
	uint64_t max_msg_bytes;
	uint64_t max_mr_bytes;
	uint64_t node_guid; /* EUI-64 of the MAC, network byte order */
	uint32_t link_mbps;
	uint32_t num_coll_shards; /* shards reserved for collectives: the last ones of num_shards */
	uint32_t max_mcast_grp;
	uint32_t max_mcast_qp_attach;       /* QPs per group */
	uint32_t max_total_mcast_qp_attach; /* QPs in all groups */
	uint8_t switch_id; /* random, the same for NICs of one built-in switch; 0: on a wire */
	uint8_t reserved[3];
};
static_assert(sizeof(struct hw_resp_device) == 152, "");

struct hw_resp_create_eq {
	uint32_t eq;
	uint32_t entries;
	uint64_t record_offset; /* within the BAR */
	uint64_t ring_offset;
};

struct hw_resp_create_cq {
	uint32_t cq;
	uint32_t entries; /* a power of two */
	uint64_t record_offset;
	uint64_t ring_offset;
	uint32_t prod; /* RESIZE: index of the next entry; indices continue, cons is unchanged */
	uint32_t reserved;
};

struct hw_resp_srq {
	uint32_t srq;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	uint64_t record_offset;
	uint64_t ring_offset;
	uint32_t entries; /* slots of the ring, a power of two */
	uint32_t stride_bytes;
	uint32_t srqn; /* XRC: nonzero number by which peers' requests name it; otherwise 0 */
	uint32_t reserved;
};

struct hw_resp_create_qp {
	uint32_t qpn;
	uint32_t sq_slots;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
	uint32_t rq_entries; /* a power of two; 0 if the QP has an SRQ */
	uint32_t rq_stride_bytes;
	uint32_t reserved;
	uint64_t record_offset;
	uint64_t sq_offset; /* 0 with HW_QP_F_LENT, and so the next one */
	uint64_t rq_offset;
};

struct hw_resp_query_qp {
	struct hw_qp_attr attr;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_bytes;
	uint32_t type;
};

struct hw_resp_mr {
	uint32_t stag;   /* lkey and rkey */
	uint32_t mapped; /* 1: the NIC has mapped it; 0: accessed by system calls */
};

struct hw_resp_alloc_mem {
	uint64_t key; /* unguessable identifier for REG_MR and FREE_MEM */
};

/* One counter, with its name as in ethtool -S. */
struct hw_stat {
	char name[40];
	uint64_t value;
};
enum {
	HW_STATS_PER_RESP = 9,
};
struct hw_resp_stats {
	uint32_t count; /* number of entries in stat; 0: end */
	uint32_t next;  /* cursor for the next call */
	struct hw_stat stat[HW_STATS_PER_RESP];
};

/* One object of a list; the meaning of a field depends on the kind (docs/host-interface.md). */
struct hw_list_item {
	uint32_t id; /* QPN, STag, CQ, client number; neighbour and peer: IP, network order */
	uint32_t client;
	/*
	 * QP: hw_qp_state; neighbour: 0 incomplete 1 reachable; peer: rd state; client, colls: uid;
	 * share: hw_share
	 */
	uint32_t state;
	/* QP: hw_qp_type; MR: access; peer: shard; share: hw_share_of; client: HW_CLIENT_* */
	uint32_t type;
	/*
	 * MR: addr, bytes; QP: dst_qpn, bytes sent; client: pid, objects; share: held, limit;
	 * colls: calls and bytes on the NIC. For a share, id is the uid and client the pid; pid 0:
	 * the user's total. For colls, client is the pid.
	 */
	uint64_t a, b;
	uint8_t mac[6];
	uint16_t forged; /* client: hw_bar_header.forged, at most 65535 */
	union {
		char name[24];    /* client: program; MR: "mapped", "process_vm" */
		uint64_t more[2]; /* colls: what the MPI library did; peer: packet bytes */
	};
};
static_assert(sizeof(struct hw_list_item) == 64, "");
enum {
	HW_LIST_PER_RESP = 6,
};
struct hw_resp_list {
	uint32_t count; /* 0: end */
	uint32_t next;
	struct hw_list_item item[HW_LIST_PER_RESP];
};

/* With status EDQUOT: the exhausted share. */
struct hw_resp_quota {
	uint32_t kind; /* hw_share */
	uint32_t of;   /* hw_share_of */
	uint64_t limit;
};

struct hw_cmd_resp {
	uint32_t op;
	uint32_t tag;
	int32_t status; /* 0, or a positive errno */
	uint32_t reserved;
	union {
		struct hw_resp_attach attach;
		struct hw_resp_device device;
		struct hw_resp_create_eq create_eq;
		struct hw_resp_create_cq create_cq;
		struct hw_resp_srq srq;
		struct hw_resp_create_qp create_qp;
		struct hw_resp_rings rings;
		struct hw_resp_query_qp query_qp;
		struct hw_resp_mr mr;
		struct hw_resp_alloc_mem alloc_mem;
		struct hw_resp_stats stats;
		struct hw_resp_list list;
		struct hw_resp_cm_event cm_event;
		struct hw_resp_cm_rest cm_rest;
		struct hw_resp_goal_open goal_open;
		struct hw_resp_goal_load goal_load;
		struct hw_resp_goal_op goal_op;
		struct hw_resp_coalesce coalesce;
		struct hw_resp_vector vector;
		struct hw_resp_tag_query tag_query;
		struct hw_resp_quota quota;
		struct hw_resp_change change;
		struct hw_resp_upgrade upgrade;
		uint32_t handle; /* PD, AH, MW (its rkey), communicator, XRC domain */
		struct hw_qp_attr qp_attr;
		uint8_t bytes[496];
	} u;
};
static_assert(sizeof(struct hw_cmd_resp) == 512, "");
static_assert(offsetof(struct hw_cmd_resp, u) == 16, "");

#endif /* WEFT_HW_CMD_H */
