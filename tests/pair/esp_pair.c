/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends, the layer above and the wire of esp_pair.h.
 */
#include "tests/pair/esp_pair.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/bench/pool.h"

enum {
	GIVEN_BACK = 0xdd,
};

static struct ep_end *end_of(const struct fw_nic *nic)
{
	return FW_CONTAINER(nic->port.ctx, struct ep_end, port);
}

static struct ep *ep_of(const struct fw_nic *nic)
{
	return FW_CONTAINER(end_of(nic)->port.wire, struct ep, wire);
}

/* ---- frames ------------------------------------------------------------------------------ */

struct ep_info ep_info_of(struct ep *ep, struct bench_frame *frame, uint32_t from)
{
	const struct frame_view v = frame_read(frame->b, frame->n);
	struct ep_info info = {
	    .frame = frame, .from = from, .number = ep->wire.frames, .edp = v.edp, .esp = v.esp};

	if (v.esp) {
		info.seq = be32_get(v.esp->seq);
		info.flags = v.esp->flags;
		info.numbered = v.esp->numbered == 1;
	}
	return info;
}

void ep_reseal(struct bench_frame *frame)
{
	frame_seal(frame->b, frame->n, FRAME_KEEP_LENGTHS);
}

void ep_tx_room(struct ep *ep, uint32_t frames)
{
	ep->end[0].port.tx_room = ep->end[1].port.tx_room = frames;
}

void ep_mark(struct ep *ep, ep_filter filter, uint64_t bits)
{
	ep->wire.frames = 0;
	ep->filter = filter;
	ep->bits = bits;
}

static enum bench_verdict on_wire(struct bench_wire *wire, struct bench_frame *frame, uint32_t from)
{
	struct ep *ep = FW_CONTAINER(wire, struct ep, wire);
	const struct ep_info info = ep_info_of(ep, frame, from);

	return ep->filter ? ep->filter(ep, &info) : BENCH_PASS;
}

struct bench_frame ep_forge(struct ep *ep, uint32_t from, uint8_t flags, bool numbered,
			    uint32_t seq, const void *payload, uint32_t bytes)
{
	const struct esp_stream *s = ep->end[from].stream;
	struct wire_esp esp = {.seq = be32_put(seq), .flags = flags, .numbered = numbered};
	struct bench_frame out = {.to = !from};
	static struct frame f;

	if (s) {
		esp.ack = be32_put(s->rcv_next);
		esp.window = be16_put((uint16_t)esp_rx_window(s));
		esp.src_inc = be32_put(s->src_inc);
		esp.dst_inc = be32_put(s->dst_inc);
		esp.received = be64_put(s->received & ~UINT64_C(1));
	}
	frame_eth(&f, ep_mac(!from), ep_mac(from), WIRE_ETHERTYPE_ESP);
	frame_edp(&f, WIRE_EDP_ESP, s ? s->local_port : 0, s ? s->remote_port : 0);
	frame_add(&f, &esp, sizeof(esp));
	frame_add(&f, payload, bytes);
	frame_end(&f);
	out.n = f.n;
	out.b = malloc(f.n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out.b);
	memcpy(out.b, f.b, f.n);
	return out;
}

void ep_send_forged(struct ep *ep, struct bench_frame frame)
{
	ep_reseal(&frame);
	bench_wire_inject(&ep->wire, frame.to, frame.b, frame.n);
	free(frame.b);
	ep_settle(ep);
}

/* ---- the layer above ----------------------------------------------------------------------- */

/*
 * Both incarnations and first numbers are close below 2^32, and those of one stream differ from
 * those before and after.
 */
static uint64_t random64(void *ctx)
{
	const struct bench_port *port = ctx;
	struct ep *ep = FW_CONTAINER(port->wire, struct ep, wire);
	uint64_t n = 0xffffffe0u + ep->randoms++ % 0x20;

	return n << 32 | n;
}

static bool expects(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac)
{
	const struct ep_end *end = end_of(nic);
	uint32_t e = end->port.number;

	return !end->refuses && key->key2 == ep_key(ep_of(nic), e).key2 &&
	       !memcmp(mac, ep_mac(!e), 6);
}

static void *accept_stream(struct fw_nic *nic, const struct esp_key *key, struct esp_stream *stream)
{
	struct ep_end *end = end_of(nic);

	(void)key;
	if (end->refuses_late)
		return NULL;
	CU_ASSERT_PTR_NULL(end->stream);
	end->stream = stream;
	end->accepts++;
	return end;
}

static enum esp_verdict receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				uint32_t offset, uint32_t bytes)
{
	struct ep_end *end = ctx;
	struct eth_cursor cursor;
	struct be32 number;

	if (end->copy_bytes)
		fw_dear_copy(nic, end->copy_bytes);
	if (!bytes) {
		end->empty++;
		end->read++;
		return ESP_TAKEN;
	}
	if (!end->room)
		return ESP_FULL;
	if (end->room != UINT32_MAX)
		end->room--;
	CU_ASSERT_FATAL(bytes >= sizeof(number));
	eth_cursor_init(&cursor, frame, offset, bytes);
	eth_cursor_copy(&cursor, &number, sizeof(number));
	CU_ASSERT_EQUAL(be32_get(number), end->read);
	end->read++;
	return ESP_TAKEN;
}

static int fill(struct fw_nic *nic, void *ctx, struct esp_xfer *x, uint32_t i, uint32_t max,
		struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	static const uint8_t zeros[9000];
	struct ep_xfer *xfer = FW_CONTAINER(x, struct ep_xfer, x);
	struct be32 number = be32_put(xfer->first + i);
	uint32_t bytes = ep_of(nic)->payload_bytes;

	CU_ASSERT_PTR_EQUAL(ctx, end_of(nic));
	CU_ASSERT_FATAL(x->packets > i && xfer->first != GIVEN_BACK * 0x01010101u);
	if (end_of(nic)->gone)
		return -FW_EFAULT;
	bytes = bytes < max ? bytes : max;
	memcpy(frame->hdr + hdr_offset, &number, sizeof(number));
	eth_tx_hdr(frame, hdr_offset, sizeof(number), 0);
	if (bytes > sizeof(number))
		frame->seg[frame->num_seg++] = (struct fw_tx_seg){
		    .mem = zeros, .bytes = bytes - (uint32_t)sizeof(number), .kind = FW_TX_MEM};
	return (int)bytes;
}

/* Only where the test's port takes runs. The header is the number of the first packet. */
static bool fill_run(struct fw_nic *nic, void *ctx, struct esp_xfer *x, uint32_t i,
		     uint32_t packets, struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	static const uint8_t zeros[FW_RUN_BYTES];
	struct ep_xfer *xfer = FW_CONTAINER(x, struct ep_xfer, x);
	struct be32 number = be32_put(xfer->first + i);
	uint32_t bytes = ep_of(nic)->payload_bytes - (uint32_t)sizeof(number);

	CU_ASSERT_PTR_EQUAL(ctx, end_of(nic));
	CU_ASSERT_FATAL(packets > 1 && i + packets <= x->packets &&
			packets * bytes < sizeof(zeros));
	if (end_of(nic)->gone)
		return false;
	memcpy(frame->hdr + hdr_offset, &number, sizeof(number));
	eth_tx_hdr_more(frame, sizeof(number));
	frame->run_bytes = (uint16_t)bytes;
	frame->flags |= FW_TX_F_BORROW;
	frame->seg[frame->num_seg++] =
	    (struct fw_tx_seg){.mem = zeros, .bytes = packets * bytes, .kind = FW_TX_MEM};
	return true;
}

static void sent(struct fw_nic *nic, void *ctx, struct esp_xfer *x, bool ok)
{
	struct ep_end *end = ctx;

	CU_ASSERT_PTR_EQUAL(end, end_of(nic));
	CU_ASSERT_FALSE(fw_list_linked(&x->node));
	if (ok) {
		end->sent_ok++;
		CU_ASSERT_EQUAL(x->acked, x->packets);
	} else {
		end->sent_not++;
	}
	memset(FW_CONTAINER(x, struct ep_xfer, x), GIVEN_BACK, sizeof(struct ep_xfer));
}

static void full(struct fw_nic *nic, void *ctx)
{
	(void)nic;
	((struct ep_end *)ctx)->fulls++;
}

static void ended(struct fw_nic *nic, void *ctx, enum esp_end why)
{
	struct ep_end *end = ctx;

	(void)nic;
	CU_ASSERT_PTR_NOT_NULL(end->stream);
	end->stream = NULL;
	end->ends++;
	end->why = why;
	/* Each transfer was given back before. */
	CU_ASSERT_EQUAL(end->sent_ok + end->sent_not, end->num_xfers);
}

static const struct esp_ops ops = {.expects = expects,
				   .accept = accept_stream,
				   .receive = receive,
				   .fill = fill,
				   .fill_run = fill_run,
				   .sent = sent,
				   .full = full,
				   .ended = ended};

/* ---- ends -------------------------------------------------------------------------------- */

const uint8_t *ep_mac(uint32_t e)
{
	static const uint8_t mac[2][6] = {{0x02, 0x77, 0, 0, 0, 1}, {0x02, 0x77, 0, 0, 0, 2}};

	return mac[e];
}

static void init_nic(struct ep *ep, uint32_t e)
{
	struct fw_config config = {.name = "weft0",
				   .ip_prefix = 24,
				   .nic_index = (uint8_t)e,
				   .shard = ep->shard[e],
				   .num_shards = WIRE_EDP_SHARDS,
				   .mtu = (uint16_t)(ep->mtu[e] ? ep->mtu[e] : 1500),
				   .ip = htonl(0x0a4d0001 + e),
				   .hash_secret = BENCH_HASH_SECRET,
				   .esp_burst = ep->burst,
				   .esp_initial_burst = ep->initial_burst};
	struct fw_port port = bench_port_table(&ep->end[e].port);

	port.random64 = random64;
	memcpy(config.mac, ep_mac(e), WIRE_MAC_BYTES);
	ep->end[e].nic = fw_init(&config, &port, ep->end[e].arena, fw_arena_bytes());
	CU_ASSERT_PTR_NOT_NULL_FATAL(ep->end[e].nic);
	ep->end[e].port.nic = ep->end[e].nic;
	fw_now(ep->end[e].nic, ep->wire.now_ns);
	esp_listen(ep->end[e].nic, EP_SERVICE, &ops);
}

void ep_begin_with(struct ep *ep)
{
	uint32_t e;

	bench_wire_init(&ep->wire);
	ep->wire.now_ns = 1000000;
	ep->wire.latency_ns = EP_LATENCY_NS;
	ep->wire.late_ns = 300000;
	ep->wire.twice_ns = 1000;
	ep->wire.filter = on_wire;
	ep->payload_bytes = 300;
	for (e = 0; e < 2; e++) {
		bench_port_init(&ep->end[e].port);
		ep->end[e].port.piece = FRAME_MAX; /* headers, and the rest */
		bench_wire_join(&ep->wire, &ep->end[e].port);
		ep->end[e].room = UINT32_MAX;
		ep->end[e].arena = bench_map(fw_arena_bytes());
		init_nic(ep, e);
	}
}

void ep_begin(struct ep *ep)
{
	memset(ep, 0, sizeof(*ep));
	ep_begin_with(ep);
}

void ep_restart(struct ep *ep, uint32_t e)
{
	struct ep_end *end = &ep->end[e];

	CU_ASSERT_EQUAL_FATAL(end->port.rx_out, 0);
	bench_port_free(&end->port);
	bench_pool_each(end->nic, bench_pool_unpoison);
	munmap(end->arena, fw_arena_bytes());
	end->arena = bench_map(fw_arena_bytes());
	init_nic(ep, e);
	end->stream = NULL;
	end->port.dead = false;
	end->wrote = end->read = end->num_xfers = end->sent_ok = end->sent_not = 0;
}

void ep_check_empty(struct ep *ep)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		const struct fw_nic *nic = ep->end[e].nic;

		CU_ASSERT_EQUAL(fw_ids_used(&nic->esp.ids), 0);
		CU_ASSERT_EQUAL(nic->esp.held.used, 0);
		CU_ASSERT_EQUAL(ep->end[e].port.rx_out, 0);
		CU_ASSERT_EQUAL(nic->timers.count, 0);
		CU_ASSERT_TRUE(fw_list_empty(&nic->esp.ready));
		CU_ASSERT_TRUE(fw_list_empty(&nic->esp.acks));
	}
}

void ep_anew(struct ep *ep)
{
	uint32_t e;

	ep_mark(ep, NULL, 0);
	bench_wire_forget(&ep->wire);
	ep_tx_room(ep, UINT32_MAX);
	for (e = 0; e < 2; e++) {
		struct ep_end *end = &ep->end[e];

		end->port.dead = false;
		if (end->stream)
			ep_abort(ep, e);
		end->refuses = end->refuses_late = end->gone = false;
		end->room = UINT32_MAX;
		end->wrote = end->read = end->num_xfers = end->sent_ok = end->sent_not = 0;
		end->empty = end->fulls = end->accepts = end->ends = 0;
	}
	(void)ep_idle(ep, 30 * EP_S);
	ep_check_empty(ep);
	for (e = 0; e < 2; e++)
		bench_port_free(&ep->end[e].port);
	ep->generation++;
}

void ep_end(struct ep *ep)
{
	uint32_t e;

	ep_anew(ep);
	for (e = 0; e < 2; e++) {
		bench_pool_each(ep->end[e].nic, bench_pool_unpoison);
		munmap(ep->end[e].arena, fw_arena_bytes());
	}
}

struct esp_key ep_key(const struct ep *ep, uint32_t e)
{
	return (struct esp_key){.service = EP_SERVICE,
				.local = e + 1,
				.remote = 2 - e,
				.key = 0x1122334455667788,
				.key2 = 77 + ep->generation};
}

void ep_open(struct ep *ep, uint32_t e)
{
	struct esp_key key = ep_key(ep, e);

	fw_now(ep->end[e].nic, ep->wire.now_ns);
	ep->end[e].stream = esp_open(ep->end[e].nic, FW_CLIENT_ORPHANS, &key, ep_mac(!e),
				     ep->shard[!e], &ep->end[e]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ep->end[e].stream);
}

struct ep_xfer *ep_send(struct ep *ep, uint32_t e, uint32_t packets)
{
	struct ep_end *end = &ep->end[e];
	struct ep_xfer *xfer = &end->xfer[end->num_xfers];

	CU_ASSERT_FATAL(end->num_xfers < EP_XFERS);
	end->num_xfers++;
	xfer->x.packets = packets;
	xfer->x.traced = false;
	xfer->first = end->wrote;
	fw_list_init(&xfer->x.node);
	end->wrote += packets;
	fw_now(end->nic, ep->wire.now_ns);
	esp_send(end->nic, end->stream, &xfer->x);
	return xfer;
}

void ep_close(struct ep *ep, uint32_t e)
{
	fw_now(ep->end[e].nic, ep->wire.now_ns);
	esp_close(ep->end[e].nic, ep->end[e].stream);
}

void ep_abort(struct ep *ep, uint32_t e)
{
	fw_now(ep->end[e].nic, ep->wire.now_ns);
	esp_abort(ep->end[e].nic, ep->end[e].stream);
	ep->end[e].stream = NULL;
}

void ep_room(struct ep *ep, uint32_t e, uint32_t packets)
{
	ep->end[e].room = packets;
	fw_now(ep->end[e].nic, ep->wire.now_ns);
	esp_resume(ep->end[e].nic, ep->end[e].stream);
}

void ep_opened(struct ep *ep)
{
	ep_open(ep, 0);
	ep_run(ep, EP_MS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ep->end[0].stream);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ep->end[1].stream);
	CU_ASSERT_EQUAL_FATAL(ep->end[0].stream->state, ESP_OPEN);
	CU_ASSERT_EQUAL_FATAL(ep->end[1].stream->state, ESP_OPEN);
}

/* ---- time -------------------------------------------------------------------------------- */

void ep_settle(struct ep *ep)
{
	bench_wire_settle(&ep->wire);
}

void ep_run(struct ep *ep, uint64_t ns)
{
	bench_wire_run(&ep->wire, ns);
}

bool ep_idle(struct ep *ep, uint64_t ns)
{
	return bench_wire_until(&ep->wire, ns, NULL);
}
