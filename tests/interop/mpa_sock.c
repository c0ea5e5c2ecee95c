/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An iWARP endpoint over an ordinary TCP socket of the kernel: MPA, DDP and RDMAP by hand, so that
 * Linux's TCP is the peer of a NIC's. The other end is rc_peer.c (verbs) or another mpa_sock;
 * peer.h has their protocol.
 *
 * mpa_sock --help lists the options: those of rc_peer, and its own. With --error it prints the
 * Terminate that answers a faulty segment: "terminate LAYER TYPE CODE". Exit codes: 0, 1 wrong, 2
 * usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "tests/interop/mpa_wire.h"
#include "tests/interop/peer.h"

enum {
	STAG_SINK = 0x1001,
	STAG_SOURCE = 0x1002,
	STAG_BAD = 0x00ffee00,
	READ_BYTES = 65536,
	READ_BYTES_SLOW = 2048,
	READS = 4, /* in flight */
	DEPTH = 16,
};
#define TO_SINK   UINT64_C(0x10000)
#define TO_SOURCE UINT64_C(0x700000000000)

struct end {
	struct peer p;
	bool crc, peer_to_peer;
	uint32_t slow_us, stall_ms, reset_after;
	const char *error;
	uint8_t revision;

	struct mpa_stream s;
	uint8_t *message; /* message: a Send that comes in segments */
	uint32_t message_bytes;
	bool ended, terminated;
	uint32_t msn_in;
};

/* ---- sending */

static void send_note(struct end *e, enum peer_kind kind, uint32_t number)
{
	struct peer_note note = peer_note(kind, number);

	mpa_send(&e->s, WIRE_RDMAP_SEND, &note, sizeof(note));
}

static void produce(struct end *e)
{
	while (e->p.sent < e->p.count && e->p.sent - e->p.acked < PEER_WINDOW &&
	       mpa_has_room(&e->s, e->p.bytes + 2 * sizeof(struct peer_note))) {
		uint32_t slot = e->p.sent % PEER_SLOTS;

		if (!e->p.quick)
			peer_fill(&e->p, e->p.source, e->p.sent);
		if (e->p.op == PEER_WRITE) {
			mpa_tagged(&e->s, WIRE_RDMAP_WRITE, e->p.peer_stag,
				   e->p.peer_addr + (uint64_t)slot * e->p.stride, e->p.source,
				   e->p.bytes);
			send_note(e, PEER_NOTE_DATA, e->p.sent);
		} else {
			mpa_send(&e->s, WIRE_RDMAP_SEND, e->p.source, e->p.bytes);
		}
		e->p.sent++;
	}
}

static void read_on(struct end *e)
{
	while (e->p.reads < e->p.count && e->p.reads - e->p.received < READS) {
		uint32_t slot = e->p.reads % PEER_SLOTS;

		mpa_read_request(&e->s, STAG_SINK, TO_SINK + (uint64_t)slot * e->p.stride,
				 e->p.bytes, e->p.peer_stag,
				 e->p.peer_addr + (uint64_t)slot * e->p.stride);
		e->p.reads++;
	}
}

static void tell(struct end *e)
{
	if (!peer_due(&e->p))
		return;
	e->p.told = e->p.received;
	send_note(e, PEER_NOTE_ACK, e->p.told);
}

/* ---- receiving */

/* Writes into the sink's slots; returns true for the last one of its message. */
static bool take_tagged(struct end *e, const uint8_t *ulpdu, uint32_t bytes)
{
	struct wire_ddp_tagged head;
	uint64_t at;

	memcpy(&head, ulpdu, sizeof(head));
	bytes -= (uint32_t)sizeof(head);
	at = be64_get(head.to) - TO_SINK;
	errno = 0;
	if (bytes) {
		CHECK(be32_get(head.stag) == STAG_SINK, "a segment to another STag");
		CHECK(at <= (uint64_t)PEER_SLOTS * e->p.stride &&
			  bytes <= (uint64_t)PEER_SLOTS * e->p.stride - at,
		      "a segment beyond the buffer");
		memcpy(e->p.sink + at, ulpdu + sizeof(head), bytes);
	}
	return head.ddp_ctrl & WIRE_DDP_LAST;
}

static void answer_read(struct end *e, const uint8_t *payload, uint32_t bytes)
{
	struct wire_read_request request;
	uint64_t at;

	errno = 0;
	CHECK(bytes == sizeof(request), "a Read Request of another length");
	memcpy(&request, payload, sizeof(request));
	bytes = be32_get(request.bytes);
	at = be64_get(request.src_to) - TO_SOURCE;
	if (bytes) {
		CHECK(be32_get(request.src_stag) == STAG_SOURCE, "a Read of another STag");
		CHECK(at <= (uint64_t)PEER_SLOTS * e->p.stride &&
			  bytes <= (uint64_t)PEER_SLOTS * e->p.stride - at,
		      "a Read beyond the buffer");
	} else {
		at = 0;
	}
	CHECK(mpa_has_room(&e->s, bytes), "more Reads than were allowed");
	mpa_tagged(&e->s, WIRE_RDMAP_READ_RESPONSE, be32_get(request.sink_stag),
		   be64_get(request.sink_to), e->p.source + at, bytes);
}

static void take_terminate(struct end *e, const uint8_t *payload, uint32_t bytes)
{
	e->terminated = true;
	if (bytes >= sizeof(struct wire_terminate))
		printf("terminate %d %d 0x%02x\n", payload[0] >> 4, payload[0] & 15, payload[1]);
	errno = 0;
	CHECK(e->error, "a Terminate");
}

static void take_untagged(struct end *e, const uint8_t *ulpdu, uint32_t bytes)
{
	struct wire_ddp_untagged head;
	const uint8_t *payload = ulpdu + sizeof(head);
	uint32_t mo;

	memcpy(&head, ulpdu, sizeof(head));
	bytes -= (uint32_t)sizeof(head);
	mo = be32_get(head.mo);
	errno = 0;
	switch (head.rdmap_ctrl & WIRE_RDMAP_OPCODE_MASK) {
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_SE:
		CHECK(be32_get(head.msn) == e->msn_in, "a Send out of turn");
		CHECK(mo == e->message_bytes && mo + bytes <= e->p.stride, "a Send too long");
		memcpy(e->message + mo, payload, bytes);
		e->message_bytes += bytes;
		if (!(head.ddp_ctrl & WIRE_DDP_LAST))
			break;
		bytes = e->message_bytes;
		e->message_bytes = 0;
		e->msn_in++;
		peer_take(&e->p, e->message, bytes);
		break;
	case WIRE_RDMAP_READ_REQUEST:
		answer_read(e, payload, bytes);
		break;
	case WIRE_RDMAP_TERMINATE:
		take_terminate(e, payload, bytes);
		break;
	default:
		peer_die("an untagged message that nobody expects");
	}
}

static void take(struct end *e, const uint8_t *ulpdu, uint32_t bytes)
{
	bool last;

	errno = 0;
	CHECK(!e->s.bad_crc, "a wrong CRC");
	if (!bytes)
		return; /* a Send that says "ready" */
	CHECK(bytes >= sizeof(struct wire_ddp_tagged), "an FPDU without its headers");
	CHECK((ulpdu[0] & WIRE_DDP_VERSION_MASK) == WIRE_DDP_VERSION &&
		  (ulpdu[1] & WIRE_RDMAP_VERSION_MASK) == WIRE_RDMAP_VERSION,
	      "another version");
	if (!(ulpdu[0] & WIRE_DDP_TAGGED)) {
		CHECK(bytes >= sizeof(struct wire_ddp_untagged), "an FPDU without its headers");
		take_untagged(e, ulpdu, bytes);
		return;
	}
	last = take_tagged(e, ulpdu, bytes);
	if ((ulpdu[1] & WIRE_RDMAP_OPCODE_MASK) != WIRE_RDMAP_READ_RESPONSE || !last)
		return;
	if (e->p.received < e->p.reads)
		peer_check_data(&e->p,
				e->p.sink + (size_t)(e->p.received % PEER_SLOTS) * e->p.stride,
				e->p.bytes, e->p.received % PEER_SLOTS);
}

/* ---- the connection */

static void meet(struct end *e, const struct mpa_setup *setup)
{
	errno = 0;
	CHECK(!setup->reject, "rejected");
	CHECK(!setup->markers, "the peer wants markers");
	peer_meet(&e->p, setup->data, setup->data_bytes);
}

static struct mpa_setup my_setup(const struct end *e)
{
	bool read = e->p.op == PEER_READ;
	struct peer_hello hello =
	    peer_hello(&e->p, read ? STAG_SOURCE : STAG_SINK, read ? TO_SOURCE : TO_SINK);
	struct mpa_setup setup = {.revision = e->revision,
				  .crc = e->crc,
				  .peer_to_peer = e->peer_to_peer,
				  .ird = DEPTH,
				  .ord = DEPTH,
				  .data_bytes = sizeof(hello)};

	if (e->peer_to_peer)
		setup.rtr = WIRE_MPA_RTR_WRITE | WIRE_MPA_RTR_READ;
	memcpy(setup.data, &hello, sizeof(hello));
	return setup;
}

static void make_buffers(struct end *e)
{
	size_t slots = (size_t)PEER_SLOTS * e->p.stride;

	e->p.sink = calloc(1, slots);
	e->p.source = calloc(1, slots);
	e->message = calloc(1, e->p.stride);
	CHECK(e->p.sink && e->p.source && e->message, "memory");
	/* Touched now, not during a measurement. */
	memset(e->p.sink, 0xa5, slots);
	for (uint32_t i = 0; i < PEER_SLOTS; i++)
		peer_fill(&e->p, e->p.source + (size_t)i * e->p.stride, i);
}

static int tcp_socket(const struct end *e)
{
	const struct timeval limit = {.tv_sec = PEER_LIMIT_S};
	const int one = 1, small = 8192;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0, "socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (e->slow_us || e->stall_ms)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	return fd;
}

static int accept_on(struct end *e, const struct sockaddr_in *addr)
{
	int listener = tcp_socket(e), fd;
	struct mpa_setup setup, reply;

	CHECK(!bind(listener, (const struct sockaddr *)addr, sizeof(*addr)), "bind");
	CHECK(!listen(listener, 4), "listen");
	printf("listening\n");
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0, "accept");
	close(listener);
	CHECK(!mpa_setup_receive(fd, WIRE_MPA_KEY_REQ, &setup), "no MPA request");
	meet(e, &setup);
	e->revision = setup.revision;
	e->crc |= setup.crc;
	reply = my_setup(e);
	/* One of the offered kinds, or the kind that every RNIC supports. */
	reply.peer_to_peer = setup.peer_to_peer;
	reply.rtr = setup.rtr & WIRE_MPA_RTR_WRITE ? WIRE_MPA_RTR_WRITE : setup.rtr;
	CHECK(!mpa_setup_send(fd, WIRE_MPA_KEY_REP, &reply), "send");
	return fd;
}

static int connect_to(struct end *e, const struct sockaddr_in *addr)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(e->p.own_port)};
	struct mpa_setup setup = my_setup(e);
	int fd = tcp_socket(e);

	if (e->p.own_port)
		CHECK(!bind(fd, (struct sockaddr *)&own, sizeof(own)), "bind");
	CHECK(!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)), "connect");
	CHECK(!mpa_setup_send(fd, WIRE_MPA_KEY_REQ, &setup), "send");
	CHECK(!mpa_setup_receive(fd, WIRE_MPA_KEY_REP, &setup), "no MPA reply");
	meet(e, &setup);
	e->crc = setup.crc;
	e->peer_to_peer = setup.peer_to_peer;
	CHECK(!mpa_stream_init(&e->s, fd), "memory");
	e->s.crc = e->crc;
	if (e->peer_to_peer) {
		if (setup.rtr & WIRE_MPA_RTR_WRITE)
			mpa_tagged(&e->s, WIRE_RDMAP_WRITE, 1, 0, e->p.source, 0);
		else if (setup.rtr & WIRE_MPA_RTR_READ)
			mpa_read_request(&e->s, 1, 0, 0, 1, 0);
		else
			mpa_put(&e->s, NULL, 0, NULL, 0);
	}
	return fd;
}

/* ---- the run */

static bool all_done(const struct end *e)
{
	bool acked = !peer_is_source(&e->p) || e->p.acked == e->p.count;
	bool told = !peer_is_sink(&e->p) || e->p.told == e->p.count;

	return acked && told && e->s.tx_from == e->s.tx_to;
}

static void reset(struct end *e)
{
	const struct linger hard = {.l_onoff = 1};

	setsockopt(e->s.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(e->s.fd);
	printf("ok: reset after %u messages\n", e->p.sent + e->p.received);
	exit(0);
}

/* One pass: makes the next messages, waits, sends, reads. */
static void turn(struct end *e)
{
	struct pollfd wait = {.fd = e->s.fd, .events = POLLIN};
	const uint8_t *ulpdu;
	uint32_t bytes, before = e->p.sent;

	/* Makes room for messages first: else it would sleep with some to make and none to send. */
	if (!mpa_flush(&e->s))
		e->ended = true;
	if (e->p.go && !e->error && !e->ended) {
		if (peer_is_sink(&e->p) && e->p.op == PEER_READ)
			read_on(e);
		else if (peer_is_source(&e->p) && e->p.op != PEER_READ)
			produce(e);
		tell(e);
	}
	if (!mpa_flush(&e->s))
		e->ended = true;
	if (e->s.tx_from < e->s.tx_to)
		wait.events |= POLLOUT;
	if (poll(&wait, 1, e->p.sent == before ? 100 : 0) <= 0 || e->ended)
		return;
	if (wait.revents & (POLLIN | POLLHUP | POLLERR) &&
	    !mpa_fill(&e->s, e->slow_us ? READ_BYTES_SLOW : READ_BYTES))
		e->ended = true;
	while ((ulpdu = mpa_next(&e->s, &bytes)) != NULL)
		take(e, ulpdu, bytes);
	if (e->slow_us)
		usleep(e->slow_us);
	if (e->stall_ms && e->p.received + e->p.acked >= e->p.count / 2) {
		usleep(e->stall_ms * 1000);
		e->stall_ms = 0;
	}
	if (e->reset_after && e->p.received + e->p.acked >= e->reset_after)
		reset(e);
}

static void until_end(struct end *e, uint64_t start)
{
	while (!e->ended) {
		errno = 0;
		CHECK(clock_now_ms() - start < PEER_LIMIT_S * 1000, "no end in time");
		turn(e);
	}
}

static void run(struct end *e)
{
	uint64_t start = clock_now_ms(), took;

	while (!all_done(e)) {
		errno = 0;
		CHECK(!e->ended, "the connection ended before its time");
		CHECK(clock_now_ms() - start < PEER_LIMIT_S * 1000, "not done in time");
		turn(e);
	}
	took = clock_now_ms() - start;
	printf("ok: %u messages of %u bytes in %u ms\n", e->p.count, e->p.bytes, (unsigned)took);
	if (peer_ends(&e->p))
		shutdown(e->s.fd, SHUT_WR);
	until_end(e, start);
	errno = 0;
	CHECK(!e->s.reset || e->p.flags & PEER_F_BOTH_END, "reset instead of closed");
}

/* ---- deliberate errors: each comes first on the stream */

static void put_untagged(struct end *e, uint8_t ddp, uint8_t rdmap, uint32_t qn, uint32_t msn,
			 uint32_t mo, uint32_t bytes)
{
	struct wire_ddp_untagged head = {.ddp_ctrl = (uint8_t)(WIRE_DDP_LAST | ddp),
					 .rdmap_ctrl = rdmap,
					 .qn = be32_put(qn),
					 .msn = be32_put(msn),
					 .mo = be32_put(mo)};

	mpa_put(&e->s, &head, sizeof(head), e->p.source, bytes);
}

static bool put_error(struct end *e)
{
	const uint8_t ddp = WIRE_DDP_VERSION, send = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND;
	const char *error = e->error;

	if (!strcmp(error, "crc")) {
		put_untagged(e, ddp, send, 0, 1, 0, 16);
		e->s.tx[e->s.tx_to - 1] ^= 0x40;
	} else if (!strcmp(error, "stag")) {
		mpa_tagged(&e->s, WIRE_RDMAP_WRITE, STAG_BAD, 0x1000, e->p.source, 16);
	} else if (!strcmp(error, "bounds")) {
		mpa_tagged(&e->s, WIRE_RDMAP_WRITE, e->p.peer_stag, e->p.peer_addr - 8, e->p.source,
			   16);
	} else if (!strcmp(error, "wrap")) {
		mpa_tagged(&e->s, WIRE_RDMAP_WRITE, e->p.peer_stag, UINT64_MAX - 7, e->p.source,
			   16);
	} else if (!strcmp(error, "read-stag")) {
		mpa_read_request(&e->s, STAG_SINK, TO_SINK, 16, STAG_BAD, 0);
	} else if (!strcmp(error, "qn")) {
		put_untagged(e, ddp, send, 5, 1, 0, 16);
	} else if (!strcmp(error, "msn")) {
		put_untagged(e, ddp, send, 0, 2, 0, 16);
	} else if (!strcmp(error, "mo")) {
		put_untagged(e, ddp, send, 0, 1, 8, 16);
	} else if (!strcmp(error, "long")) {
		put_untagged(e, ddp, send, 0, 1, 0, e->p.stride + 64);
	} else if (!strcmp(error, "ddp-version")) {
		put_untagged(e, 2, send, 0, 1, 0, 16);
	} else if (!strcmp(error, "rdmap-version")) {
		put_untagged(e, ddp, WIRE_RDMAP_SEND, 0, 1, 0, 16);
	} else if (!strcmp(error, "opcode")) {
		put_untagged(e, ddp, WIRE_RDMAP_VERSION | 0xd, 0, 1, 0, 16);
	} else if (!strcmp(error, "response")) {
		mpa_tagged(&e->s, WIRE_RDMAP_READ_RESPONSE, e->p.peer_stag, e->p.peer_addr,
			   e->p.source, 16);
	} else {
		return false;
	}
	return true;
}

static void run_error(struct end *e)
{
	uint64_t start = clock_now_ms();

	CHECK(put_error(e), "-x: no such error");
	until_end(e, start);
	errno = 0;
	CHECK(e->terminated, "no Terminate came");
}

static const struct cli_option rows[] = {
    PEER_ROWS(struct end),
    {.name = "revision",
     .letter = 'r',
     .value = "N",
     .help = "revision of MPA",
     .kind = CLI_NUMBER,
     .low = 1,
     .high = 2,
     .initial = "2",
     CLI_FIELD(struct end, revision)},
    {.name = "crc", .letter = 'c', .help = "CRCs", .kind = CLI_FLAG, CLI_FIELD(struct end, crc)},
    {.name = "peer-to-peer",
     .letter = 'm',
     .help = "peer-to-peer mode, with a frame first",
     .kind = CLI_FLAG,
     CLI_FIELD(struct end, peer_to_peer)},
    {.name = "slow",
     .letter = 'l',
     .value = "US",
     .help = "pauses between small reads",
     .kind = CLI_NUMBER,
     .high = UINT32_MAX,
     CLI_FIELD(struct end, slow_us)},
    {.name = "stall",
     .letter = 'L',
     .value = "MS",
     .help = "reads nothing for a while in the middle",
     .kind = CLI_NUMBER,
     .high = UINT32_MAX,
     CLI_FIELD(struct end, stall_ms)},
    {.name = "reset",
     .letter = 'R',
     .value = "N",
     .help = "resets the connection after N messages",
     .kind = CLI_NUMBER,
     .high = UINT32_MAX,
     CLI_FIELD(struct end, reset_after)},
    {.name = "error",
     .letter = 'x',
     .value = "ERROR",
     .help = "sends a faulty segment",
     .kind = CLI_TEXT,
     CLI_FIELD(struct end, error)},
};

static const struct cli_program program = {
    .name = "mpa_sock",
    .usage = "mpa_sock listen|connect ADDRESS PORT [OPTION]...",
    .about = "An iWARP endpoint over a TCP socket of the kernel.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(*rows),
};

int main(int argc, char **argv)
{
	static struct end e = {.msn_in = 1};
	struct sockaddr_in addr;
	int fd, rc = peer_parse(&program, &e, &e.p, &addr, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (e.p.passive) {
		fd = accept_on(&e, &addr);
		CHECK(!mpa_stream_init(&e.s, fd), "memory");
		e.s.crc = e.crc;
	} else {
		make_buffers(&e);
		fd = connect_to(&e, &addr);
	}
	if (e.p.passive)
		make_buffers(&e);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (!e.p.passive && !e.error) {
		(void)mpa_flush(&e.s);
		usleep(e.p.wait_ms * 1000);
		send_note(&e, PEER_NOTE_GO, 0);
		e.p.go = true;
	}
	if (e.error)
		run_error(&e);
	else
		run(&e);
	close(fd);
	mpa_stream_free(&e.s);
	free(e.p.sink);
	free(e.p.source);
	free(e.message);
	return 0;
}
