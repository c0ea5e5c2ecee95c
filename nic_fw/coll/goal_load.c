/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a schedule: copies it once, then verifies it, so that the interpreter can trust it.
 *
 * Calls mem.c for the copy and goal_localop.c for the legal operations. After the copy the client's
 * memory is not read again. The checks are those that ESPGOAL's interpreter lacks (there cycles,
 * peers and offsets end in a crash). The order is Kahn's algorithm. Each message's count is
 * compared with a count made here. docs/goal-format.md.
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

/* A slot of the hash that counts messages of equal key. */
struct goal_key {
	uint32_t peer, tag;
	uint32_t next; /* number of the next one; 0: the slot is free */
	uint32_t kind;
};

static bool goal_load_fail(struct goal_load *load, int status, uint32_t op, const char *why)
{
	load->phase = GOAL_LOAD_FAILED;
	load->status = status;
	load->fault.op = op;
	load->fault.why = why;
	return false;
}

static bool bad(struct goal_load *load, const char *why)
{
	return goal_load_fail(load, FW_EINVAL, (uint32_t)load->at, why);
}

/* Checks one part of the schedule: aligned, inside, behind the header. */
static bool part_fits(const struct goal_header *h, uint64_t offset, uint64_t count, uint64_t bytes)
{
	return offset % 8 == 0 && offset >= h->header_bytes && offset <= h->total_bytes &&
	       count * bytes <= h->total_bytes - offset;
}

static const char *goal_load_check_header(const struct goal_header *h, uint32_t rank,
					  uint32_t num_ranks)
{
	if (h->magic != GOAL_FORMAT_MAGIC)
		return "this is no compiled schedule";
	if (h->version != GOAL_FORMAT_VERSION || h->header_bytes != sizeof(*h))
		return "the schedule was compiled for another version of weft";
	if (h->flags || h->reserved)
		return "reserved fields of the header are set";
	if (h->rank != rank || h->num_ranks != num_ranks)
		return "the schedule is for another rank or another number of ranks";
	if (!h->num_ops || h->num_ops > GOAL_FORMAT_MAX_OPS || h->num_edges > GOAL_MAX_EDGES ||
	    h->num_pieces > GOAL_MAX_PIECES || h->num_slots > GOAL_MAX_SLOTS ||
	    h->scratch_bytes > GOAL_MAX_SCRATCH_BYTES || h->num_cpus > GOAL_MAX_CPUS)
		return "the schedule exceeds a limit (operations, edges, pieces, slots, "
		       "scratchpad)";
	if (!part_fits(h, h->slots_offset, h->num_slots, sizeof(struct goal_slot)) ||
	    !part_fits(h, h->ops_offset, h->num_ops, sizeof(struct goal_insn)) ||
	    !part_fits(h, h->edges_offset, h->num_edges, sizeof(struct goal_edge)) ||
	    !part_fits(h, h->pieces_offset, h->num_pieces, sizeof(struct goal_piece)))
		return "a part of the schedule lies outside of it";
	if (!h->num_roots || h->num_roots > h->num_ops)
		return "no operation of the schedule can start";
	return NULL;
}

static void free_load(struct fw_nic *nic, struct goal_load *load)
{
	uint32_t client = load->schedule->client;

	goal_heap_free(nic, client, load->degree);
	goal_heap_free(nic, client, load->order);
	goal_heap_free(nic, client, load->keys);
	load->degree = load->order = NULL;
	load->keys = NULL;
}

void goal_schedule_free(struct fw_nic *nic, struct goal_schedule *schedule)
{
	goal_heap_free(nic, schedule->client, schedule->code);
	goal_heap_free(nic, schedule->client, schedule->roots);
	goal_heap_free(nic, schedule->client, schedule->deps);
	goal_heap_free(nic, schedule->client, schedule->peers);
	goal_heap_free(nic, schedule->client, schedule->neighbours);
	goal_heap_free(nic, schedule->client, schedule->binds);
	goal_heap_free(nic, schedule->client, schedule->idle_run);
	schedule->code = NULL;
	schedule->roots = NULL;
	schedule->deps = NULL;
	schedule->peers = NULL;
	schedule->neighbours = NULL;
	schedule->binds = NULL;
	schedule->idle_run = NULL;
}

void goal_load_cancel(struct fw_nic *nic, struct goal_load *load)
{
	free_load(nic, load);
	goal_schedule_free(nic, load->schedule);
}

bool goal_load_begin(struct fw_nic *nic, struct goal_load *load, struct goal_schedule *schedule,
		     const struct goal_header *header, uint32_t rank, uint32_t num_ranks)
{
	const char *why = goal_load_check_header(header, rank, num_ranks);
	uint64_t keys = why ? 1 : fw_pow2_at_least(2 * header->num_ops);
	uint64_t peers_bytes = ((uint64_t)num_ranks + 63) / 64 * sizeof(uint64_t);

	memset(load, 0, sizeof(*load));
	load->schedule = schedule;
	load->rank = rank;
	load->num_ranks = num_ranks;
	load->bytes = header->total_bytes;
	schedule->header = *header;
	schedule->code = NULL;
	schedule->roots = NULL;
	schedule->deps = NULL;
	schedule->peers = NULL;
	schedule->neighbours = NULL;
	schedule->idle_run = NULL;
	schedule->unbound = false;
	schedule->wildcards = false;
	schedule->groups = false;
	if (why)
		return goal_load_fail(load, FW_EINVAL, UINT32_MAX, why);
	load->key_mask = (uint32_t)keys - 1;
	schedule->code = goal_heap_alloc(nic, schedule->client, header->total_bytes);
	schedule->roots =
	    goal_heap_alloc(nic, schedule->client, (uint64_t)header->num_roots * sizeof(uint32_t));
	schedule->deps =
	    goal_heap_alloc(nic, schedule->client, (uint64_t)header->num_ops * sizeof(uint32_t));
	schedule->peers = goal_heap_alloc(nic, schedule->client, peers_bytes);
	schedule->neighbours = goal_heap_alloc(nic, schedule->client, peers_bytes);
	load->degree =
	    goal_heap_alloc(nic, schedule->client, (uint64_t)header->num_ops * sizeof(uint32_t));
	load->order =
	    goal_heap_alloc(nic, schedule->client, (uint64_t)header->num_ops * sizeof(uint32_t));
	load->keys = goal_heap_alloc(nic, schedule->client, keys * sizeof(*load->keys));
	if (!schedule->code || !schedule->roots || !schedule->deps || !schedule->peers ||
	    !schedule->neighbours || !load->degree || !load->order || !load->keys) {
		goal_load_cancel(nic, load);
		return goal_load_fail(load, FW_ENOSPC, UINT32_MAX,
				      "the process's share of the NIC's memory is used up");
	}
	schedule->slots = (const void *)(schedule->code + header->slots_offset);
	schedule->ops = (const void *)(schedule->code + header->ops_offset);
	schedule->edges = (const void *)(schedule->code + header->edges_offset);
	schedule->pieces = (const void *)(schedule->code + header->pieces_offset);
	memset(load->degree, 0, (size_t)header->num_ops * sizeof(uint32_t));
	memset(load->keys, 0, keys * sizeof(*load->keys));
	memset(schedule->peers, 0, peers_bytes);
	memset(schedule->neighbours, 0, peers_bytes);
	load->phase = GOAL_LOAD_COPY;
	return true;
}

/* Checks a reference to one stretch of memory. */
static bool ref_fits(const struct goal_schedule *s, uint64_t ref, uint64_t bytes)
{
	uint64_t offset = GOAL_REF_OFFSET(ref);
	uint32_t slot = GOAL_REF_SLOT(ref);
	uint64_t room;

	if (slot == GOAL_SLOT_SCRATCH)
		room = s->header.scratch_bytes;
	else if (slot < s->header.num_slots)
		room = s->slots[slot].bytes;
	else
		return false;
	return offset <= room && bytes <= room - offset;
}

/*
 * Checks a buffer of so many bytes, in one piece or in several that hold whole elements
 * (walk_pieces()).
 */
static bool buffer_fits(const struct goal_load *load, const struct goal_insn *op, uint32_t buf,
			uint64_t bytes)
{
	if (GOAL_REF_SLOT(op->buf[buf]) != GOAL_SLOT_PIECES)
		return ref_fits(load->schedule, op->buf[buf], bytes);
	return !load->walk_bad[buf] && load->walk_sum[buf] == bytes;
}

/*
 * Returns the bytes of an element of the operation's buffers; illegal operations are found later.
 */
static uint32_t elem_bytes_of(const struct goal_insn *op)
{
	if (op->kind != GOAL_INSN_LOCAL)
		return 1;
	if (op->sub == GOAL_LOCAL_WTIME)
		return sizeof(double);
	if (op->sub == GOAL_LOCAL_USER)
		return op->width ? op->width : 1;
	return op->width / 8u ? op->width / 8u : 1;
}

static bool piece_fits(const struct goal_schedule *s, const struct goal_piece *piece,
		       uint32_t elem_bytes)
{
	return GOAL_REF_SLOT(piece->ref) != GOAL_SLOT_PIECES && !(piece->bytes % elem_bytes) &&
	       piece->bytes <= GOAL_MAX_MSG_BYTES && ref_fits(s, piece->ref, piece->bytes);
}

/*
 * Checks the lists of pieces of the operation at load->at, up to *budget pieces. True: all are
 * checked. Many operations may share a long list, and each checks it.
 */
static bool walk_pieces(struct goal_load *load, const struct goal_insn *op, uint32_t *budget)
{
	const struct goal_schedule *s = load->schedule;
	uint32_t elem_bytes = elem_bytes_of(op);

	for (; load->walk_buf < 3; load->walk_buf++, load->walk_at = 0) {
		uint64_t ref = op->buf[load->walk_buf];
		uint32_t first = GOAL_REF_FIRST(ref), count = GOAL_REF_COUNT(ref);

		if (!load->walk_at) {
			load->walk_sum[load->walk_buf] = 0;
			load->walk_bad[load->walk_buf] = false;
		}
		if (GOAL_REF_SLOT(ref) != GOAL_SLOT_PIECES)
			continue;
		if (first > s->header.num_pieces || count > s->header.num_pieces - first) {
			load->walk_bad[load->walk_buf] = true;
			continue;
		}
		for (; load->walk_at < count && !load->walk_bad[load->walk_buf]; load->walk_at++) {
			const struct goal_piece *piece = &s->pieces[first + load->walk_at];

			if (!*budget)
				return false;
			--*budget;
			load->walk_sum[load->walk_buf] += piece->bytes;
			load->walk_bad[load->walk_buf] = !piece_fits(s, piece, elem_bytes);
		}
	}
	load->walk_buf = 0;
	return true;
}

static const char *check_message(const struct goal_load *load, const struct goal_insn *op)
{
	struct goal_schedule *s = load->schedule;
	bool recv = op->kind == GOAL_INSN_RECV;

	if (op->amount > GOAL_MAX_MSG_BYTES)
		return "a message is too long";
	if (op->peer >= load->num_ranks && !(recv && op->peer == GOAL_RANK_ANY))
		return "a peer is not a rank of the communicator";
	if (op->tag == GOAL_TAG_ANY && !recv)
		return "a send without a tag";
	if (!buffer_fits(load, op, 0, op->amount))
		return "a buffer lies outside of its slot or of the scratchpad";
	if (recv && (op->peer == GOAL_RANK_ANY || op->tag == GOAL_TAG_ANY))
		s->wildcards = true;
	if (op->peer < load->num_ranks)
		s->peers[op->peer / 64] |= UINT64_C(1) << op->peer % 64;
	else
		memset(s->peers, 0xff, ((size_t)load->num_ranks + 63) / 64 * sizeof(uint64_t));
	return NULL;
}

/*
 * Neighbours in the tree below the root are notified of a failure, and notify this rank of theirs.
 */
static void note_neighbour(struct goal_schedule *s, uint32_t rank)
{
	s->peers[rank / 64] |= UINT64_C(1) << rank % 64;
	s->neighbours[rank / 64] |= UINT64_C(1) << rank % 64;
}

static const char *check_multicast(const struct goal_load *load, const struct goal_insn *op)
{
	uint32_t children[MGRP_MAX_CHILDREN], count, i;
	struct goal_schedule *s = load->schedule;

	if (op->amount > GOAL_MAX_MSG_BYTES)
		return "a multicast is too long";
	if (op->peer >= load->num_ranks)
		return "the root of a multicast is not a rank of the communicator";
	if ((op->peer == load->rank) != (op->kind == GOAL_INSN_MCAST_SEND))
		return "a multicast is sent by its root and received by the others";
	if (op->tag == GOAL_TAG_ANY)
		return "a multicast without a tag";
	if (!buffer_fits(load, op, 0, op->amount))
		return "a buffer lies outside of its slot or of the scratchpad";
	s->groups = true;
	if (op->peer != load->rank)
		note_neighbour(s, mgrp_parent(load->num_ranks, op->peer, load->rank));
	count = mgrp_children(load->num_ranks, op->peer, load->rank, children);
	for (i = 0; i < count; i++)
		note_neighbour(s, children[i]);
	return NULL;
}

static const char *check_local(const struct goal_load *load, const struct goal_insn *op)
{
	const char *why = NULL;
	uint64_t bytes;

	if (op->sub == GOAL_LOCAL_USER)
		why = goal_op_check_use(load->schedule->user_ops, op);
	else if (!goal_format_has_op(op->sub, op->type, op->width))
		why = "no such local operation on elements of this type and width";
	if (why)
		return why;
	if (op->amount > GOAL_MAX_MSG_BYTES / 8)
		return "a local operation is too long";
	if (op->sub == GOAL_LOCAL_WTIME && op->amount != 1)
		return "a time stamp is one element";
	bytes = op->amount * elem_bytes_of(op);
	if (!buffer_fits(load, op, 2, bytes) ||
	    (op->sub != GOAL_LOCAL_WTIME && !buffer_fits(load, op, 0, bytes)) ||
	    (op->sub != GOAL_LOCAL_WTIME && op->sub != GOAL_LOCAL_COPY &&
	     !buffer_fits(load, op, 1, bytes)))
		return "a buffer of a local operation lies outside of its slot or of the "
		       "scratchpad, or cuts an element";
	return NULL;
}

static bool check_op(struct goal_load *load, const struct goal_insn *op)
{
	const struct goal_header *h = &load->schedule->header;
	const char *why = NULL;
	uint64_t edges;

	/* Lists follow each other, so that each edge belongs to one operation. */
	edges = (uint64_t)op->num_start_edges + op->num_edges;
	if (op->first_edge != load->next_edge || edges > h->num_edges - load->next_edge)
		return bad(load, "an operation's list of dependents is not behind the one before");
	load->next_edge += (uint32_t)edges;
	switch (op->kind) {
	case GOAL_INSN_SEND:
	case GOAL_INSN_RECV:
		why = check_message(load, op);
		break;
	case GOAL_INSN_MCAST_SEND:
	case GOAL_INSN_MCAST_RECV:
		why = check_multicast(load, op);
		break;
	case GOAL_INSN_LOCAL:
		why = check_local(load, op);
		break;
	case GOAL_INSN_CALC:
		if (op->sub && op->sub >= h->num_cpus)
			why = "a calc names a cpu that the header does not count";
		break;
	case GOAL_INSN_NOP:
		break;
	default:
		why = "an operation of unknown kind";
		break;
	}
	return why ? bad(load, why) : true;
}

static bool step_copy(struct fw_nic *nic, struct goal_load *load, const struct fw_mem *source)
{
	uint32_t most = source->ptr ? GOAL_LOAD_COPY_BYTES : FW_DEAR_COPY_BYTES;
	uint64_t left = load->bytes - load->at;
	uint32_t bytes = left < most ? (uint32_t)left : most;

	if (!mem_read(nic, source, load->at, load->schedule->code + load->at, bytes))
		return nic->host.mem_busy || goal_load_fail(load, FW_EFAULT, UINT32_MAX,
							    "the schedule's memory is not there");
	load->at += bytes;
	if (load->at < load->bytes)
		return true;
	/*
	 * The client may have changed the header since it was checked, so the checked copy replaces
	 * it.
	 */
	memcpy(load->schedule->code, &load->schedule->header, sizeof(struct goal_header));
	load->phase = GOAL_LOAD_OPS;
	load->at = 0;
	return true;
}

/* Enters the next phase once all items of this one are done. */
static bool goal_load_next_phase(struct goal_load *load, uint64_t items, enum goal_load_phase next)
{
	if (load->at < items)
		return true;
	load->phase = next;
	load->at = 0;
	return true;
}

static uint64_t quantum_end(const struct goal_load *load, uint64_t items)
{
	return load->at + GOAL_LOAD_QUANTUM < items ? load->at + GOAL_LOAD_QUANTUM : items;
}

static bool step_ops(struct goal_load *load)
{
	uint64_t end = load->schedule->header.num_ops;
	uint32_t budget = GOAL_LOAD_QUANTUM;

	for (; load->at < end && budget; load->at++, budget -= budget ? 1 : 0) {
		const struct goal_insn *op = &load->schedule->ops[load->at];

		if (!walk_pieces(load, op, &budget))
			return true;
		if (!check_op(load, op))
			return false;
	}
	if (load->at == load->schedule->header.num_ops &&
	    load->next_edge != load->schedule->header.num_edges)
		return goal_load_fail(load, FW_EINVAL, UINT32_MAX,
				      "some edges belong to no operation");
	return goal_load_next_phase(load, load->schedule->header.num_ops, GOAL_LOAD_EDGES);
}

static bool step_edges(struct goal_load *load)
{
	const struct goal_schedule *s = load->schedule;
	uint64_t end = quantum_end(load, s->header.num_edges);

	for (; load->at < end; load->at++) {
		uint32_t target = s->edges[load->at].target;

		if (target >= s->header.num_ops)
			return goal_load_fail(load, FW_EINVAL, UINT32_MAX,
					      "a dependent is not an operation of the schedule");
		load->degree[target]++;
	}
	return goal_load_next_phase(load, s->header.num_edges, GOAL_LOAD_ROOTS);
}

static bool step_roots(struct goal_load *load)
{
	struct goal_schedule *s = load->schedule;
	uint64_t end = quantum_end(load, s->header.num_ops);

	for (; load->at < end; load->at++) {
		s->deps[load->at] = load->degree[load->at];
		if (s->ops[load->at].deps != load->degree[load->at])
			return bad(load, "an operation's counter is not the number of edges to it");
		if (load->degree[load->at])
			continue;
		if (load->tail == s->header.num_roots)
			return bad(load, "more operations can start than the header says");
		s->roots[load->tail] = (uint32_t)load->at;
		load->order[load->tail++] = (uint32_t)load->at;
	}
	if (load->at == s->header.num_ops && load->tail != s->header.num_roots)
		return goal_load_fail(load, FW_EINVAL, UINT32_MAX,
				      "fewer operations can start than the header says");
	return goal_load_next_phase(load, s->header.num_ops, GOAL_LOAD_ORDER);
}

/* Follows each edge once: an operation with very many edges takes several steps. */
static bool step_order(struct goal_load *load)
{
	const struct goal_schedule *s = load->schedule;
	uint32_t budget = GOAL_LOAD_QUANTUM;

	while (load->head < load->tail && budget) {
		const struct goal_insn *op = &s->ops[load->order[load->head]];
		uint32_t edges = op->num_start_edges + op->num_edges;

		for (; load->at < edges && budget; load->at++, budget--) {
			uint32_t target = s->edges[op->first_edge + load->at].target;

			if (--load->degree[target] == 0)
				load->order[load->tail++] = target;
		}
		if (load->at < edges)
			return true;
		load->at = 0;
		load->head++;
		budget -= budget ? 1 : 0;
	}
	if (load->head < load->tail)
		return true;
	if (load->tail != s->header.num_ops)
		return goal_load_fail(load, FW_EINVAL, UINT32_MAX,
				      "operations wait for each other in a circle");
	load->phase = GOAL_LOAD_COUNTS;
	load->at = 0;
	return true;
}

static uint32_t next_count(const struct fw_nic *nic, struct goal_load *load,
			   const struct goal_insn *op)
{
	/* Places are taken one after another, so that distinct keys must be spread well, too. */
	uint32_t i =
	    load->key_mask & (uint32_t)fw_siphash(nic->config.hash_secret,
						  (uint64_t)op->peer << 32 | op->tag, op->kind, 0);
	struct goal_key *key = &load->keys[i];

	while (key->next &&
	       (key->peer != op->peer || key->tag != op->tag || key->kind != op->kind)) {
		i = (i + 1) & load->key_mask;
		key = &load->keys[i];
	}
	key->peer = op->peer;
	key->tag = op->tag;
	key->kind = op->kind;
	return key->next++;
}

static bool is_message(const struct goal_insn *op)
{
	return op->kind == GOAL_INSN_SEND || op->kind == GOAL_INSN_RECV ||
	       op->kind == GOAL_INSN_MCAST_SEND || op->kind == GOAL_INSN_MCAST_RECV;
}

static bool step_counts(const struct fw_nic *nic, struct goal_load *load)
{
	const struct goal_schedule *s = load->schedule;
	uint64_t end = quantum_end(load, s->header.num_ops);

	for (; load->at < end; load->at++) {
		const struct goal_insn *op = &s->ops[load->at];

		if (is_message(op) && op->count != next_count(nic, load, op))
			return bad(load, "a message is not numbered in the order of the schedule");
	}
	return goal_load_next_phase(load, s->header.num_ops, GOAL_LOAD_DONE);
}

bool goal_load_step(struct fw_nic *nic, struct goal_load *load, const struct fw_mem *source)
{
	bool ok = false;

	switch (load->phase) {
	case GOAL_LOAD_COPY:
		ok = step_copy(nic, load, source);
		break;
	case GOAL_LOAD_OPS:
		ok = step_ops(load);
		break;
	case GOAL_LOAD_EDGES:
		ok = step_edges(load);
		break;
	case GOAL_LOAD_ROOTS:
		ok = step_roots(load);
		break;
	case GOAL_LOAD_ORDER:
		ok = step_order(load);
		break;
	case GOAL_LOAD_COUNTS:
		ok = step_counts(nic, load);
		break;
	case GOAL_LOAD_DONE:
	case GOAL_LOAD_FAILED:
		assert(false);
		break;
	}
	if (ok && load->phase != GOAL_LOAD_DONE)
		return false;
	if (ok)
		free_load(nic, load);
	else
		goal_load_cancel(nic, load);
	return true;
}
