/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of RD packets in one frame does what its packets do one by one: the same counters at both
 * NICs, the same session, the same memory and completions. Each row of the tables changes one run,
 * or what it meets, once with runs left whole and once with all of them cut into their packets.
 * Credits are granted for each frame, so sessions may have more or fewer of them.
 * run_same.c plays them, run_desk.c changes and cuts runs.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/sim/run_same.h"
#include "tests/ut.h"

enum {
	DGRAM_AT = DESK_UDP_AT + sizeof(struct wire_udp),
	RD_AT = DGRAM_AT + sizeof(struct wire_dgram),
	DDP_AT = RD_AT + sizeof(struct wire_rd),
};

static void open_rd(struct pair *p)
{
	static const struct pair_attr attr = {.borrow = true, .mtu = RUN_SAME_MTU};

	pair_open(p, 1, &attr);
}

static void note_session(struct pair *p, struct sim_nic *receiver, uint32_t state[RUN_SAME_STATE])
{
	struct sim_nic *peer = receiver == p->nb ? p->na : p->nb;
	const struct rd_session *s = rd_session_find(sim_nic_fw(receiver, 0), sim_nic_ip(peer), 0);

	if (!s)
		return;
	state[0] = s->rx_psn;
	state[1] = s->rx_high;
	state[2] = s->rx_taken;
	state[3] = s->rx_used;
}

static const struct run_way rd = {
    .bytes = RUN_SAME_BYTES, /* the last packet is short */
    .open = open_rd,
    .close = pair_close,
    .note = note_session,
};

static struct wire_dgram *dgram_of(struct desk_item *item)
{
	return (void *)(item->hdr + DGRAM_AT);
}

static struct wire_rd *rd_of(struct desk_item *item)
{
	return (void *)(item->hdr + RD_AT);
}

static void other_qp(struct desk_item *item)
{
	dgram_of(item)->dst_qpn = be32_put(0x123456);
}

static void other_qkey(struct desk_item *item)
{
	dgram_of(item)->qkey = be32_put(0x7654321);
}

static void other_version(struct desk_item *item)
{
	dgram_of(item)->ver_type ^= 0x80;
}

static void no_qp(struct desk_item *item)
{
	dgram_of(item)->dst_qpn = be32_put(0);
}

static void other_epoch(struct desk_item *item)
{
	rd_of(item)->epoch = be32_put(be32_get(rd_of(item)->epoch) + 1);
}

static void beyond_window(struct desk_item *item)
{
	rd_of(item)->psn = be32_put(be32_get(rd_of(item)->psn) + WIRE_RD_WINDOW - 5);
}

static void behind_window(struct desk_item *item)
{
	rd_of(item)->psn = be32_put(be32_get(rd_of(item)->psn) - 5);
}

static void far_back(struct desk_item *item)
{
	rd_of(item)->flow_distance = be16_put(WIRE_RD_WINDOW);
}

static void at_nothing(struct desk_item *item)
{
	rd_of(item)->flow_distance = be16_put(WIRE_RD_WINDOW - 1);
}

static void other_ack(struct desk_item *item)
{
	rd_of(item)->ack = be32_put(be32_get(rd_of(item)->ack) + 1000);
}

static void other_type(struct desk_item *item)
{
	item->hdr[12] ^= 0x70;
}

static void other_source(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 15] ^= 0x20;
}

static void other_stag(struct desk_item *item)
{
	item->hdr[DDP_AT + 4] ^= 0x10;
}

static void other_ddp(struct desk_item *item)
{
	item->hdr[DDP_AT] ^= 0x03;
}

static void response(struct desk_item *item)
{
	dgram_of(item)->flags ^= WIRE_DGRAM_F_RESPONSE;
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
    {"first wrong", WRITE, .bad = 0x1},
    {"second wrong", SEND, .bad = 0x2},
    {"two wrong", IMM, .bad = 0x60},
    {"first and last wrong", WRITE, .bad = 0x8001},
    {"every second wrong", SEND, .bad = 0x5555},
    {"most of a response wrong", READ, .bad = 0x7ffe},
    {"all but the first wrong", WRITE, .bad = 0xfffe},
    {"all but the last wrong", SEND, .bad = 0x7fff},
    {"all wrong", WRITE, .bad = 0xffff},
};

static const struct desk_row orders[] = {
    {"twice", WRITE, .twice = true},
    {"twice, Send", SEND, .twice = true},
    {"late", WRITE, .late = true},
    {"late Send", SEND, .late = true},
    {"late response", READ, .late = true},
    {"lost", WRITE, .lost = true},
    {"lost Send", SEND, .lost = true},
    {"late and wrong", SEND, .late = true, .bad = 0x30},
    {"twice wrong", READ, .twice = true, .bad = 0x11},
};

static const struct desk_row headers[] = {
    {"QP that is not there", WRITE, .change = other_qp},
    {"Send to such a QP", SEND, .change = other_qp},
    {"response to such a QP", READ, .change = other_qp, .status = WEFT_WC_BAD_RESP_ERR},
    {"Q_Key", SEND, .change = other_qkey, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"version", WRITE, .change = other_version},
    {"no QP", WRITE, .change = no_qp},
    {"epoch", WRITE, .change = other_epoch},
    {"beyond the window", WRITE, .change = beyond_window, .status = WEFT_WC_REM_ABORT_ERR},
    {"behind the window", SEND, .change = behind_window},
    {"distance beyond the window", WRITE, .change = far_back},
    {"distance to nothing", WRITE, .change = at_nothing},
    {"ACK of what was not sent", WRITE, .change = other_ack},
    {"MAC", WRITE, .change = desk_other_mac},
    {"EtherType", WRITE, .change = other_type},
    {"unknown sender", WRITE, .change = other_source},
    {"IP address", WRITE, .change = desk_other_target},
    {"fragment", WRITE, .change = desk_fragment},
    {"congestion", WRITE, .change = desk_congested},
    {"UDP port", WRITE, .change = desk_other_port},
    {"STag", WRITE, .change = other_stag, .status = WEFT_WC_REM_ACCESS_ERR},
    {"DDP's control", SEND, .change = other_ddp},
    {"class", WRITE, .change = response},
};

static const struct desk_row places[] = {
    {"no receive", SEND, .before = run_same_no_receive, .endless = true},
    {"short receive", SEND, .before = run_same_short_receive, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"short memory", WRITE, .before = run_same_short_memory, .status = WEFT_WC_REM_ACCESS_ERR},
    {"memory that is gone", SEND, .before = run_same_memory_gone, .status = WEFT_WC_REM_OP_ERR},
    {"QP in error", SEND, .before = run_same_qp_in_error, .status = WEFT_WC_REM_OP_ERR},
};

#define COMPARE(rows) run_same(&rd, rows, sizeof(rows) / sizeof((rows)[0]))

static void as_they_are(void)
{
	COMPARE(nothing);
}

static void with_wrong_crcs(void)
{
	COMPARE(wrong_crcs);
}

static void out_of_order(void)
{
	COMPARE(orders);
}

static void with_other_headers(void)
{
	COMPARE(headers);
}

static void with_no_place(void)
{
	COMPARE(places);
}

UT_MAIN("sim/rd_run_same", UT(as_they_are), UT(with_wrong_crcs), UT(out_of_order),
	UT(with_other_headers), UT(with_no_place))
