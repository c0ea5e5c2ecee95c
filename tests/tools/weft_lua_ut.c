/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Wireshark dissector, in tshark, on datagrams composed from tests/golden: each field of every
 * header, bitmaps as PSNs, the CRC32C, and the fields that Wireshark's own dissector of DDP and
 * RDMAP finds in the rest.
 */
#include <stdbool.h>
#include <unistd.h>

#include "lib/crc32c.h"
#include "tests/golden.h"
#include "tests/tmp.h"
#include "tests/ut.h"

enum {
	ETH_IP_BYTES = 14 + 20,
	UDP_BYTES = 8,
	MAX_BYTES = 512,
	MAX_TEXT = 2048,
};

struct frame {
	uint8_t bytes[MAX_BYTES];
	size_t length;
};

static void add(struct frame *f, const char *file, const char *section)
{
	f->length += golden_load(file, section, f->bytes + f->length, MAX_BYTES - f->length);
}

static void begin(struct frame *f, uint8_t type)
{
	static const uint8_t headers[ETH_IP_BYTES + UDP_BYTES] = {
	    2,    0x77, 10, 77, 0, 2, 2,    0x77, 10,   77,   0, 1, 0x08, 0x00,
	    0x45, 0,    0,  0,  0, 0, 0,    0,    64,   17,   0, 0, 10,   77,
	    0,    1,    10, 77, 0, 2, 0xba, 0xc2, 0xba, 0xc2, 0, 0, 0,    0};

	memcpy(f->bytes, headers, sizeof(headers));
	f->length = sizeof(headers);
	add(f, "wire_dgram.hex", "dgram_rd");
	f->bytes[sizeof(headers)] = (uint8_t)(0x20 | type);
}

/* RFC 5044 4.4, bit by bit, over the UDP header and all behind it. */
static void finish(struct frame *f)
{
	uint32_t crc;
	size_t udp = f->length - ETH_IP_BYTES + 4, i;

	f->bytes[16] = (uint8_t)((udp + 20) >> 8);
	f->bytes[17] = (uint8_t)(udp + 20);
	f->bytes[ETH_IP_BYTES + 4] = (uint8_t)(udp >> 8);
	f->bytes[ETH_IP_BYTES + 5] = (uint8_t)udp;
	crc = ~crc32c_update(CRC32C_INIT, f->bytes + ETH_IP_BYTES, f->length - ETH_IP_BYTES);
	for (i = 0; i < 4; i++, crc >>= 8)
		f->bytes[f->length++] = (uint8_t)crc;
}

/* Returns tshark's output of these fields, in a line with | between them. */
static void dissect(const struct frame *f, const char *fields, char *text)
{
	static const uint32_t head[6] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1};
	const uint32_t record[4] = {1, 0, (uint32_t)f->length, (uint32_t)f->length};
	char path[TMP_PATH_BYTES], command[MAX_TEXT];
	int fd = tmp_file(path), used;
	size_t n = 0;
	FILE *file;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, head, sizeof(head)), sizeof(head));
	CU_ASSERT_EQUAL_FATAL(write(fd, record, sizeof(record)), sizeof(record));
	CU_ASSERT_EQUAL_FATAL(write(fd, f->bytes, f->length), (ssize_t)f->length);
	close(fd);
	used = snprintf(command, sizeof(command),
			"for f in %s; do set -- \"$@\" -e $f; done; ASAN_OPTIONS= tshark -n "
			"-X lua_script:tools/wireshark/weft.lua -r %s -T fields -E separator='|' "
			"\"$@\" 2>/dev/null",
			fields, path);
	CU_ASSERT_FATAL(used > 0 && used < (int)sizeof(command));
	file = popen(command, "r");
	CU_ASSERT_FATAL(file != NULL);
	n = fread(text, 1, MAX_TEXT - 1, file);
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	CU_ASSERT_EQUAL(pclose(file), 0);
	unlink(path);
}

static void expect(const struct frame *f, const char *fields, const char *want)
{
	char text[MAX_TEXT];

	dissect(f, fields, text);
	if (strcmp(text, want))
		printf("\n%s:\n  %s, not\n  %s\n", fields, text, want);
	CU_ASSERT_STRING_EQUAL(text, want);
}

/* An RDMA Write: every field of both our headers, then of DDP's. */
static void rd_write(void)
{
	static const uint8_t tagged[] = {0xc1, 0x40, 0x11, 0x22, 0x33, 0x44, 0,   0,   0x7f,
					 0,    0x12, 0x34, 0x56, 0x78, 'w',  'e', 'f', 't'};
	struct frame f;

	begin(&f, 1);
	add(&f, "wire_dgram.hex", "rd");
	memcpy(f.bytes + f.length, tagged, sizeof(tagged));
	f.length += sizeof(tagged);
	finish(&f);
	expect(&f,
	       "weft.version weft.type weft.flags weft.flags.imm weft.flags.solicited "
	       "weft.flags.response weft.flags.record weft.flags.ack weft.flags.ece "
	       "weft.flags.retransmit weft.flags.more",
	       "2|1|0x13|1|1|0|0|1|0|0|0");
	expect(&f,
	       "weft.incarnation weft.dst_qpn weft.src_qpn weft.qkey weft.imm weft.msg_bytes "
	       "weft.ssn",
	       "0xbeef|0x00210007|0x00810009|0x80000001|0xdeadbeef|4097|4294967294");
	expect(&f,
	       "weft.rd.epoch weft.rd.psn weft.rd.ack weft.rd.timestamp weft.rd.timestamp_echo "
	       "weft.rd.flow_distance weft.rd.used weft.rd.limit",
	       "0x01020304|4294967295|4294967280|168496141|0|3|7|240");
	expect(&f,
	       "iwarp_ddp.tagged_flag iwarp_ddp.last_flag iwarp_ddp.dv iwarp_ddp.stag "
	       "iwarp_ddp.tagged_offset iwarp_rdma.version iwarp_rdma.opcode weft_payload.data",
	       "1|1|1|0x11223344|0x00007f0012345678|1|0x00|77656674");
	expect(&f, "weft.crc.status _ws.expert", "good|");
}

static void connection_manager(void)
{
	struct frame f;

	begin(&f, 5);
	add(&f, "wire_cm.hex", "cm_req");
	add(&f, "wire_cm.hex", "cm_private");
	finish(&f);
	expect(&f,
	       "weft.cm.type weft.cm.flags weft.cm.flags.srq weft.cm.flags.flow_control "
	       "weft.cm.private_bytes weft.cm.qp_type weft.cm.reason weft.cm.shard weft.cm.src_id "
	       "weft.cm.dst_id weft.cm.space",
	       "1|0x03|1|1|3|1|0|0|0x1122334455660007|0x0000000000000000|0x0106");
	expect(&f,
	       "weft.cm.src_port weft.cm.dst_port weft.cm.mtu weft.cm.qpn weft.cm.psn weft.cm.qkey "
	       "weft.cm.responder_resources weft.cm.initiator_depth weft.cm.retry_count "
	       "weft.cm.rnr_retry_count weft.cm.private_data weft.crc.status _ws.col.Info",
	       "40000|7471|9000|0x00200005|0x00abcdef|0x00000000|16|15|7|6|616263|good|CM REQ");
	begin(&f, 5);
	add(&f, "wire_cm.hex", "cm_rej");
	finish(&f);
	expect(&f, "weft.cm.type weft.cm.reason weft.cm.shard weft.cm.private_data _ws.expert",
	       "5|32769|3||");
}

static void rd_ack(void)
{
	struct frame f;

	begin(&f, 2);
	add(&f, "wire_dgram.hex", "rd");
	add(&f, "wire_dgram.hex", "rd_ack");
	finish(&f);
	/* ack is 4294967280: + 1 and + 65; - 128 and + 127. */
	expect(&f,
	       "weft.type weft.ack.received_psn weft.ack.refused_psn weft.ack.rnr_timer_ns "
	       "weft.ack.reserved weft.crc.status",
	       "2|4294967281,49|4294967152,111|640000|0x00000000|good");
}

static void rd_cancel(void)
{
	static const uint8_t none[8];
	struct frame f;

	begin(&f, 1);
	/* No QP is named before: dst_qpn and src_qpn are at 4 and 8 of the common header. */
	memcpy(f.bytes + ETH_IP_BYTES + UDP_BYTES + 4, none, sizeof(none));
	add(&f, "wire_dgram.hex", "rd");
	add(&f, "wire_dgram.hex", "rd_cancel");
	finish(&f);
	expect(&f,
	       "weft.cancel.dst_qpn weft.cancel.src_qpn weft.cancel.first_ssn "
	       "weft.cancel.last_ssn weft.crc.status",
	       "0x00200005|0x00000003|7|9|good");
}

static void rd_hello(void)
{
	struct frame f;

	begin(&f, 3);
	add(&f, "wire_dgram.hex", "rd_hello");
	finish(&f);
	expect(&f,
	       "weft.hello.epoch weft.hello.peer_epoch weft.hello.first_psn weft.hello.mtu "
	       "weft.hello.flags weft.hello.flags.reply weft.hello.reserved weft.crc.status",
	       "0x11223344|0x55667788|4294967280|9000|0x01|1|0x00|good");
	begin(&f, 3);
	add(&f, "wire_dgram.hex", "rd_challenge");
	finish(&f);
	expect(&f,
	       "weft.hello.epoch weft.hello.peer_epoch weft.hello.flags.reply "
	       "weft.hello.flags.challenge weft.hello.cookie weft.hello.key_bytes weft.crc.status",
	       "0x00000000|0x55667788|0|1|0x0123456789abcdef|0|good");
	begin(&f, 3);
	add(&f, "wire_dgram.hex", "rd_hello_key");
	finish(&f);
	expect(&f,
	       "weft.hello.epoch weft.hello.cookie weft.hello.key_type weft.hello.key_bytes "
	       "weft.hello.key weft.crc.status",
	       "0x11223344|0x0123456789abcdef|7|8|a0a1a2a3a4a5a6a7|good");
}

/* A datagram whose CRC was computed elsewhere, too; a Send's data is not mistaken for a header. */
static void ud_send(void)
{
	struct frame f;

	begin(&f, 0);
	f.length = ETH_IP_BYTES;
	add(&f, "wire_dgram.hex", "ud_datagram");
	f.bytes[17] = (uint8_t)(f.length - 14);
	expect(&f,
	       "weft.type weft.dst_qpn weft.src_qpn weft.crc weft.crc.status iwarp_ddp.msn "
	       "iwarp_rdma.opcode weft_payload.data _ws.malformed _ws.expert",
	       "0|0x00200005|0x00000003|0x93f21a43|good|1|0x03|77656674||");
	f.bytes[f.length - 5] ^= 1;
	expect(&f, "weft.crc.status weft.crc.bad", "bad|1");
}

static void malformed(void)
{
	struct frame f;

	begin(&f, 1); /* no session header */
	finish(&f);
	expect(&f, "weft.short weft.crc.status", "1|");
	begin(&f, 9);
	finish(&f);
	expect(&f, "weft.type.unknown", "1");
	begin(&f, 1);
	f.bytes[ETH_IP_BYTES + UDP_BYTES] = 0x31;
	finish(&f);
	expect(&f, "weft.version.unknown", "1");
	/* A DDP segment cut in its header. */
	begin(&f, 0);
	memcpy(f.bytes + f.length, "\x41\x43\x00", 3);
	f.length += 3;
	finish(&f);
	expect(&f, "weft.crc.status _ws.lua.error", "good|");
}

/* Two Sends in one datagram, with their own headers and PSNs. */
static void rd_bundle(void)
{
	static const uint8_t send[] = {0x41, 0x43, 0, 0, 0, 0, 0, 0,   0,   0,   0,
				       0,    0,    1, 0, 0, 0, 0, 'w', 'e', 'f', 't'};
	struct frame f;

	begin(&f, 7);
	memset(f.bytes + f.length - 8, 0, 7);
	f.bytes[f.length - 5] = 2; /* messages */
	add(&f, "wire_dgram.hex", "rd");
	for (uint8_t i = 0; i < 2; i++) {
		add(&f, "wire_dgram.hex", "rd_part");
		f.bytes[f.length - 1] = (uint8_t)(7 + i);
		memcpy(f.bytes + f.length, send, sizeof(send));
		f.length += sizeof(send);
	}
	finish(&f);
	expect(&f, "weft.type weft.bundle.messages weft.rd.psn weft.crc.status _ws.expert",
	       "7|2|4294967295|good|");
	expect(&f,
	       "weft.part.psn weft.part.bytes weft.part.flags weft.part.reserved weft.part.imm "
	       "weft.part.msg_bytes weft.part.ssn",
	       "4294967295,0|22,22|0x03,0x03|0x00,0x00|0xdeadbeef,0xdeadbeef|4,4|7,8");
	/* Wireshark's dissector shows the data of the first Send of a frame alone. */
	expect(&f, "iwarp_rdma.opcode weft_payload.data", "0x03,0x03|77656674");
}

UT_MAIN("tools/weft_lua", UT(rd_bundle), UT(rd_write), UT(connection_manager), UT(rd_ack),
	UT(rd_cancel), UT(rd_hello), UT(ud_send), UT(malformed))
