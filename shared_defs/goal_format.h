/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A compiled schedule: libGOAL creates, saves and loads it; the NIC verifies and runs it.
 *
 * 	goal_header | goal_slot[num_slots] | goal_insn[num_ops] | goal_edge[num_edges] |
 * 	goal_piece[num_pieces]
 *
 * The format is position-independent: memory is addressed by (slot, offset), operations by index.
 * Slots are bound to registered memory when the schedule is loaded (hw_goal.h), so a saved schedule
 * runs with other buffers. All values are little-endian and naturally aligned. Each part starts at
 * the offset in the header, a multiple of 8. The code is read-only: a run has counters of its own.
 *
 * host_driver/goal/compile/goal_compile.c creates it, nic_fw/coll/goal_load.c verifies it. The idea
 * is that of ESPGOAL 4.3, figures 4.11 and 4.12; docs/goal-format.md.
 */
#ifndef WEFT_GOAL_FORMAT_H
#define WEFT_GOAL_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GOAL_FORMAT_MAGIC = 0x4c414f47, /* "GOAL" */
	GOAL_FORMAT_VERSION = 1,

	GOAL_FORMAT_MAX_OPS = 1 << 24,
	GOAL_MAX_EDGES = 1 << 26,
	GOAL_MAX_PIECES = 1 << 24,
	GOAL_MAX_SLOTS = 4096,
	GOAL_FORMAT_MAX_RANKS = 65536,
	GOAL_MAX_OP_PIECES = 65535, /* per buffer of an operation */
	GOAL_MAX_CPUS = 256,
};
#define GOAL_MAX_MSG_BYTES     (UINT64_C(1) << 40)
#define GOAL_MAX_SCRATCH_BYTES (UINT64_C(1) << 28)

#define GOAL_RANK_ANY          0xffffffffu
#define GOAL_TAG_ANY           0xffffffffu

struct goal_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t total_bytes;
	uint32_t crc32c; /* in a file: over everything, with this field 0; otherwise 0 */
	uint32_t flags;  /* always 0 */
	uint32_t rank;   /* the rank this schedule is for */
	uint32_t num_ranks;
	uint32_t num_slots;
	uint32_t num_ops;
	uint32_t num_edges;
	uint32_t num_pieces;
	uint32_t num_roots; /* operations without prerequisites */
	uint32_t num_cpus;  /* calc operations of one cpu run one after another; usually 0 or 1 */
	uint64_t slots_offset, ops_offset, edges_offset, pieces_offset;
	uint64_t scratch_bytes;
	/*
	 * Maximum of messages, and their bytes, that may wait for receives not yet started (eager
	 * messages).
	 */
	uint64_t unexpected_bytes;
	uint32_t unexpected_msgs;
	uint32_t reserved;
};
static_assert(sizeof(struct goal_header) == 112, "docs/goal-format.md");
static_assert(offsetof(struct goal_header, slots_offset) == 56, "");
static_assert(offsetof(struct goal_header, scratch_bytes) == 88, "");

/* A buffer that the schedule uses. */
struct goal_slot {
	uint64_t bytes;
	uint32_t access; /* GOAL_SLOT_* */
	uint32_t reserved;
};
static_assert(sizeof(struct goal_slot) == 16, "");
enum {
	GOAL_SLOT_READ = 0x01,
	GOAL_SLOT_WRITE = 0x02,
};

enum goal_insn_kind {
	GOAL_INSN_SEND = 1,
	GOAL_INSN_RECV = 2,
	GOAL_INSN_LOCAL = 3,
	GOAL_INSN_CALC = 4, /* timer: amount nanoseconds on cpu op.sub */
	/* To all ranks of the communicator over its reliable multicast group. */
	GOAL_INSN_MCAST_SEND = 5,
	GOAL_INSN_MCAST_RECV = 6, /* peer: the root */
	GOAL_INSN_NOP = 7,        /* joins dependencies */
	GOAL_INSN_KINDS
};

/*
 * Local operations: result[i] = a[i] op b[i]. Complex numbers have ADD, SUB and MUL; pairs have MAX
 * and MIN, which compare the values, and give the smaller index where they are equal.
 */
enum goal_local {
	GOAL_LOCAL_MAX = 0,
	GOAL_LOCAL_MIN = 1,
	GOAL_LOCAL_ADD = 2,
	GOAL_LOCAL_SUB = 3,
	GOAL_LOCAL_DIV = 4,
	GOAL_LOCAL_MUL = 5,
	GOAL_LOCAL_COPY = 6, /* result = a */
	GOAL_LOCAL_AND = 7,
	GOAL_LOCAL_OR = 8,
	GOAL_LOCAL_XOR = 9,
	GOAL_LOCAL_WTIME = 10, /* result: the NIC's monotonic clock in seconds, as a double */
	/* Truth of integers: 0 or 1. */
	GOAL_LOCAL_LAND = 11,
	GOAL_LOCAL_LOR = 12,
	GOAL_LOCAL_LXOR = 13,
	/* The user's own (goal_op.h). peer: its number on the communicator; tag: its mark */
	GOAL_LOCAL_USER = 14,
	GOAL_LOCALS
};

enum goal_type {
	GOAL_TYPE_SINT = 0,
	GOAL_TYPE_UINT = 1,
	GOAL_TYPE_FLOAT = 2,
	GOAL_TYPE_COMPLEX = 3,   /* two floats: real and imaginary part; width of both: 64, 128 */
	GOAL_TYPE_SINT_PAIR = 4, /* signed value and signed index of equal width; 64, 128 of both */
	GOAL_TYPE_FLOAT_PAIR = 5, /* float and signed index, likewise */
	GOAL_TYPES
};

/*
 * Returns true if a local operation other than the user's own exists for elements of this type and
 * so many bits. A time stamp has no type to check (ESPGOAL 2.2.3).
 */
static inline bool goal_format_has_op(uint32_t op, uint32_t type, uint32_t width)
{
	if (op >= GOAL_LOCAL_USER || type >= GOAL_TYPES)
		return false;
	if (op == GOAL_LOCAL_WTIME)
		return true;
	switch ((enum goal_type)type) {
	case GOAL_TYPE_SINT:
	case GOAL_TYPE_UINT:
		return width == 8 || width == 16 || width == 32 || width == 64;
	case GOAL_TYPE_FLOAT:
		return (width == 32 || width == 64) && op <= GOAL_LOCAL_COPY;
	case GOAL_TYPE_COMPLEX:
		return (width == 64 || width == 128) &&
		       (op == GOAL_LOCAL_ADD || op == GOAL_LOCAL_SUB || op == GOAL_LOCAL_MUL ||
			op == GOAL_LOCAL_COPY);
	case GOAL_TYPE_SINT_PAIR:
	case GOAL_TYPE_FLOAT_PAIR:
		return (width == 64 || width == 128) &&
		       (op == GOAL_LOCAL_MAX || op == GOAL_LOCAL_MIN || op == GOAL_LOCAL_COPY);
	case GOAL_TYPES:
		break;
	}
	return false;
}

/*
 * Reference to memory: slot in the upper 16 bits, byte offset in the lower 48. Two slots are
 * special: the run's scratchpad, and a list of pieces (bits 32-47: their number; low 32 bits: index
 * of the first).
 */
#define GOAL_REF(slot, offset) ((uint64_t)(slot) << 48 | (uint64_t)(offset))
#define GOAL_REF_SLOT(ref)     ((uint32_t)((ref) >> 48))
#define GOAL_REF_OFFSET(ref)   ((ref) & ((UINT64_C(1) << 48) - 1))
#define GOAL_SLOT_SCRATCH      0xfffeu
#define GOAL_SLOT_PIECES       0xffffu
#define GOAL_REF_PIECES(first, count)                                                              \
	((uint64_t)GOAL_SLOT_PIECES << 48 | (uint64_t)(count) << 32 | (uint32_t)(first))
#define GOAL_REF_FIRST(ref) ((uint32_t)(ref))
#define GOAL_REF_COUNT(ref) ((uint32_t)((ref) >> 32) & 0xffffu)

struct goal_insn {
	uint8_t kind;  /* goal_insn_kind */
	uint8_t sub;   /* LOCAL: goal_local; CALC: cpu */
	uint8_t type;  /* LOCAL: goal_type */
	uint8_t width; /* LOCAL: bits per element; USER: bytes */
	uint32_t deps; /* in-degree: number of incoming edges of both kinds */
	/*
	 * Outgoing edges: first those released when this operation starts, then those released when
	 * it finishes.
	 */
	uint32_t first_edge;
	uint32_t num_start_edges;
	uint32_t num_edges; /* edges released at the finish */
	uint32_t peer;      /* SEND, RECV (also GOAL_RANK_ANY); MCAST_*: the root */
	uint32_t tag;       /* RECV: also GOAL_TAG_ANY */
	uint32_t count;  /* index among operations of this kind with equal peer and tag, from 0 */
	uint64_t amount; /* SEND, RECV, MCAST: bytes; LOCAL: elements; CALC: ns */
	uint64_t buf[3]; /* GOAL_REF. SEND, RECV: buf[0]; LOCAL: a, b, result */
};
static_assert(sizeof(struct goal_insn) == 64, "one cache line");
static_assert(offsetof(struct goal_insn, first_edge) == 8, "");
static_assert(offsetof(struct goal_insn, peer) == 20, "");
static_assert(offsetof(struct goal_insn, amount) == 32, "");
static_assert(offsetof(struct goal_insn, buf) == 40, "");

struct goal_edge {
	uint32_t target;
};

struct goal_piece {
	uint64_t ref; /* a slot or the scratchpad, never a list */
	uint64_t bytes;
};
static_assert(sizeof(struct goal_piece) == 16, "");

#endif /* WEFT_GOAL_FORMAT_H */
