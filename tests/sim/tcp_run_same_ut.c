/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of segments of RC over TCP in one frame does what its segments do one by one: the same
 * counters at both NICs, the same connection, memory and completions. Each row of the tables
 * changes one run, or what it meets. The window to the peer is looked at for each frame, so it may
 * be another part of the largest. run_same.c plays them, run_desk.c changes and cuts runs.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/sim/rc_tcp_fix.h"
#include "tests/sim/run_same.h"
#include "tests/ut.h"

enum {
	TCP_AT = DESK_UDP_AT,
	TS_AT = TCP_AT + sizeof(struct wire_tcp) + 4,
	MPA_AT = TCP_AT + sizeof(struct wire_tcp) + WIRE_TCP_TS_PADDED_BYTES,
	DDP_AT = MPA_AT + sizeof(struct wire_mpa_fpdu),
	EVEN_BYTES = 125000, /* the last segment is short, and a part of its run */
};

static void open_tcp(struct pair *p)
{
	static const struct pair_attr attr = {.borrow = true,
					      .mtu = RUN_SAME_MTU,
					      .wrap_soon = true,
					      .a = {.type = WEFT_QPT_RC, .inactive = true},
					      .same = true};

	rc_tcp_open(p, 1, &attr);
	rc_tcp_warm(p);
}

static void open_without_crc(struct pair *p)
{
	rc_tcp.options = HW_MPA_GIVEN;
	open_tcp(p);
}

static void close_tcp(struct pair *p)
{
	rc_tcp_close(p);
	rc_tcp.options = 0;
}

static void note_connection(struct pair *p, struct sim_nic *receiver,
			    uint32_t state[RUN_SAME_STATE])
{
	struct fw_nic *fw = sim_nic_fw(receiver, 0);
	const struct sim_end *end = receiver == p->na ? &p->a : &p->b;
	const struct fw_qp *qp = qp_find_live(fw, end->qp->qpn);
	const struct tcp_flow *flow;

	if (!qp || !qp->mpa || !qp->mpa->flow)
		return;
	flow = qp->mpa->flow;
	state[0] = flow->rcv_nxt - flow->irs;
	state[1] = flow->rcv_up - flow->irs;
	state[2] = flow->rcv_high - flow->irs;
	state[3] = flow->last_ack - flow->irs;
	state[4] = flow->snd_wl1 - flow->irs;
	state[5] = flow->snd_una - flow->iss;
	state[6] = flow->snd_wnd;
	state[7] = flow->ts_recent;
	state[8] = qp->mpa->rx_bytes;
	state[9] = qp->mpa->rx_write_bytes;
}

static const struct run_way tcp = {
    .bytes = EVEN_BYTES,
    .open = open_tcp,
    .close = close_tcp,
    .note = note_connection,
    .stream = true,
};
static const struct run_way padded = {
    .bytes = RUN_SAME_BYTES,
    .open = open_tcp,
    .close = close_tcp,
    .note = note_connection,
    .stream = true,
};
static const struct run_way without_crc = {
    .bytes = EVEN_BYTES,
    .open = open_without_crc,
    .close = close_tcp,
    .note = note_connection,
    .stream = true,
};

static struct wire_tcp *tcp_of(struct desk_item *item)
{
	return (void *)(item->hdr + TCP_AT);
}

static void move(struct be32 *number, int32_t by)
{
	*number = be32_put(be32_get(*number) + (uint32_t)by);
}

static void other_peer_port(struct desk_item *item)
{
	item->hdr[TCP_AT + 1] ^= 0x10;
}

static void a_byte_early(struct desk_item *item)
{
	move(&tcp_of(item)->seq, -1);
}

static void ahead(struct desk_item *item)
{
	move(&tcp_of(item)->seq, 4000);
}

static void beyond_the_window(struct desk_item *item)
{
	move(&tcp_of(item)->seq, 1 << 21);
}

static void ack_of_nothing(struct desk_item *item)
{
	move(&tcp_of(item)->ack, 1000);
}

static void old_ack(struct desk_item *item)
{
	move(&tcp_of(item)->ack, -1);
}

static void no_ack(struct desk_item *item)
{
	tcp_of(item)->flags &= (uint8_t)~WIRE_TCP_ACK;
}

static void with_push(struct desk_item *item)
{
	tcp_of(item)->flags ^= WIRE_TCP_PSH;
}

static void with_urgent(struct desk_item *item)
{
	tcp_of(item)->flags |= WIRE_TCP_URG;
}

static void with_ece(struct desk_item *item)
{
	tcp_of(item)->flags |= WIRE_TCP_ECE;
}

static void with_cwr(struct desk_item *item)
{
	tcp_of(item)->flags |= WIRE_TCP_CWR;
}

static void with_syn(struct desk_item *item)
{
	tcp_of(item)->flags |= WIRE_TCP_SYN;
}

static void small_window(struct desk_item *item)
{
	tcp_of(item)->window = be16_put(100);
}

static void old_timestamp(struct desk_item *item)
{
	move((struct be32 *)(void *)(item->hdr + TS_AT), -100000);
}

static void no_timestamp(struct desk_item *item)
{
	memset(item->hdr + TS_AT - 4, WIRE_TCP_OPT_NOP, WIRE_TCP_TS_PADDED_BYTES);
}

static void other_length(struct desk_item *item)
{
	item->hdr[MPA_AT + 1] ^= 0x8;
}

static void other_version(struct desk_item *item)
{
	item->hdr[DDP_AT] ^= 0x02;
}

static void other_opcode(struct desk_item *item)
{
	item->hdr[DDP_AT + 1] ^= WIRE_RDMAP_WRITE ^ WIRE_RDMAP_READ_RESPONSE;
}

static void invalidates(struct desk_item *item)
{
	item->hdr[DDP_AT + 1] ^= WIRE_RDMAP_SEND ^ WIRE_RDMAP_SEND_INVALIDATE;
	item->hdr[DDP_AT] |= WIRE_DDP_LAST;
}

static void other_stag(struct desk_item *item)
{
	item->hdr[DDP_AT + 4] ^= 0x10;
}

static void other_place(struct desk_item *item)
{
	item->hdr[DDP_AT + 6] ^= 0x10;
}

static void last_early(struct desk_item *item)
{
	item->hdr[DDP_AT] |= WIRE_DDP_LAST;
}

static void other_msn(struct desk_item *item)
{
	item->hdr[DDP_AT + 13] ^= 0x2;
}

static void other_mo(struct desk_item *item)
{
	item->hdr[DDP_AT + 17] ^= 0x4;
}

#define WRITE .opcode = WEFT_WR_WRITE
#define IMM   .opcode = WEFT_WR_WRITE_IMM
#define SEND  .opcode = WEFT_WR_SEND
#define READ  .opcode = WEFT_WR_READ

static const struct desk_row nothing[] = {
    {"Write", WRITE},
    {"Write with immediate", IMM},
    {"Send", SEND},
    {"Read", READ},
};

static const struct desk_row wrong_crcs[] = {
    {"first wrong", WRITE, .bad = 0x1, .status = WEFT_WC_REM_OP_ERR},
    {"second wrong", SEND, .bad = 0x2, .status = WEFT_WC_REM_OP_ERR},
    {"two wrong", IMM, .bad = 0x60},
    {"last wrong", WRITE, .bad = 0x8000},
    {"most of a response wrong", READ, .bad = 0x7ffe, .status = WEFT_WC_WR_FLUSH_ERR},
    {"all wrong", WRITE, .bad = 0xffff, .status = WEFT_WC_REM_OP_ERR},
};

static const struct desk_row ignored_crcs[] = {
    {"wrong without CRC", WRITE, .bad = 0x3},
    {"Send without CRC", SEND},
    {"response without CRC", READ},
};

static const struct desk_row orders[] = {
    {"twice", WRITE, .twice = true},       {"twice, Send", SEND, .twice = true},
    {"late", WRITE, .late = true},         {"late Send", SEND, .late = true},
    {"late response", READ, .late = true}, {"lost", WRITE, .lost = true},
    {"lost Send", SEND, .lost = true},
};

static const struct desk_row headers[] = {
    {"MAC", WRITE, .change = desk_other_mac},
    {"IP address", WRITE, .change = desk_other_target},
    {"fragment", WRITE, .change = desk_fragment},
    {"congestion", WRITE, .change = desk_congested},
    {"port", WRITE, .change = desk_other_port},
    {"peer's port", SEND, .change = other_peer_port},
    {"a byte early", WRITE, .change = a_byte_early},
    {"ahead", WRITE, .change = ahead},
    {"beyond the window", SEND, .change = beyond_the_window},
    {"ACK of what was not sent", WRITE, .change = ack_of_nothing},
    {"old ACK", WRITE, .change = old_ack},
    {"no ACK", SEND, .change = no_ack},
    {"PSH", WRITE, .change = with_push},
    {"URG", WRITE, .change = with_urgent},
    {"ECE", WRITE, .change = with_ece},
    {"CWR", WRITE, .change = with_cwr},
    {"SYN", WRITE, .change = with_syn},
    {"small window", READ, .change = small_window},
    {"old timestamp", WRITE, .change = old_timestamp},
    {"no timestamp", WRITE, .change = no_timestamp},
    {"length", WRITE, .change = other_length, .status = WEFT_WC_REM_OP_ERR},
    {"DDP's version", SEND, .change = other_version, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"opcode", WRITE, .change = other_opcode, .status = WEFT_WC_WR_FLUSH_ERR},
    {"STag", WRITE, .change = other_stag, .status = WEFT_WC_WR_FLUSH_ERR},
    {"offset", WRITE, .change = other_place, .status = WEFT_WC_WR_FLUSH_ERR},
    {"response to another STag", READ, .change = other_stag, .status = WEFT_WC_WR_FLUSH_ERR},
    {"response to another offset", READ, .change = other_place, .status = WEFT_WC_WR_FLUSH_ERR},
    {"last before the end", SEND, .change = last_early, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"Write's last before its end", WRITE, .change = last_early},
    {"response's last before its end", READ, .change = last_early, .status = WEFT_WC_BAD_RESP_ERR},
    {"MSN", SEND, .change = other_msn, .status = WEFT_WC_WR_FLUSH_ERR},
    {"MO", SEND, .change = other_mo, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"invalidation", SEND, .change = invalidates, .status = WEFT_WC_WR_FLUSH_ERR},
};

static const struct desk_row places[] = {
    {"no receive", SEND, .before = run_same_no_receive, .status = WEFT_WC_RNR_RETRY_EXC_ERR},
    {"short receive", SEND, .before = run_same_short_receive, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"short memory", WRITE, .before = run_same_short_memory, .status = WEFT_WC_REM_ACCESS_ERR},
    {"memory that is gone", SEND, .before = run_same_memory_gone, .status = WEFT_WC_REM_OP_ERR},
};

#define COMPARE(way, rows) run_same(way, rows, sizeof(rows) / sizeof((rows)[0]))

static void as_they_are(void)
{
	COMPARE(&tcp, nothing);
	COMPARE(&padded, nothing);
	COMPARE(&without_crc, ignored_crcs);
}

static void with_wrong_crcs(void)
{
	COMPARE(&tcp, wrong_crcs);
}

static void out_of_order(void)
{
	COMPARE(&tcp, orders);
}

static void with_other_headers(void)
{
	COMPARE(&tcp, headers);
}

static void with_no_place(void)
{
	COMPARE(&tcp, places);
}

UT_MAIN("sim/tcp_run_same", UT(as_they_are), UT(with_wrong_crcs), UT(out_of_order),
	UT(with_other_headers), UT(with_no_place))
