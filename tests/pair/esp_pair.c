/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends, the layer above and the wire of esp_pair.h.
 */
#include "tests/pair/esp_pair.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nic_fw/base/crc32c.h"

enum {
	ESP_AT = sizeof(struct wire_eth) + sizeof(struct wire_edp),
	PAYLOAD_AT = ESP_AT + sizeof(struct wire_esp),
	GIVEN_BACK = 0xdd,
};

struct port_ctx {
	struct ep *ep;
	uint32_t e;
};

static struct port_ctx contexts[2];

static struct ep_end *end_of(const struct fw_nic *nic)
{
	const struct port_ctx *p = nic->port.ctx;

	return &p->ep->end[p->e];
}

/* ---- frames ------------------------------------------------------------------------------ */

struct ep_info ep_info_of(struct ep *ep, struct ep_frame *frame, uint32_t from)
{
	struct ep_info info = {.frame = frame, .from = from, .number = ep->frames};

	info.edp = (void *)(frame->b + sizeof(struct wire_eth));
	if ((info.edp->ver_type & 15) != WIRE_EDP_ESP)
		return info;
	info.esp = (void *)(info.edp + 1);
	info.seq = be32_get(info.esp->seq);
	info.flags = info.esp->flags;
	info.numbered = info.esp->numbered == 1;
	return info;
}

void ep_reseal(struct ep_frame *frame)
{
	uint32_t at = sizeof(struct wire_eth), n = frame->n - at - WIRE_EDP_CRC_BYTES;
	struct be32 crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, frame->b + at, n));

	memcpy(frame->b + at + n, &crc, sizeof(crc));
}

static void put_inbox(struct ep *ep, uint32_t to, const void *frame, uint32_t bytes,
		      uint64_t due_ns)
{
	struct ep_end *end = &ep->end[to];
	struct ep_frame *f;
	uint32_t i;

	if (end->dead)
		return;
	if (end->inbox_count == end->inbox_max) {
		end->inbox_max = end->inbox_max ? 2 * end->inbox_max : 64;
		end->inbox = realloc(end->inbox, end->inbox_max * sizeof(*end->inbox));
		CU_ASSERT_PTR_NOT_NULL_FATAL(end->inbox);
	}
	for (i = end->inbox_count++; i && end->inbox[i - 1].due_ns > due_ns; i--)
		end->inbox[i] = end->inbox[i - 1];
	f = &end->inbox[i];
	f->b = malloc(bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->b);
	memcpy(f->b, frame, bytes);
	f->n = bytes;
	f->to = to;
	f->due_ns = due_ns;
}

void ep_inject(struct ep *ep, uint32_t to, const void *frame, uint32_t bytes)
{
	put_inbox(ep, to, frame, bytes, ep->now_ns);
}

void ep_deliver(struct ep *ep, uint32_t i)
{
	CU_ASSERT_FATAL(i < ep->num_kept);
	ep_inject(ep, ep->kept[i].to, ep->kept[i].b, ep->kept[i].n);
}

void ep_forget(struct ep *ep)
{
	while (ep->num_kept)
		free(ep->kept[--ep->num_kept].b);
}

void ep_mark(struct ep *ep, ep_filter filter, uint64_t bits)
{
	ep->frames = 0;
	ep->filter = filter;
	ep->bits = bits;
}

static void on_wire(struct ep *ep, uint32_t from, struct ep_frame *f)
{
	struct ep_info info = ep_info_of(ep, f, from);
	enum ep_verdict verdict = ep->filter ? ep->filter(ep, &info) : EP_PASS;
	uint64_t due_ns = ep->now_ns + EP_LATENCY_NS;

	ep->frames++;
	switch (verdict) {
	case EP_TWICE:
		put_inbox(ep, f->to, f->b, f->n, due_ns);
		put_inbox(ep, f->to, f->b, f->n, due_ns + 1000);
		break;
	case EP_LATE:
		put_inbox(ep, f->to, f->b, f->n, due_ns + 300000);
		break;
	case EP_PASS:
		put_inbox(ep, f->to, f->b, f->n, due_ns);
		break;
	case EP_COPY:
		put_inbox(ep, f->to, f->b, f->n, due_ns);
		/* fall through */
	case EP_KEEP:
		CU_ASSERT_FATAL(ep->num_kept < EP_KEPT);
		ep->kept[ep->num_kept++] = *f;
		return;
	case EP_DROP:
		break;
	}
	free(f->b);
}

struct ep_frame ep_forge(struct ep *ep, uint32_t from, uint8_t flags, bool numbered, uint32_t seq,
			 const void *payload, uint32_t bytes)
{
	const struct esp_stream *s = ep->end[from].stream;
	struct ep_frame f = {.n = PAYLOAD_AT + bytes + WIRE_EDP_CRC_BYTES, .to = !from};
	struct wire_eth *eth;
	struct wire_edp *edp;
	struct wire_esp *esp;

	f.b = calloc(1, f.n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.b);
	eth = (void *)f.b;
	edp = (void *)(eth + 1);
	esp = (void *)(edp + 1);
	memcpy(eth->dst, ep_mac(!from), WIRE_MAC_BYTES);
	memcpy(eth->src, ep_mac(from), WIRE_MAC_BYTES);
	eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	edp->ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_ESP;
	edp->bytes = be16_put((uint16_t)(sizeof(*edp) + sizeof(*esp) + bytes));
	esp->seq = be32_put(seq);
	esp->flags = flags;
	esp->numbered = numbered;
	if (s) {
		edp->dst_port = be16_put(s->remote_port);
		edp->src_port = be16_put(s->local_port);
		esp->ack = be32_put(s->rcv_next);
		esp->window = be16_put((uint16_t)esp_rx_window(s));
		esp->src_inc = be32_put(s->src_inc);
		esp->dst_inc = be32_put(s->dst_inc);
		esp->received = be64_put(s->received & ~UINT64_C(1));
	}
	if (bytes)
		memcpy(f.b + PAYLOAD_AT, payload, bytes);
	ep_reseal(&f);
	return f;
}

void ep_send_forged(struct ep *ep, struct ep_frame frame)
{
	ep_reseal(&frame);
	ep_inject(ep, frame.to, frame.b, frame.n);
	free(frame.b);
	ep_settle(ep);
}

/* ---- the port ---------------------------------------------------------------------------- */

static uint32_t rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct port_ctx *p = ctx;
	struct ep_end *end = &p->ep->end[p->e];
	uint32_t i;

	for (i = 0; i < n && i < end->inbox_count && end->inbox[i].due_ns <= p->ep->now_ns; i++) {
		const struct ep_frame *f = &end->inbox[i];
		uint32_t head = f->n < FW_RX_HDR_BYTES ? f->n : FW_RX_HDR_BYTES;

		memset(&frames[i], 0, sizeof(frames[i]));
		frames[i].bytes = f->n;
		frames[i].cookie = f->b;
		frames[i].seg[0] = (struct fw_rx_seg){f->b, head};
		frames[i].num_seg = 1;
		if (f->n > head)
			frames[i].seg[frames[i].num_seg++] =
			    (struct fw_rx_seg){f->b + head, f->n - head};
	}
	end->inbox_count -= i;
	if (i)
		memmove(end->inbox, end->inbox + i, end->inbox_count * sizeof(*end->inbox));
	return i;
}

static void rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct port_ctx *p = ctx;

	while (n--) {
		if (frames[n].flags & FW_RX_HELD)
			p->ep->end[p->e].held++;
		else
			free(frames[n].cookie);
	}
}

static void rx_release(void *ctx, void *cookie)
{
	struct port_ctx *p = ctx;

	/* A frame may be held and released within one burst, before rx_free() has seen it. */
	p->ep->end[p->e].held--;
	free(cookie);
}

static uint32_t tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	struct port_ctx *p = ctx;
	uint32_t i, k;

	for (i = 0; i < n && p->ep->tx_room; i++) {
		struct ep_frame f = {
		    .n = frames[i].bytes, .to = !p->e, .tx_flags = frames[i].flags};
		uint32_t crc = 0, at = 0;

		if (p->ep->tx_room != UINT32_MAX)
			p->ep->tx_room--;
		f.b = malloc(f.n);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.b);
		frames[i].status = 0;
		for (k = 0; k < frames[i].num_seg; k++) {
			const struct fw_tx_seg *seg = &frames[i].seg[k];
			const uint8_t *src =
			    seg->kind == FW_TX_HDR ? frames[i].hdr + seg->addr : seg->mem;

			if (seg->flags & FW_TX_F_CRC_BEGIN)
				crc = FW_CRC32C_INIT;
			memcpy(f.b + at, src, seg->bytes);
			crc = fw_crc32c(crc, src, seg->bytes);
			at += seg->bytes;
			if (seg->flags & FW_TX_F_CRC_END) {
				struct be32 wire = fw_crc32c_wire(crc);

				memcpy(f.b + at, &wire, sizeof(wire));
				at += (uint32_t)sizeof(wire);
			}
		}
		CU_ASSERT_EQUAL(at, f.n);
		on_wire(p->ep, p->e, &f);
	}
	return i;
}

static uint32_t tx_room(void *ctx)
{
	struct port_ctx *p = ctx;

	return p->ep->tx_room;
}

/*
 * Both incarnations and first numbers are close below 2^32, and those of one stream are unlike
 * those of the ones before and after.
 */
static uint64_t random64(void *ctx)
{
	struct port_ctx *p = ctx;

	uint64_t n = 0xffffffe0u + p->ep->randoms++ % 0x20;

	return n << 32 | n;
}

/* ---- the layer above ----------------------------------------------------------------------- */

static bool expects(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac)
{
	const struct port_ctx *p = nic->port.ctx;
	struct esp_key want = ep_key(p->ep, p->e);

	return !end_of(nic)->refuses && key->key2 == want.key2 && !memcmp(mac, ep_mac(!p->e), 6);
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

	(void)nic;
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
	const struct port_ctx *p = nic->port.ctx;
	struct ep_xfer *xfer = FW_CONTAINER(x, struct ep_xfer, x);
	struct be32 number = be32_put(xfer->first + i);
	uint32_t bytes = p->ep->payload_bytes;

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
	/* Each transfer was given back first. */
	CU_ASSERT_EQUAL(end->sent_ok + end->sent_not, end->num_xfers);
}

static const struct esp_ops ops = {.expects = expects,
				   .accept = accept_stream,
				   .receive = receive,
				   .fill = fill,
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
				   .esp_burst = ep->burst,
				   .esp_initial_burst = ep->initial_burst};
	struct fw_port port = {.ctx = &contexts[e],
			       .rx_burst = rx_burst,
			       .rx_free = rx_free,
			       .rx_release = rx_release,
			       .tx_burst = tx_burst,
			       .tx_room = tx_room,
			       .random64 = random64,
			       .crc32c = fw_crc32c,
			       .copy_crc32c = fw_copy_crc32c};

	memcpy(config.mac, ep_mac(e), WIRE_MAC_BYTES);
	contexts[e] = (struct port_ctx){ep, e};
	ep->end[e].nic = fw_init(&config, &port, ep->end[e].arena, fw_arena_bytes());
	CU_ASSERT_PTR_NOT_NULL_FATAL(ep->end[e].nic);
	fw_now(ep->end[e].nic, ep->now_ns);
	esp_listen(ep->end[e].nic, EP_SERVICE, &ops);
}

static void map_arena(struct ep_end *end)
{
	end->arena = mmap(NULL, fw_arena_bytes(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CU_ASSERT_FATAL(end->arena != MAP_FAILED);
}

void ep_begin_with(struct ep *ep)
{
	uint32_t e;

	ep->now_ns = 1000000;
	ep->payload_bytes = 300;
	ep->tx_room = UINT32_MAX;
	for (e = 0; e < 2; e++) {
		ep->end[e].room = UINT32_MAX;
		map_arena(&ep->end[e]);
		init_nic(ep, e);
	}
}

void ep_begin(struct ep *ep)
{
	memset(ep, 0, sizeof(*ep));
	ep_begin_with(ep);
}

static void drop_inbox(struct ep_end *end)
{
	while (end->inbox_count)
		free(end->inbox[--end->inbox_count].b);
}

void ep_restart(struct ep *ep, uint32_t e)
{
	struct ep_end *end = &ep->end[e];

	CU_ASSERT_EQUAL_FATAL(end->held, 0);
	drop_inbox(end);
	munmap(end->arena, fw_arena_bytes());
	map_arena(end);
	init_nic(ep, e);
	end->stream = NULL;
	end->dead = false;
	end->wrote = end->read = end->num_xfers = end->sent_ok = end->sent_not = 0;
}

void ep_check_empty(struct ep *ep)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		const struct fw_nic *nic = ep->end[e].nic;

		CU_ASSERT_EQUAL(fw_ids_used(&nic->esp.ids), 0);
		CU_ASSERT_EQUAL(nic->esp.held.used, 0);
		CU_ASSERT_EQUAL(ep->end[e].held, 0);
		CU_ASSERT_EQUAL(nic->timers.count, 0);
		CU_ASSERT_TRUE(fw_list_empty(&nic->esp.ready));
		CU_ASSERT_TRUE(fw_list_empty(&nic->esp.acks));
	}
}

void ep_anew(struct ep *ep)
{
	uint32_t e;

	ep_mark(ep, NULL, 0);
	ep_forget(ep);
	ep->tx_room = UINT32_MAX;
	for (e = 0; e < 2; e++) {
		struct ep_end *end = &ep->end[e];

		end->dead = false;
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
		drop_inbox(&ep->end[e]);
	ep->generation++;
}

void ep_end(struct ep *ep)
{
	uint32_t e;

	ep_anew(ep);
	for (e = 0; e < 2; e++) {
		free(ep->end[e].inbox);
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

	fw_now(ep->end[e].nic, ep->now_ns);
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
	fw_now(end->nic, ep->now_ns);
	esp_send(end->nic, end->stream, &xfer->x);
	return xfer;
}

void ep_close(struct ep *ep, uint32_t e)
{
	fw_now(ep->end[e].nic, ep->now_ns);
	esp_close(ep->end[e].nic, ep->end[e].stream);
}

void ep_abort(struct ep *ep, uint32_t e)
{
	fw_now(ep->end[e].nic, ep->now_ns);
	esp_abort(ep->end[e].nic, ep->end[e].stream);
	ep->end[e].stream = NULL;
}

void ep_room(struct ep *ep, uint32_t e, uint32_t packets)
{
	ep->end[e].room = packets;
	fw_now(ep->end[e].nic, ep->now_ns);
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
	uint32_t done, turns = 0, e;

	do {
		done = 0;
		for (e = 0; e < 2; e++)
			if (!ep->end[e].dead)
				done += fw_poll(ep->end[e].nic, ep->now_ns, 256);
		CU_ASSERT_FATAL(++turns < 1000);
	} while (done);
}

static uint64_t next_ns(const struct ep *ep)
{
	uint64_t at = UINT64_MAX, t;
	uint32_t e;

	for (e = 0; e < 2; e++) {
		if (ep->end[e].dead)
			continue;
		t = fw_next_timer_ns(ep->end[e].nic);
		at = t < at ? t : at;
		if (ep->end[e].inbox_count && ep->end[e].inbox[0].due_ns < at)
			at = ep->end[e].inbox[0].due_ns;
	}
	return at;
}

static bool run(struct ep *ep, uint64_t end_ns)
{
	uint32_t events = 0;

	for (;;) {
		uint64_t at;

		ep_settle(ep);
		at = next_ns(ep);
		if (at == UINT64_MAX)
			return true;
		if (at > end_ns)
			return false;
		CU_ASSERT_FATAL(++events < 1000000);
		ep->now_ns = at > ep->now_ns ? at : ep->now_ns + 1000;
	}
}

void ep_run(struct ep *ep, uint64_t ns)
{
	uint64_t end_ns = ep->now_ns + ns;

	(void)run(ep, end_ns);
	ep->now_ns = end_ns;
	ep_settle(ep);
}

bool ep_idle(struct ep *ep, uint64_t ns)
{
	return run(ep, ep->now_ns + ns);
}
