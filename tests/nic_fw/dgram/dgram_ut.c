/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP: weft's header, CRC32C, dispatch, and parsing of DDP segments.
 *
 * Runs nic_fw/dgram/dgram.c on the shard without upper layers of tests/bench/stubs/net.h.
 */
#include "tests/bench/stubs/net.h"

static const uint8_t data[2000];

static void put_rd(struct frame *f, uint8_t type)
{
	struct wire_rd rd = {.epoch = be32_put(0x01020304), .psn = be32_put(0xffffffff)};

	net_put_dgram(f, type);
	frame_add(f, &rd, sizeof(rd));
}

static void put_ack(struct frame *f)
{
	struct wire_rd_ack ack = {.rnr_timer_ns = be32_put(5)};

	put_rd(f, WIRE_DGRAM_RD_ACK);
	net_dgramh(f)->flags = WIRE_DGRAM_F_ACK;
	frame_add(f, &ack, sizeof(ack));
}

static struct wire_rd_hello *hello_of(struct frame *f)
{
	return (void *)(net_dgramh(f) + 1);
}

static void put_hello(struct frame *f)
{
	struct wire_rd_hello hello = {.epoch = be32_put(9), .mtu = be16_put(1500)};

	net_put_dgram(f, WIRE_DGRAM_RD_HELLO);
	frame_add(f, &hello, sizeof(hello));
}

static void dispatches_by_type(void)
{
	struct frame f;

	net_init(0);
	net_put_send(&f, data, 0, 8, 8);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	net_put_dgram(&f, WIRE_DGRAM_UC);
	frame_add(&f, data, 100);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.uc_calls, 1);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	put_rd(&f, WIRE_DGRAM_RD);
	frame_add(&f, data, 100);
	net_iph(&f)->tos = WIRE_IP_CE;
	net_udph(&f)->src_port = be16_put(WIRE_DGRAM_PORT + 5);
	net_dgramh(&f)->incarnation = be16_put(0xbeef);
	net_dgramh(&f)->flags = WIRE_DGRAM_F_ALL & ~WIRE_DGRAM_F_RECORD;
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.rd_calls, 1);
	CU_ASSERT_EQUAL(be32_get(net.rd_hdr.epoch), 0x01020304);
	CU_ASSERT_EQUAL(be32_get(net.rd_hdr.psn), 0xffffffff);
	CU_ASSERT_EQUAL(net.rd_dgram.type, WIRE_DGRAM_RD);
	CU_ASSERT_EQUAL(net.rd_pkt.src_ip, NET_PEER_IP);
	CU_ASSERT_EQUAL(net.rd_pkt.src_shard, 5);
	CU_ASSERT_EQUAL(net.rd_pkt.incarnation, 0xbeef);
	CU_ASSERT_EQUAL(net.rd_pkt.dst_qpn, NET_QPN);
	CU_ASSERT_EQUAL(net.rd_pkt.src_qpn, NET_PEER_QPN);
	CU_ASSERT_EQUAL(net.rd_pkt.data_offset, 42 + 28 + 24);
	CU_ASSERT_EQUAL(net.rd_pkt.data_bytes, 100);
	CU_ASSERT_TRUE(net.rd_dgram.ce);
	put_rd(&f, WIRE_DGRAM_RD); /* void: a PSN and nothing else */
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.rd_calls, 2);
	CU_ASSERT_EQUAL(net.rd_pkt.data_bytes, 0);
	put_ack(&f);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.rd_dgram.type, WIRE_DGRAM_RD_ACK);
	CU_ASSERT_EQUAL(net.rd_pkt.data_bytes, sizeof(struct wire_rd_ack));
	put_rd(&f, WIRE_DGRAM_RD_PROBE);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.rd_dgram.type, WIRE_DGRAM_RD_PROBE);
	CU_ASSERT_EQUAL(net.rd_calls, 4);
	put_hello(&f);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.hello_calls, 1);
	CU_ASSERT_EQUAL(be16_get(net.hello.mtu), 1500);
	net_put_dgram(&f, WIRE_DGRAM_CM);
	frame_add(&f, data, sizeof(struct wire_cm) + 7);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.cm_calls, 1);
	CU_ASSERT_EQUAL(net.rd_pkt.data_bytes, sizeof(struct wire_cm) + 7);
	CU_ASSERT_EQUAL(net_drops(), 0);
	net_end();
}

static void short_datagrams(void)
{
	struct frame f;
	uint32_t n;

	net_init(0);
	/* Shorter than header and CRC: no CRC can be right. */
	for (n = 0; n < sizeof(struct wire_dgram); n++) {
		net_put_udp(&f);
		f.n += n;
		frame_end(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), n);
	net_end();
}

/* Keys after a HELLO are accepted, whatever their kind, if they give their length. */
static void hello_with_a_key(void)
{
	static const struct {
		uint16_t type, says, is;
		bool ok;
	} keys[] = {
	    {7, 8, 8, true},   {0xffff, WIRE_RD_HELLO_KEY_MAX, WIRE_RD_HELLO_KEY_MAX, true},
	    {7, 0, 0, true},   {7, 260, 260, false},
	    {7, 8, 12, false}, {7, 12, 8, false},
	    {0, 8, 8, false},  {7, 6, 6, false},
	};
	struct frame f;
	uint32_t i, ok = 0;

	net_init(0);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		put_hello(&f);
		hello_of(&f)->key_type = be16_put(keys[i].type);
		hello_of(&f)->key_bytes = be16_put(keys[i].says);
		frame_add(&f, data, keys[i].is);
		frame_end(&f);
		net_rx(&f);
		ok += keys[i].ok;
		CU_ASSERT_EQUAL(net.hello_calls, ok);
	}
	CU_ASSERT_EQUAL(net_drops(), i - ok);
	net_end();
}

/* Every length below the minimum of the type, and one byte more where the length is fixed. */
static void lengths_by_type(void)
{
	static const struct {
		uint8_t type;
		uint32_t bytes;
		bool exact;
	} types[] = {{WIRE_DGRAM_UD, 2, false},        {WIRE_DGRAM_RD, 24, false},
		     {WIRE_DGRAM_RD_ACK, 80, true},    {WIRE_DGRAM_RD_HELLO, 32, true},
		     {WIRE_DGRAM_RD_PROBE, 24, true},  {WIRE_DGRAM_CM, 48, false},
		     {WIRE_DGRAM_RD_BUNDLE, 24, false}};
	struct frame f;
	uint64_t want = 0;
	uint32_t i, n;

	net_init(0);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (n = 0; n < types[i].bytes; n++, want++) {
			net_put_dgram(&f, types[i].type);
			frame_add(&f, data, n);
			frame_end(&f);
			net_rx(&f);
		}
		if (types[i].exact) {
			net_put_dgram(&f, types[i].type);
			frame_add(&f, data, n + 1);
			frame_end(&f);
			net_rx(&f);
			want++;
		}
	}
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), want);
	CU_ASSERT_EQUAL(net_drops(), want);
	CU_ASSERT_EQUAL(net.rd_calls + net.hello_calls + net.cm_calls, 0);
	net_end();
}

static void crc_finds_every_flipped_bit(void)
{
	uint32_t bit, first = sizeof(struct wire_eth) + sizeof(struct wire_ip);
	struct frame f, bad;
	uint64_t before;

	net_init(0);
	net_put_send(&f, data, 0, 37, 37);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	for (bit = 0; bit < (f.n - first) * 8; bit++) {
		bad = f;
		bad.b[first + bit / 8] ^= (uint8_t)(1 << bit % 8);
		before = net_drops();
		net_rx(&bad);
		CU_ASSERT_EQUAL(net_drops(), before + 1);
	}
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	/* All bytes but the UDP header and the version, which are checked before. */
	CU_ASSERT(CNT(drop_dgram_crc) >= bit - 8 * 8 - 4);
	CU_ASSERT_EQUAL(CNT(drop_dgram_version), 4);
	net_end();
}

/* A kernel or a device on the way may fill in the checksum, which the CRC32C counts as 0. */
static void crc_beside_a_checksum(void)
{
	uint8_t pseudo[12] = {0};
	struct frame f;
	uint32_t bytes;

	net_init(0);
	net_put_send(&f, data, 0, 37, 37);
	frame_end(&f);
	bytes = be16_get(net_udph(&f)->bytes);
	memcpy(pseudo, &net_iph(&f)->src, 8);
	pseudo[9] = WIRE_IPPROTO_UDP;
	pseudo[11] = (uint8_t)bytes;
	net_udph(&f)->checksum =
	    be16_put(wire_sum_fold(wire_sum_add(wire_sum_add(0, pseudo, 12), net_udph(&f), bytes)));
	net_rx(&f);
	net_rx_pieces(&f, 101);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 2);
	/* Left out, as over interfaces without hardware: the port vouches for it. */
	net_udph(&f)->checksum = be16_put(1);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_udp_checksum), 1);
	net.port.rx_flags = FW_RX_CSUM_OK;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 3);
	f.b[f.n - 9] ^= 1;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_crc), 1);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 3);
	net_end();
}

/* Frames from this machine's memory carry no CRC32C; all other checks stay. */
static void crc_vouched_for_by_the_port(void)
{
	struct frame f;

	net_init(0);
	net_put_send(&f, data, 0, 37, 37);
	frame_end(&f);
	f.b[f.n - 1] ^= 1;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_crc), 1);
	net.port.rx_flags = FW_RX_CRC_OK;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_crc), 1);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	f.b[sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp)] ^= 0x10;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_version), 1);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	net_end();
}

static void crc_across_segments(void)
{
	struct frame f;
	uint32_t bytes, piece;

	net_init(0);
	for (bytes = 60; bytes < 140; bytes += 3) {
		for (piece = 1; piece < 6; piece++) {
			net.num_cqe = 0;
			net_put_send(&f, data, 0, bytes, bytes);
			frame_end(&f);
			net_rx_pieces(&f, piece);
		}
	}
	CU_ASSERT_EQUAL(net_drops(), 0);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 27 * 5);
	net_end();
}

static void headers_out_of_range(void)
{
	struct frame f;
	uint8_t v;

	net_init(0);
	for (v = 0; v < 16; v++) {
		net_put_send(&f, data, 0, 8, 8);
		net_dgramh(&f)->ver_type = (uint8_t)(v << 4 | WIRE_DGRAM_UD);
		frame_end(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_dgram_version), 15);
	for (v = WIRE_DGRAM_TYPES; v < 16; v++) {
		net_put_send(&f, data, 0, 8, 8);
		net_dgramh(&f)->ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | v);
		frame_end(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_dgram_type), 16 - WIRE_DGRAM_TYPES);
	CNT(drop_dgram_type) = 0;
#define REFUSED(make, change)                                                                      \
	make;                                                                                      \
	change;                                                                                    \
	frame_end(&f);                                                                             \
	net_rx(&f)
	REFUSED(net_put_send(&f, data, 0, 8, 8), net_dgramh(&f)->flags = WIRE_DGRAM_F_MORE);
	REFUSED(net_put_send(&f, data, 0, 8, 8), net_dgramh(&f)->flags = WIRE_DGRAM_F_ACK);
	REFUSED(net_put_send(&f, data, 0, 8, 8), net_dgramh(&f)->dst_qpn.b[0] = 1);
	REFUSED(net_put_send(&f, data, 0, 8, 8), net_dgramh(&f)->src_qpn.b[0] = 1);
	REFUSED(put_rd(&f, WIRE_DGRAM_RD), net_dgramh(&f)->flags = WIRE_DGRAM_F_RECORD);
	REFUSED(put_ack(&f), net_dgramh(&f)->flags = WIRE_DGRAM_F_IMM);
	REFUSED(put_ack(&f), net_dgramh(&f)->dst_qpn = be32_put(1));
	REFUSED(put_hello(&f), net_dgramh(&f)->flags = WIRE_DGRAM_F_ACK);
	REFUSED(put_hello(&f), net_dgramh(&f)->src_qpn = be32_put(1));
	/* Flags of a message are in its part. */
	REFUSED(put_rd(&f, WIRE_DGRAM_RD_BUNDLE), net_dgramh(&f)->flags = WIRE_DGRAM_F_IMM);
	REFUSED(put_rd(&f, WIRE_DGRAM_RD_BUNDLE), net_dgramh(&f)->flags = WIRE_DGRAM_F_RETRANSMIT);
	CU_ASSERT_EQUAL(CNT(drop_dgram_type), 11);
	REFUSED(put_hello(&f), hello_of(&f)->reserved = 1);
	REFUSED(put_hello(&f), hello_of(&f)->flags = 8);
	REFUSED(put_hello(&f), hello_of(&f)->reserved2 = be32_put(1));
	REFUSED(put_ack(&f), f.b[f.n - 1] = 1);
	CU_ASSERT_EQUAL(CNT(drop_rd_malformed), 4);
	CU_ASSERT_EQUAL(net.rd_calls + net.hello_calls, 0);
	net_end();
}

/* ---- DDP ------------------------------------------------------------------------------- */

struct segment {
	uint8_t ddp, rdmap;
	uint32_t qn, mo, bytes, msg_bytes;
	uint8_t flags;
	uint64_t to;
};

static const struct dgram_hdr datagram;
static struct rdmap_seg parsed;

/* Parses a segment made from s, cut to a buffer of exactly its length. */
static bool parse(const struct segment *s)
{
	bool tagged = s->ddp & WIRE_DDP_TAGGED, ok;
	uint32_t head = tagged ? sizeof(struct wire_ddp_tagged) : sizeof(struct wire_ddp_untagged);
	uint8_t *b = calloc(1, head + s->bytes);
	struct fw_rx_frame frame = {.seg = {{b, head + s->bytes}}, .num_seg = 1};
	struct be32 mo = be32_put(s->mo);

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	frame.bytes = head + s->bytes;
	if (tagged) {
		((struct wire_ddp_tagged *)b)->stag = be32_put(0x1234);
		((struct wire_ddp_tagged *)b)->to = be64_put(s->to);
	} else {
		((struct wire_ddp_untagged *)b)->qn = be32_put(s->qn);
		((struct wire_ddp_untagged *)b)->msn = be32_put(0xfffffffe);
		((struct wire_ddp_untagged *)b)->mo = mo;
	}
	b[0] = s->ddp;
	b[1] = s->rdmap;
	memset(&parsed, 0, sizeof(parsed));
	parsed.frame = &frame;
	parsed.hdr = &datagram;
	parsed.data_bytes = frame.bytes;
	parsed.msg_bytes = s->msg_bytes;
	parsed.flags = s->flags;
	memcpy(&parsed.imm, &mo, sizeof(mo));
	ok = dgram_parse_ddp(&parsed);
	if (ok) {
		CU_ASSERT_EQUAL(parsed.data_offset, head);
		CU_ASSERT_EQUAL(parsed.data_bytes, s->bytes);
	}
	free(b);
	return ok;
}

enum {
	U = WIRE_DDP_VERSION,
	UL = WIRE_DDP_VERSION | WIRE_DDP_LAST,
	T = U | WIRE_DDP_TAGGED,
	TL = UL | WIRE_DDP_TAGGED,
	R = WIRE_RDMAP_VERSION,
};

static void opcodes_and_queues(void)
{
	static const struct {
		uint8_t opcode, ddp;
		uint32_t qn, bytes;
	} legal[] = {{WIRE_RDMAP_WRITE, TL, 0, 8},
		     {WIRE_RDMAP_READ_REQUEST, UL, 1, 28},
		     {WIRE_RDMAP_READ_RESPONSE, TL, 0, 8},
		     {WIRE_RDMAP_SEND, UL, 0, 8},
		     {WIRE_RDMAP_SEND_INVALIDATE, UL, 0, 8},
		     {WIRE_RDMAP_SEND_SE, UL, 0, 8},
		     {WIRE_RDMAP_SEND_SE_INVALIDATE, UL, 0, 8},
		     {WIRE_RDMAP_TERMINATE, UL, 2, 4},
		     {WIRE_RDMAP_IMMEDIATE, UL, 0, 8},
		     {WIRE_RDMAP_IMMEDIATE_SE, UL, 0, 8},
		     {WIRE_RDMAP_ATOMIC_REQUEST, UL, 1, 52},
		     {WIRE_RDMAP_ATOMIC_RESPONSE, UL, 3, 12}};
	uint32_t i, qn;

	for (i = 0; i < 16; i++) {
		struct segment s = {.rdmap = (uint8_t)(R | i), .msg_bytes = 8, .bytes = 8};

		if (i >= sizeof(legal) / sizeof(legal[0])) {
			s.ddp = UL;
			CU_ASSERT_FALSE(parse(&s));
			s.ddp = TL;
			CU_ASSERT_FALSE(parse(&s));
			continue;
		}
		s.bytes = legal[i].bytes;
		s.ddp = legal[i].ddp ^ WIRE_DDP_TAGGED;
		CU_ASSERT_FALSE(parse(&s));
		s.ddp = legal[i].ddp;
		for (qn = 0; qn < 5; qn++) {
			s.qn = qn;
			CU_ASSERT_EQUAL(parse(&s), s.ddp == TL || qn == legal[i].qn);
		}
		CU_ASSERT_EQUAL(parsed.opcode, i);
	}
}

static void control_bits(void)
{
	struct segment s = {.ddp = UL, .rdmap = R | WIRE_RDMAP_SEND, .bytes = 4, .msg_bytes = 4};
	uint32_t v;

	for (v = 0; v < 256; v++) {
		s.ddp = (uint8_t)v;
		CU_ASSERT_EQUAL(parse(&s), v == UL);
	}
	s.ddp = UL;
	for (v = 0; v < 256; v++) {
		s.rdmap = (uint8_t)v;
		CU_ASSERT_EQUAL(parse(&s), v == 0x43 || v == 0x44 || v == 0x45 || v == 0x46 ||
					       v == 0x48 || v == 0x49);
	}
}

static void extents_of_untagged(void)
{
	static const struct {
		uint8_t ddp;
		uint32_t mo, bytes, msg_bytes;
		bool ok;
	} t[] = {{UL, 0, 0, 0, true},
		 {U, 0, 0, 0, false},
		 {UL, 0, 0, 1, false},
		 {UL, 0, 9, 8, false},
		 {U, 0, 8, 8, false},
		 {UL, 0, 8, 9, false},
		 {U, 0, 8, 9, true},
		 {UL, 8, 1, 9, true},
		 {UL, 9, 1, 9, false},
		 {U, 0xfffffff8, 16, 0xffffffff, false},
		 {UL, 0xfffffff0, 8, 0xfffffff8, true},
		 {UL, 0xffffffff, 1, 0, false},
		 {UL, 9, 0, 9, false}};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct segment s = {t[i].ddp,   R | WIRE_RDMAP_SEND, 0, t[i].mo,
				    t[i].bytes, t[i].msg_bytes,      0, 0};

		CU_ASSERT_EQUAL(parse(&s), t[i].ok);
	}
}

static void extents_of_tagged(void)
{
	static const struct {
		uint8_t ddp;
		uint64_t to;
		uint32_t mo, bytes, msg_bytes;
		uint8_t flags;
		bool ok;
	} t[] = {{TL, 0, 0, 0, 0, 0, true},
		 {TL, 5, 0, 8, 8, 0, true},
		 {TL, 5, 0, 8, 100, 0, true}, /* its position is missing */
		 {T, 5, 0, 8, 8, 0, false},
		 {T, 5, 0, 8, 9, 0, true},
		 {TL, 5, 0, 9, 8, 0, false},
		 {TL, 5, 0, 0, 8, 0, false},
		 {TL, UINT64_MAX - 8, 0, 8, 8, 0, true},
		 {TL, UINT64_MAX - 7, 0, 8, 8, 0, true}, /* RDMAP refuses ranges that wrap */
		 {TL, UINT64_MAX - 6, 0, 8, 8, 0, true},
		 {TL, UINT64_MAX, 0, 0, 0, 0, true},
		 {TL, 5, 92, 8, 100, WIRE_DGRAM_F_RECORD, true},
		 {TL, 5, 91, 8, 100, WIRE_DGRAM_F_RECORD, false},
		 {T, 5, 92, 8, 100, WIRE_DGRAM_F_RECORD, false},
		 {TL, 5, 93, 8, 100, WIRE_DGRAM_F_RECORD, false},
		 {T, 5, 0, 8, 100, WIRE_DGRAM_F_RECORD, true}};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct segment s = {t[i].ddp,   R | WIRE_RDMAP_WRITE, 0,          t[i].mo,
				    t[i].bytes, t[i].msg_bytes,       t[i].flags, t[i].to};

		CU_ASSERT_EQUAL(parse(&s), t[i].ok);
	}
}

static void fixed_messages(void)
{
	struct segment s = {UL, R | WIRE_RDMAP_READ_REQUEST, 1, 0, 28, 1 << 20, 0, 0};

	CU_ASSERT_TRUE(parse(&s)); /* msg_bytes counts the requested data */
	s.bytes = 27;
	CU_ASSERT_FALSE(parse(&s));
	s.bytes = 29;
	CU_ASSERT_FALSE(parse(&s));
	s.bytes = 28;
	s.mo = 1;
	CU_ASSERT_FALSE(parse(&s));
	s.mo = 0;
	s.ddp = U;
	CU_ASSERT_FALSE(parse(&s));
	s = (struct segment){UL, R | WIRE_RDMAP_TERMINATE, 2, 0, 40, 4, 0, 0};
	CU_ASSERT_TRUE(parse(&s));
	s.bytes = 3;
	CU_ASSERT_FALSE(parse(&s));
}

static void cut_headers(void)
{
	uint8_t b[] = {UL, R | WIRE_RDMAP_SEND};
	struct fw_rx_frame frame = {.seg = {{b, 2}}, .num_seg = 1, .bytes = 2};
	uint32_t n;

	for (n = 0; n <= 2; n++) {
		struct rdmap_seg pkt = {.frame = &frame, .hdr = &datagram, .data_bytes = n};

		CU_ASSERT_FALSE(dgram_parse_ddp(&pkt));
	}
}

static void segments_fit_the_mtu(void)
{
	uint32_t mtu;

	CU_ASSERT_EQUAL(dgram_segment_bytes(1280, false), 1200);
	CU_ASSERT_EQUAL(dgram_segment_bytes(1500, false), 1416);
	CU_ASSERT_EQUAL(dgram_segment_bytes(1500, true), 1392);
	CU_ASSERT_EQUAL(dgram_segment_bytes(9000, true), 8896);
	for (mtu = HW_MIN_MTU; mtu <= HW_MAX_MTU; mtu++) {
		uint32_t ud = dgram_segment_bytes(mtu, false), rd = dgram_segment_bytes(mtu, true);

		CU_ASSERT(ud % 8 == 0 && rd % 8 == 0);
		CU_ASSERT(ud + 20 + 8 + 28 + 18 + 4 <= mtu && ud + 20 + 8 + 28 + 18 + 4 > mtu - 8);
		CU_ASSERT(rd + 20 + 8 + 28 + 24 + 18 + 4 <= mtu);
		CU_ASSERT((HW_MAX_UD_MSG_BYTES + ud - 1) / ud <= UD_MAX_SEGMENTS);
	}
}

UT_MAIN("nic_fw/dgram/dgram", UT(dispatches_by_type), UT(short_datagrams), UT(lengths_by_type),
	UT(hello_with_a_key), UT(crc_finds_every_flipped_bit), UT(crc_vouched_for_by_the_port),
	UT(crc_beside_a_checksum), UT(crc_across_segments), UT(headers_out_of_range),
	UT(opcodes_and_queues), UT(control_bits), UT(extents_of_untagged), UT(extents_of_tagged),
	UT(fixed_messages), UT(cut_headers), UT(segments_fit_the_mtu))
