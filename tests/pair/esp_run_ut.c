/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of ESP: how many packets leave as one, by the windows, the room and the work of a turn; what
 * the headers of a run say, and what is kept of each of its packets.
 */
#include "tests/pair/esp_pair.h"

enum {
	MOST = 64,
	EDP_AT = sizeof(struct wire_eth),
	ESP_AT = EDP_AT + sizeof(struct wire_edp),
};

static struct ep ep;
static uint32_t first; /* number of the first packet */
static uint32_t most;  /* packets of a run that the port takes */
static uint32_t asked;

static struct {
	uint32_t seq, packets, bytes;
	uint8_t flags, numbered;
	bool borrowed, control;
} out[MOST];
static uint32_t num_out;

static uint32_t take_run(void *ctx, const uint8_t mac[6])
{
	(void)ctx;
	CU_ASSERT_EQUAL(memcmp(mac, ep_mac(1), 6), 0);
	asked++;
	return most;
}

/* Notes frames that carry packets; none arrives. */
static uint32_t note(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < n; i++) {
		struct wire_esp esp;

		frames[i].status = 0;
		memcpy(&esp, frames[i].hdr + ESP_AT, sizeof(esp));
		if (!esp.numbered)
			continue;
		CU_ASSERT_FATAL(num_out < MOST);
		out[num_out].seq = be32_get(esp.seq) - first;
		out[num_out].packets = frames[i].run;
		out[num_out].bytes = frames[i].bytes;
		out[num_out].flags = esp.flags;
		out[num_out].numbered = esp.numbered;
		out[num_out].borrowed = frames[i].flags & FW_TX_F_BORROW;
		out[num_out++].control = frames[i].flags & FW_TX_F_CONTROL;
	}
	return n;
}

static struct esp_stream *tx(void)
{
	return ep.end[0].stream;
}

static struct esp_slot *slot(uint32_t i)
{
	return &tx()->slot[(first + i) % WIRE_ESP_WINDOW];
}

/* A stream that may have so many packets under way, from the beginning on. */
static void begin(uint8_t burst)
{
	memset(&ep, 0, sizeof(ep));
	ep.burst = ep.initial_burst = burst;
	ep_begin_with(&ep);
	ep_opened(&ep);
	first = tx()->snd_next;
	num_out = asked = 0;
	most = FW_RUN_MAX;
	ep.end[0].nic->port.tx_run = take_run;
	ep.end[0].nic->port.tx_burst = note;
}

/* Sends a transfer of so many packets in one turn. Returns the frames. */
static uint32_t send(uint32_t packets)
{
	num_out = 0;
	ep_send(&ep, 0, packets);
	fw_poll(ep.end[0].nic, ep.wire.now_ns, 256);
	return num_out;
}

static void end(void)
{
	ep_abort(&ep, 0);
	ep_abort(&ep, 1);
	ep_end(&ep);
}

/* A whole transfer is one frame, whose flags are those of its first packet and of its last. */
static void a_transfer_is_one_frame(void)
{
	uint32_t i;

	begin(32);
	CU_ASSERT_EQUAL_FATAL(send(5), 1);
	CU_ASSERT_EQUAL(asked, 1);
	CU_ASSERT_EQUAL(out[0].seq, 0);
	CU_ASSERT_EQUAL(out[0].packets, 5);
	CU_ASSERT_EQUAL(out[0].numbered, 1);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_ESP_ACK | WIRE_ESP_TXS | WIRE_ESP_TXF | WIRE_ESP_TXR);
	CU_ASSERT_TRUE(out[0].borrowed);
	CU_ASSERT_FALSE(out[0].control);
	CU_ASSERT_EQUAL(out[0].bytes, ESP_AT + sizeof(struct wire_esp) + 5 * ep.payload_bytes -
					  4 * 4 + 5 * WIRE_EDP_CRC_BYTES);
	CU_ASSERT_EQUAL(tx()->snd_next, first + 5);
	for (i = 0; i < 5; i++) {
		CU_ASSERT_TRUE(slot(i)->large);
		CU_ASSERT_EQUAL(slot(i)->tries, 1);
		CU_ASSERT_EQUAL(slot(i)->sent_ns, ep.wire.now_ns);
		CU_ASSERT_EQUAL(slot(i)->index, i);
		CU_ASSERT_EQUAL(slot(i)->flags, i == 0   ? WIRE_ESP_TXS
						: i == 4 ? WIRE_ESP_TXF | WIRE_ESP_TXR
							 : 0);
	}
	end();
	/* One packet is no run. */
	begin(32);
	CU_ASSERT_EQUAL_FATAL(send(1), 1);
	CU_ASSERT_EQUAL(out[0].packets, 1);
	CU_ASSERT_EQUAL(asked, 0);
	end();
}

/* A run ends with its transfer; the last packet of the next one ends the transmission. */
static void a_run_is_of_one_transfer(void)
{
	begin(32);
	ep_send(&ep, 0, 2);
	CU_ASSERT_EQUAL_FATAL(send(3), 2);
	CU_ASSERT_EQUAL(out[0].packets, 2);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_ESP_ACK | WIRE_ESP_TXS | WIRE_ESP_TXR);
	CU_ASSERT_EQUAL(out[1].seq, 2);
	CU_ASSERT_EQUAL(out[1].packets, 3);
	CU_ASSERT_EQUAL(out[1].flags, WIRE_ESP_ACK | WIRE_ESP_TXF | WIRE_ESP_TXR);
	end();
}

/* Windows, the port and the room bound a run; packets beyond stay. */
static void bounds(void)
{
	begin(7);
	CU_ASSERT_EQUAL_FATAL(send(10), 1);
	CU_ASSERT_EQUAL(out[0].packets, 7);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_ESP_ACK | WIRE_ESP_TXS);
	end();

	begin(32);
	tx()->snd_window = 6;
	CU_ASSERT_EQUAL_FATAL(send(10), 1);
	CU_ASSERT_EQUAL(out[0].packets, 6);
	end();

	begin(32);
	most = 4;
	CU_ASSERT_EQUAL_FATAL(send(10), 3);
	CU_ASSERT_EQUAL(out[0].packets, 4);
	CU_ASSERT_EQUAL(out[1].packets, 4);
	CU_ASSERT_EQUAL(out[1].seq, 4);
	CU_ASSERT_EQUAL(out[2].packets, 2);
	end();

	/* The port takes no run now. */
	begin(32);
	most = 1;
	CU_ASSERT_EQUAL_FATAL(send(3), 3);
	CU_ASSERT_EQUAL(out[2].packets, 1);
	CU_ASSERT_EQUAL(out[2].seq, 2);
	end();

	begin(32);
	ep.end[0].port.tx_room = 3;
	CU_ASSERT_EQUAL_FATAL(send(10), 1);
	CU_ASSERT_EQUAL(out[0].packets, 3);
	end();
}

/* Memory that cannot be read so: its packets go one by one, and none is left out. */
static void one_by_one(void)
{
	uint32_t i;

	begin(32);
	ep.end[0].gone = true;
	CU_ASSERT_EQUAL_FATAL(send(3), 3);
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(out[i].seq, i);
		CU_ASSERT_EQUAL(out[i].packets, 1);
	}
	CU_ASSERT_EQUAL(tx()->snd_next, first + 3);
	end();
}

/* A run that is lost comes again packet by packet. */
static void again(void)
{
	uint32_t i;

	begin(32);
	CU_ASSERT_EQUAL_FATAL(send(4), 1);
	num_out = 0;
	for (i = 0; i < 200 && num_out < 1; i++) {
		ep.wire.now_ns += EP_MS;
		fw_poll(ep.end[0].nic, ep.wire.now_ns, 256);
	}
	CU_ASSERT_TRUE(num_out > 0);
	CU_ASSERT_EQUAL(out[0].packets, 1);
	end();
}

/* The work of a turn is counted: a unit for each frame, more for long ones. */
static void work_of_a_turn(void)
{
	begin(8);
	most = 1;
	ep_send(&ep, 0, 5);
	CU_ASSERT_EQUAL(esp_tx_run(ep.end[0].nic, 256), 5);
	eth_tx_flush(ep.end[0].nic);
	CU_ASSERT_EQUAL(num_out, 5);
	CU_ASSERT_EQUAL(esp_tx_run(ep.end[0].nic, 256), 0);
	/* No turn is used up by frames for which the port has no room. */
	ep.end[0].nic->net.tx_allow = 0;
	ep_send(&ep, 0, 1);
	CU_ASSERT_EQUAL(esp_tx_run(ep.end[0].nic, 256), 0);
	CU_ASSERT_EQUAL(tx()->snd_next, first + 5);
	end();
}

UT_MAIN("pair/esp_run", UT(work_of_a_turn), UT(a_transfer_is_one_frame),
	UT(a_run_is_of_one_transfer), UT(bounds), UT(one_by_one), UT(again))
