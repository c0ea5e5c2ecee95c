/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that arrived out of order, or that the layer above had no room for.
 *
 * Calls the layer above's receive() with bytes that are next. They are kept in chunks of a pool, at
 * most TCP_MAX_FLOW_CHUNKS for each connection, and a part of all for each station; without a free
 * chunk the bytes count as not received. No two chunks overlap: bytes that arrive a second time are
 * skipped. A peer may send single bytes with gaps between them, in any order, so no segment walks
 * over the chunks: a short table has the ranges without gaps, and what would begin another one when
 * it is full counts as not received. RFC 9293 3.10.7.4, RFC 2018 4 (choice of blocks), RFC 2883.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

static struct tcp_chunk *chunk_of(struct fw_list *node)
{
	return FW_CONTAINER(node, struct tcp_chunk, node);
}

static uint32_t chunk_end(const struct tcp_chunk *chunk)
{
	return chunk->seq + chunk->bytes;
}

static void tcp_ooo_put(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_chunk *chunk)
{
	fw_list_del(&chunk->node);
	flow->early_chunks--;
	station_give(nic, (uint8_t)chunk->station, STATION_EARLY);
	fw_pool_put(&nic->tcp.chunks, chunk);
}

/* A chunk behind prev; NULL: the connection, or its station, has its share. */
static struct tcp_chunk *tcp_ooo_get(struct fw_nic *nic, struct tcp_flow *flow,
				     struct fw_list *prev)
{
	struct tcp_chunk *chunk;

	if (flow->early_chunks >= TCP_MAX_FLOW_CHUNKS ||
	    !station_may(nic, flow->station, STATION_EARLY, nic->tcp.chunks.max))
		return NULL;
	chunk = fw_pool_get(&nic->tcp.chunks);
	if (!chunk)
		return NULL;
	flow->early_chunks++;
	chunk->station = flow->station;
	station_take(nic, flow->station, STATION_EARLY);
	fw_list_add_head(prev, &chunk->node);
	return chunk;
}

/* Stores bytes that no chunk holds, behind prev (which may absorb them). Returns how many. */
static uint32_t tcp_ooo_store(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_chunk **prev,
			      struct eth_cursor *cursor, uint32_t seq, uint32_t bytes,
			      uint32_t flags)
{
	struct tcp_chunk *chunk = *prev;
	uint32_t done = 0;

	while (done < bytes) {
		uint32_t n;

		if (!chunk || chunk_end(chunk) != seq + done || chunk->flags != flags ||
		    chunk->bytes == TCP_CHUNK_DATA) {
			chunk = tcp_ooo_get(nic, flow, chunk ? &chunk->node : &flow->early);
			if (!chunk)
				break;
			chunk->seq = seq + done;
			chunk->bytes = 0;
			chunk->flags = flags;
			*prev = chunk;
		}
		n = tcp_min(bytes - done, TCP_CHUNK_DATA - chunk->bytes);
		eth_cursor_copy(cursor, chunk->data + chunk->bytes, n);
		chunk->bytes += n;
		done += n;
	}
	return done;
}

/* Returns how many ranges begin at or before seq. */
static uint32_t ranges_before(const struct tcp_flow *flow, uint32_t seq)
{
	uint32_t low = 0, high = flow->num_ranges;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (seq_lt(seq, flow->aside->range[mid].from))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void range_insert(struct tcp_flow *flow, uint32_t i, const struct tcp_range *range)
{
	memmove(&flow->aside->range[i + 1], &flow->aside->range[i],
		(flow->num_ranges - i) * sizeof(flow->aside->range[0]));
	flow->aside->range[i] = *range;
	flow->num_ranges++;
}

static void range_remove(struct tcp_flow *flow, uint32_t i)
{
	flow->num_ranges--;
	memmove(&flow->aside->range[i], &flow->aside->range[i + 1],
		(flow->num_ranges - i) * sizeof(flow->aside->range[0]));
}

/*
 * Stores bytes of a gap; i ranges begin before them, and the last of these may end there. Returns
 * how many.
 */
static uint32_t range_store(struct fw_nic *nic, struct tcp_flow *flow, uint32_t i,
			    struct eth_cursor *cursor, uint32_t seq, uint32_t bytes, uint32_t flags)
{
	bool extends = i && flow->aside->range[i - 1].to == seq;
	struct tcp_range range = {seq, seq, i ? flow->aside->range[i - 1].last : NULL};
	uint32_t n;

	if (!extends && flow->num_ranges == TCP_RANGES)
		return 0;
	n = tcp_ooo_store(nic, flow, &range.last, cursor, seq, bytes, flags);
	if (!n)
		return 0;
	range.to = seq + n;
	if (extends) {
		i--;
		range.from = flow->aside->range[i].from;
		flow->aside->range[i] = range;
	} else {
		range_insert(flow, i, &range);
	}
	/* It may have filled the gap before the next one. */
	if (i + 1 < flow->num_ranges && flow->aside->range[i + 1].from == range.to) {
		flow->aside->range[i].to = flow->aside->range[i + 1].to;
		flow->aside->range[i].last = flow->aside->range[i + 1].last;
		range_remove(flow, i + 1);
	}
	return n;
}

/* Moves the last block to the front, merged with the blocks that it touches. RFC 2018 4 */
void tcp_early_note(struct tcp_flow *flow, uint32_t from, uint32_t to)
{
	struct tcp_block block = {from, to};
	uint32_t i, kept = 0;

	for (i = 0; i < flow->num_blocks; i++) {
		struct tcp_block old = flow->aside->block[i];

		if (seq_leq(old.from, block.to) && seq_leq(block.from, old.to)) {
			if (seq_lt(old.from, block.from))
				block.from = old.from;
			if (seq_lt(block.to, old.to))
				block.to = old.to;
			continue;
		}
		flow->aside->block[kept++] = old;
	}
	if (kept == TCP_SACK_BLOCKS)
		kept--;
	memmove(&flow->aside->block[1], &flow->aside->block[0],
		kept * sizeof(flow->aside->block[0]));
	flow->aside->block[0] = block;
	flow->num_blocks = kept + 1;
}

static void forget_blocks(struct tcp_flow *flow)
{
	uint32_t i, kept = 0;

	for (i = 0; i < flow->num_blocks; i++)
		if (seq_lt(flow->rcv_nxt, flow->aside->block[i].from))
			flow->aside->block[kept++] = flow->aside->block[i];
	flow->num_blocks = kept;
}

uint32_t tcp_early_blocks(const struct tcp_flow *flow, struct tcp_block *blocks, uint32_t max)
{
	uint32_t i, n = 0;

	if (flow->dsack.from != flow->dsack.to)
		blocks[n++] = flow->dsack;
	for (i = 0; i < flow->num_blocks && n < max; i++)
		blocks[n++] = flow->aside->block[i];
	return n;
}

void tcp_early_keep(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in,
		    uint32_t seq, uint32_t offset, uint32_t bytes)
{
	uint32_t flags = in->frame->flags & FW_RX_CRC_OK, end = seq + bytes, stored = 0;
	uint32_t first = seq;
	struct eth_cursor cursor;

	if (nic->tcp.ops[flow->user]->early && seq != flow->rcv_up) {
		nic->tcp.ops[flow->user]->early(nic, flow, in->frame, offset, bytes,
						seq - flow->rcv_up);
		if (flow->state == TCP_CLOSED)
			return;
	}
	eth_cursor_init(&cursor, in->frame, offset, bytes);
	while (seq_lt(seq, end)) {
		uint32_t i = ranges_before(flow, seq), stop = end, n;

		if (i && seq_lt(seq, flow->aside->range[i - 1].to)) {
			/* These bytes are stored already. */
			n = tcp_min(flow->aside->range[i - 1].to - seq, end - seq);
			eth_cursor_init(&cursor, in->frame, offset + n, end - seq - n);
			offset += n;
			seq += n;
			continue;
		}
		if (i < flow->num_ranges && seq_lt(flow->aside->range[i].from, stop))
			stop = flow->aside->range[i].from;
		n = range_store(nic, flow, i, &cursor, seq, stop - seq, flags);
		stored += n;
		offset += n;
		seq += n;
		if (seq != stop) {
			FW_COUNT(nic, tcp_early_full);
			break;
		}
	}
	if (first != seq)
		tcp_early_note(flow, first, seq);
	if (!stored && first != seq) {
		FW_COUNT(nic, tcp_rx_duplicates);
		flow->dsack = (struct tcp_block){first, seq};
	}
}

/*
 * Frees chunks of bytes that were handed up, from here or in the frame of a segment that covered
 * them.
 */
static void put_taken(struct fw_nic *nic, struct tcp_flow *flow)
{
	while (flow->num_ranges && !seq_lt(flow->rcv_up, flow->aside->range[0].to))
		range_remove(flow, 0);
	while (!fw_list_empty(&flow->early)) {
		struct tcp_chunk *chunk = chunk_of(flow->early.next);

		if (seq_lt(flow->rcv_up, chunk_end(chunk)))
			return;
		tcp_ooo_put(nic, flow, chunk);
	}
}

/* Hands up as many consecutive chunks as fit into a frame; true when all was taken. */
static bool hand_up(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_chunk *chunk = chunk_of(flow->early.next);
	struct fw_rx_frame frame = {.flags = chunk->flags};
	uint32_t at = flow->rcv_up - chunk->seq, taken;
	struct fw_list *pos;

	for (pos = &chunk->node; pos != &flow->early && frame.num_seg < FW_RX_SEGS_MAX;
	     pos = pos->next) {
		struct tcp_chunk *c = chunk_of(pos);

		if (c->flags != frame.flags || c->seq != chunk->seq + frame.bytes)
			break;
		frame.seg[frame.num_seg++] = (struct fw_rx_seg){c->data, c->bytes};
		frame.bytes += c->bytes;
	}
	taken = nic->tcp.ops[flow->user]->receive(nic, flow, &frame, at, frame.bytes - at);
	if (flow->state == TCP_CLOSED)
		return false;
	assert(taken <= frame.bytes - at);
	flow->rcv_up += taken;
	put_taken(nic, flow);
	return taken == frame.bytes - at;
}

void tcp_early_deliver(struct fw_nic *nic, struct tcp_flow *flow)
{
	const struct tcp_range *range = &flow->aside->range[0];

	put_taken(nic, flow);
	if (flow->num_ranges && !seq_lt(flow->rcv_nxt, range->from) &&
	    seq_lt(flow->rcv_nxt, range->to))
		flow->rcv_nxt = range->to;
	forget_blocks(flow);
	while (!(flow->flags & TCP_F_STALLED) && flow->rcv_up != flow->rcv_nxt) {
		if (!hand_up(nic, flow)) {
			if (flow->state == TCP_CLOSED)
				return;
			flow->flags |= TCP_F_STALLED;
		}
	}
}

void tcp_early_drop(struct fw_nic *nic, struct tcp_flow *flow)
{
	while (!fw_list_empty(&flow->early))
		tcp_ooo_put(nic, flow, chunk_of(flow->early.next));
	flow->num_ranges = 0;
	flow->num_blocks = 0;
}
