/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two NICs with nothing but ESP between them, on a wire that a test holds in its hands.
 *
 * The layer above is the fixture's own: each packet carries the next number of its sender, so that
 * a packet lost, repeated or out of order shows at once; transfers are overwritten when sent()
 * gives them back, so that any use after it shows too. A filter sees every frame and passes, drops,
 * doubles or keeps it. A frame takes latency_ns; time moves only when a test says so. Included by
 * esp_*_ut.c and edp_ut.c; esp_pair.c implements it.
 */
#ifndef WEFT_TESTS_ESP_PAIR_H
#define WEFT_TESTS_ESP_PAIR_H

#include "nic_fw/fw_nic.h"
#include "tests/bench/frame.h"
#include "tests/bench/wire.h"
#include "tests/ut.h"

enum {
	EP_XFERS = 128,
};
#define EP_SERVICE    WIRE_ESP_RDMAP
#define EP_LATENCY_NS UINT64_C(5000)
#define EP_MS         UINT64_C(1000000)
#define EP_S          UINT64_C(1000000000)

struct ep;

/* A parsed frame, with pointers into it. esp is NULL where the frame is not of type ESP. */
struct ep_info {
	struct bench_frame *frame;
	uint32_t from;
	uint32_t number; /* of the frame, from the last ep_mark() on */
	struct wire_edp *edp;
	struct wire_esp *esp;
	uint32_t seq;
	uint8_t flags;
	bool numbered;
};

typedef enum bench_verdict (*ep_filter)(struct ep *ep, const struct ep_info *info);

struct ep_xfer {
	struct esp_xfer x;
	uint32_t first; /* number in the first packet */
};

struct ep_end {
	struct bench_port port;
	struct fw_nic *nic;
	void *arena;
	struct esp_stream *stream; /* NULL: none, or over */
	bool refuses;              /* accepts no stream */
	bool refuses_late;         /* accepts a SYN, and has no context later */
	uint32_t room;             /* packets until receive() returns ESP_FULL */
	uint32_t copy_bytes;       /* of each packet to memory that is not mapped; 0: none */
	uint32_t wrote, read;      /* next numbers */
	uint32_t sent_ok, sent_not;
	uint32_t empty; /* packets without payload */
	uint32_t fulls, accepts, ends;
	enum esp_end why; /* of the last end */
	struct ep_xfer xfer[EP_XFERS];
	uint32_t num_xfers;
	bool gone; /* memory of its transfers */
};

struct ep {
	struct bench_wire wire;
	struct ep_end end[2];
	uint32_t generation; /* of the key */
	uint32_t randoms;
	uint32_t payload_bytes; /* of each packet; at least 4 */
	uint32_t mtu[2];
	uint8_t burst, initial_burst;
	uint8_t shard[2]; /* of NICs with eight */
	ep_filter filter;
	uint64_t bits; /* the filter's */
};

void ep_begin(struct ep *ep);
/* The same with settings made before: mtu, burst, initial_burst, shard. */
void ep_begin_with(struct ep *ep);
/* Ends open streams, asserts that nothing is left, frees all. */
void ep_end(struct ep *ep);
/* Aborts open streams, clears all counts, chooses a new key. */
void ep_anew(struct ep *ep);
/* Nothing is in use at either end. */
void ep_check_empty(struct ep *ep);
/* The end restarts with other random numbers and no stream. */
void ep_restart(struct ep *ep, uint32_t e);

struct esp_key ep_key(const struct ep *ep, uint32_t e);
const uint8_t *ep_mac(uint32_t e);
void ep_open(struct ep *ep, uint32_t e);
/* Queues a transfer of so many packets. */
struct ep_xfer *ep_send(struct ep *ep, uint32_t e, uint32_t packets);
void ep_close(struct ep *ep, uint32_t e);
void ep_abort(struct ep *ep, uint32_t e);
/* Adds room for so many packets. */
void ep_room(struct ep *ep, uint32_t e, uint32_t packets);
/* Opens a stream from end 0; both ends are open and all frames of the handshake acknowledged. */
void ep_opened(struct ep *ep);

/* Polls both ends until nothing happens; time stands still. */
void ep_settle(struct ep *ep);
/* Runs for a time, from event to event. */
void ep_run(struct ep *ep, uint64_t ns);
/* Runs until nothing is awaited; false: that takes longer than ns. */
bool ep_idle(struct ep *ep, uint64_t ns);

/* Counts frames from now on. */
void ep_mark(struct ep *ep, ep_filter filter, uint64_t bits);
struct ep_info ep_info_of(struct ep *ep, struct bench_frame *frame, uint32_t from);
void ep_tx_room(struct ep *ep, uint32_t frames);
/* Corrects the CRC32C after a change. */
void ep_reseal(struct bench_frame *frame);
/*
 * A packet as end `from` could send it now, with the incarnations, ports, ack and window of its
 * stream. It is not sent: pass it to bench_wire_inject() and free() it.
 */
struct bench_frame ep_forge(struct ep *ep, uint32_t from, uint8_t flags, bool numbered,
			    uint32_t seq, const void *payload, uint32_t bytes);
/* Makes such a packet and sends it to the other end at once. */
void ep_send_forged(struct ep *ep, struct bench_frame frame);

#define EP_CNT(ep, e, name) ((ep)->end[e].nic->counters.name)

#endif /* WEFT_TESTS_ESP_PAIR_H */
