/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of packets in one frame: how those who make them describe their headers, and how a frame of
 * several packets is taken. struct fw_tx_frame has the form; eth_run.c.
 */
#ifndef WEFT_FW_ETH_RUN_H
#define WEFT_FW_ETH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"

struct fw_nic;
struct fw_run;

/* The headers of a run, from Ethernet's on. Pure functions; any core. */
struct eth_run_kind {
	uint32_t least_bytes; /* of the headers */
	/*
	 * The CRC32C covers the headers from front_at on. Packets between the first and the last
	 * have the bytes before back_at in common.
	 */
	uint32_t front_at, back_at;
	/* Turns what stands before front_at into that of packet i. NULL: it is the same. */
	void (*outer)(uint8_t *hdr, uint32_t i, const struct fw_run *run);
	/* Turns the rest into that of packet i, counted from 0. */
	void (*packet)(uint8_t *hdr, uint32_t i, const struct fw_run *run);
	/* Turns the headers of a packet between the first and the last into those of the next. */
	void (*step)(uint8_t *hdr, uint32_t segment_bytes);
	/*
	 * For frames that arrive one by one (eth_join.c); NULL: they are not joined. begins()
	 * returns the length of the headers of the first packet of a message that has more, else 0.
	 * goes_on() is true if hdr can be packet i of first's run, *ends: it is the last. end()
	 * puts what belongs to the end of the message into the headers of the run.
	 */
	uint32_t (*begins)(const uint8_t *hdr);
	bool (*goes_on)(const uint8_t *first, const uint8_t *hdr, uint32_t i,
			uint32_t segment_bytes, bool *ends);
	void (*end)(uint8_t *hdr, const uint8_t *last);
};

/* Bytes that packet i is shorter than the first. */
uint32_t eth_run_less_bytes(uint32_t i, const struct fw_run *run);
/* Payload of all packets of a run that arrived. */
uint32_t eth_run_payload_bytes(const struct fw_rx_frame *frame);

/*
 * Takes a frame of several packets: as one where its protocol takes it so. Of any other the packets
 * that are left take the way of single frames, each on its own, with the counts of those.
 */
void eth_run_rx(struct fw_nic *nic, const struct fw_rx_frame *frame);
/* Hands a run up: nic->net.run_taken of its packets are done with, run_checked says of their CRCs.
 */
void eth_run_take(struct fw_nic *nic, const struct fw_rx_frame *frame);
/* The frame is looked at no further: none of its packets is done with, nothing was counted. */
void eth_run_decline(struct fw_nic *nic);
/*
 * Makes the frame of packet i of a run, whose protocol takes some of its packets one by one; hdr:
 * FW_RX_HDR_BYTES for its headers.
 */
void eth_run_cut(const struct fw_rx_frame *frame, uint32_t i, uint8_t *hdr,
		 struct fw_rx_frame *packet);
/* True if the CRC32C of each packet is right; it counts them then, and only then. */
bool eth_run_crc_ok(struct fw_nic *nic, const struct fw_rx_frame *frame);

#endif /* WEFT_FW_ETH_RUN_H */
