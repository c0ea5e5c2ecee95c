/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selection of TCP segments, and of datagrams of RD, that can go to the kernel as one frame
 * (gso.h), and construction of that frame.
 *
 * A flow begins with single frames, and returns to them for a while after each retransmission: a
 * receiver may accept no frames beyond the MTU (another AF_XDP program, a packet socket), or lose
 * long bursts. RD marks the datagrams that it repeats; a flow of it returns when they are half of
 * those in runs, so that a time-out of a crowded machine changes nothing. Datagrams of other kinds
 * go singly, since their sender does not learn of a loss.
 *
 * Runs on the owner's core.
 */
#ifndef WEFT_APP_GSO_RUN_H
#define WEFT_APP_GSO_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

struct iovec;
struct rte_mbuf;

enum {
	GSO_LEAST = 2,    /* frames per run: minimum */
	GSO_RUN_MAX = 64, /* and maximum */
	GSO_FLOWS = 256,  /* table size; the most recent flows, by hash */
	GSO_PEERS = 64,   /* likewise of stations */
	GSO_L4_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	GSO_HDR_MAX = GSO_L4_AT + 60,
	/* Payload of a datagram from which it goes in a run; AF_XDP is as fast for shorter ones. */
	GSO_UDP_LEAST = 512,
};

/* State of a flow. */
struct gso_flow {
	uint32_t dst_ip, ports;  /* as in the frame */
	uint32_t next_seq;       /* TCP: after all data sent */
	uint32_t in_runs;        /* UDP: recent frames in runs, */
	uint32_t repeated;       /* repeated ones since, */
	uint32_t repeated_alone; /* and those before, while frames went singly */
	bool udp;
	uint32_t alone;   /* frames left to send singly */
	uint32_t penalty; /* their number at the next retransmission; 0: unused entry */
	uint32_t good;    /* frames in runs since the last retransmission */
};

/* A station: runs of a flow to it were sent last, or single frames. */
struct gso_peer {
	uint8_t mac[WIRE_MAC_BYTES];
	bool runs;
};

/* Initially zero. */
struct gso_flows {
	struct gso_flow flow[GSO_FLOWS];
	struct gso_peer peer[GSO_PEERS];
	bool no_udp; /* the kernel takes no runs of datagrams */
};

/*
 * Returns how many of the first n >= 1 frames, each in one segment, can be sent as one: consecutive
 * segments of one TCP flow with omitted checksums (csum.h), or datagrams of one RD session. 1: the
 * first frame goes alone. They count as sent; gso_unsent() undoes that for frames not sent.
 */
uint32_t gso_run(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n);
void gso_unsent(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n);

/*
 * Returns true if a run that the firmware made (fw_tx_frame.run) may go as one, and counts it as
 * sent. hdr: the headers of its first packet; bytes: what follows UDP's or TCP's in all packets.
 */
bool gso_run_whole(struct gso_flows *flows, const uint8_t *hdr, uint32_t packets, uint32_t bytes);
/* The kernel refused it: its packets are not sent again when they go singly, or later. */
void gso_run_refused(struct gso_flows *flows, const uint8_t *hdr);
/* Returns true if runs to a station are likely to go as one. */
bool gso_runs_to(const struct gso_flows *flows, const uint8_t *mac);

/*
 * Returns true if a further frame could extend the run and is likely to follow; full: the burst
 * had as many frames as it may have.
 */
bool gso_may_go_on(struct rte_mbuf *const *frames, uint32_t n, bool full);

/*
 * Builds the frame for a run of n >= GSO_LEAST. Writes headers to hdr (GSO_HDR_MAX bytes) and
 * returns their length; payload[i] is the payload of frame i. *each: payload bytes per segment. The
 * length in a UDP header is that of one datagram, as in those that the kernel makes of the frame:
 * a receiver that gets it whole finds in it where to cut (gso_cut.h).
 */
uint32_t gso_join(struct rte_mbuf *const *frames, uint32_t n, uint8_t *hdr, struct iovec *payload,
		  uint16_t *each);
/*
 * The same of the headers alone, for a run that the firmware made: first: those of its first
 * packet; run: those of the run; bytes: as above; each: of the first packet.
 */
uint32_t gso_join_hdr(const uint8_t *first, const uint8_t *run, uint32_t bytes, uint16_t each,
		      uint8_t *hdr);
/*
 * Length of the headers up to UDP's or TCP's in a packet that the firmware made; 0: of another
 * protocol.
 */
uint32_t gso_hdr_bytes(const uint8_t *hdr);

#endif /* WEFT_APP_GSO_RUN_H */
