/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Wireshark dissector of EDP, ESP, GOAL messages and groups, in tshark, on the frames of
 * tests/golden/wire_esp.hex and on ones put together from its headers: each field, the CRC32C, the
 * effect of a SYN on the packets behind it, and malformed packets.
 */
#include <stdbool.h>
#include <unistd.h>

#include "lib/crc32c.h"
#include "tests/golden.h"
#include "tests/tmp.h"
#include "tests/ut.h"

enum {
	ETH_BYTES = 14,
	MAX_BYTES = 512,
	MAX_TEXT = 4096,
	MAX_FRAMES = 4,
};

struct frame {
	uint8_t bytes[MAX_BYTES];
	size_t length;
};

static void add(struct frame *f, const char *section)
{
	f->length +=
	    golden_load("wire_esp.hex", section, f->bytes + f->length, MAX_BYTES - f->length);
}

static struct frame golden(const char *section)
{
	struct frame f = {.length = 0};

	add(&f, section);
	return f;
}

static void put(struct frame *f, const void *bytes, size_t n)
{
	memcpy(f->bytes + f->length, bytes, n);
	f->length += n;
}

/* RFC 3720 B.4, bit by bit, from the EDP header on; the length first. */
static void finish(struct frame *f)
{
	uint32_t crc;
	size_t i;

	f->bytes[ETH_BYTES + 2] = (uint8_t)((f->length - ETH_BYTES) >> 8);
	f->bytes[ETH_BYTES + 3] = (uint8_t)(f->length - ETH_BYTES);
	crc = ~crc32c_update(CRC32C_INIT, f->bytes + ETH_BYTES, f->length - ETH_BYTES);
	for (i = 0; i < 4; i++, crc >>= 8)
		f->bytes[f->length++] = (uint8_t)crc;
}

/* Ethernet and an EDP header of this type. */
static struct frame begin(uint8_t type)
{
	struct frame f = golden("echo");

	f.length = ETH_BYTES;
	add(&f, "edp");
	f.bytes[ETH_BYTES] = (uint8_t)(0x10 | type);
	return f;
}

/* Returns tshark's output of these fields: a line for each frame, | between fields. */
static void dissect(const struct frame *f, size_t n, const char *fields, char *text)
{
	static const uint32_t head[6] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1};
	char path[TMP_PATH_BYTES], command[MAX_TEXT];
	int fd = tmp_file(path), used;
	FILE *file;
	size_t i;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, head, sizeof(head)), sizeof(head));
	for (i = 0; i < n; i++) {
		const uint32_t length = (uint32_t)f[i].length, record[4] = {1, 0, length, length};

		CU_ASSERT_EQUAL_FATAL(write(fd, record, sizeof(record)), sizeof(record));
		CU_ASSERT_EQUAL_FATAL(write(fd, f[i].bytes, length), (ssize_t)length);
	}
	close(fd);
	used = snprintf(command, sizeof(command),
			"for f in %s; do set -- \"$@\" -e $f; done; ASAN_OPTIONS= tshark -n "
			"-X lua_script:tools/wireshark/weft.lua "
			"-X lua_script:tools/wireshark/weft_esp.lua -r %s -T fields "
			"-E separator='|' \"$@\" 2>/dev/null",
			fields, path);
	CU_ASSERT_FATAL(used > 0 && used < (int)sizeof(command));
	file = popen(command, "r");
	CU_ASSERT_FATAL(file != NULL);
	text[fread(text, 1, MAX_TEXT - 1, file)] = '\0';
	CU_ASSERT_EQUAL(pclose(file), 0);
	unlink(path);
}

static void expect_all(const struct frame *f, size_t n, const char *fields, const char *want)
{
	char text[MAX_TEXT];

	dissect(f, n, fields, text);
	if (strcmp(text, want))
		printf("\n%s:\n%s, not\n%s\n", fields, text, want);
	CU_ASSERT_STRING_EQUAL(text, want);
}

static void expect(const struct frame *f, const char *fields, const char *want)
{
	expect_all(f, 1, fields, want);
}

/* A connection from SYN to data; the SYN announces the kind of data. */
static void a_connection(void)
{
	struct frame f[MAX_FRAMES] = {golden("syn"), golden("syn_ack"), golden("ack"),
				      golden("data")};

	expect_all(f, 4,
		   "weft_edp.type weft_edp.dst_port weft_esp.seq weft_esp.flags weft_esp.numbered "
		   "weft_esp.open.service weft_edp.crc.status",
		   "0|0x4000|4294967265|0x01|0|2|good\n0|0x4001|4294967267|0x03|0|2|good\n"
		   "0|0x4001|4294967265|0x02|0||good\n0|0x4001|4294967265|0xe2|1||good\n");
	/* Four bytes are too short for RDMAP, and are reported as such. */
	expect_all(f, 4, "weft_edp.short", "\n\n\n1\n");
	/* Alone, its payload is of unknown kind. */
	expect(&f[3], "weft_esp.payload _ws.expert", "00000000|\n");
}

static void esp_header(void)
{
	struct frame f = begin(0);

	add(&f, "esp");
	finish(&f);
	expect(&f,
	       "weft_edp.version weft_edp.reserved weft_edp.bytes weft_edp.src_port weft_esp.seq "
	       "weft_esp.ack weft_esp.window weft_esp.src_inc weft_esp.dst_inc weft_esp.rrq_count "
	       "weft_esp.received weft_esp.received_seq",
	       "1|0x00|40|0x4001|4294967295|4294967280|63|0xdeadbeef|0x01020305|0|"
	       "0x8000000000000002|4294967281,47\n");
	expect(&f,
	       "weft_esp.flags.syn weft_esp.flags.ack weft_esp.flags.fin weft_esp.flags.rst "
	       "weft_esp.flags.rrq weft_esp.flags.txs weft_esp.flags.txf weft_esp.flags.txr "
	       "weft_edp.crc.status",
	       "0|1|0|0|0|0|1|1|good\n");
}

static void open_of_a_stream(void)
{
	struct frame f = begin(0);

	add(&f, "esp");
	f.bytes[ETH_BYTES + 8 + 8] = 0x01;
	add(&f, "open");
	finish(&f);
	expect(&f,
	       "weft_esp.open.service weft_esp.open.mtu weft_esp.open.src_rank "
	       "weft_esp.open.dst_rank weft_esp.open.reserved weft_esp.open.key weft_esp.open.key2",
	       "1|9000|3|4095|0x00000000|0x0123456789abcdef|0xfedcba9876543210\n");
}

/* Without a SYN the payload is recognized by its form. */
static void goal_message(void)
{
	struct frame f = begin(0);

	add(&f, "esp");
	add(&f, "goal");
	put(&f, "weft", 4);
	finish(&f);
	expect(&f,
	       "weft_goal.type weft_goal.instance weft_goal.tag weft_goal.count weft_goal.bytes "
	       "weft_goal.offset weft_goal.sink weft_goal.piece_bytes weft_goal.piece "
	       "weft_edp.crc.status _ws.expert",
	       "4|7|4294967294|2|4294967301|9000|0x00010002|4|77656674|good|\n");
}

static void rdmap_segment(void)
{
	static const uint8_t header[] = {3, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef,
					 0, 0, 0, 4, 0,    0,    0,    9};
	static const uint8_t send[] = {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0};
	struct frame f[2] = {golden("syn"), golden("data")};

	f[1].length -= 8; /* payload and CRC32C */
	put(&f[1], header, sizeof(header));
	put(&f[1], send, sizeof(send));
	put(&f[1], "weft", 4);
	finish(&f[1]);
	expect_all(f, 2,
		   "weft_esp_rdmap.flags weft_esp_rdmap.flags.imm weft_esp_rdmap.flags.response "
		   "weft_esp_rdmap.imm weft_esp_rdmap.msg_bytes weft_esp_rdmap.ssn iwarp_ddp.msn "
		   "iwarp_rdma.opcode weft_esp_rdmap.data weft_edp.crc.status _ws.malformed",
		   "|||||||||good|\n0x03|1|0|0xdeadbeef|4|9|5|0x03|77656674|good|\n");
}

static void echo_and_unreachable(void)
{
	struct frame f[2] = {golden("echo"), golden("unreachable")};

	expect(&f[0], "weft_edp.type weft_edp.dst_port weft_edp.data weft_edp.crc.status",
	       "1|0x1234|776566|good\n");
	expect(&f[1], "weft_edp.type weft_edp.dst_port weft_esp.src_inc weft_edp.crc.status",
	       "3,0|0x4abc,0x4777|0x0000000b|good\n");
	/* Padding is not part of it. */
	put(&f[0], "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	expect(&f[0], "weft_edp.data weft_edp.crc.status", "776566|good\n");
	f[0].bytes[ETH_BYTES + 9] ^= 1;
	expect(&f[0], "weft_edp.crc.status weft_edp.crc.bad", "bad|1\n");
}

static void malformed(void)
{
	struct frame f = begin(0); /* no ESP header */

	finish(&f);
	expect(&f, "weft_edp.short weft_edp.crc.status _ws.lua.error", "1||\n");
	f = begin(15);
	finish(&f);
	expect(&f, "weft_edp.type.unknown", "1\n");
	f = golden("echo");
	f.bytes[ETH_BYTES] = 0x21;
	expect(&f, "weft_edp.version.unknown", "1\n");
	f = golden("echo");
	f.length = ETH_BYTES + 11; /* its length claims more */
	expect(&f, "weft_edp.short _ws.lua.error", "1|\n");
}

UT_MAIN("tools/weft_esp_lua", UT(a_connection), UT(esp_header), UT(open_of_a_stream),
	UT(goal_message), UT(rdmap_segment), UT(echo_and_unreachable), UT(malformed))
