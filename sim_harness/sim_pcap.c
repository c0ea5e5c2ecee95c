/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture of a simulation: pcapng with virtual time stamps, one interface per NIC.
 *
 * Each frame appears once as sent (outbound at its sender, before faults) and once per arrival
 * (inbound at a receiver, after faults), so Wireshark shows the losses. Written with stdio. Format:
 * the pcapng draft (draft-ietf-opsawg-pcapng), sections 4.1-4.3.
 */
#include "sim_harness/sim_int.h"

#include <errno.h>
#include <string.h>

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINKTYPE_ETHERNET = 1,
	OPT_END = 0,
	OPT_IF_NAME = 2,
	OPT_IF_TSRESOL = 9,
	OPT_EPB_FLAGS = 2,
	FLAG_INBOUND = 1,
	FLAG_OUTBOUND = 2,
	NANOSECONDS = 9, /* if_tsresol: 10^-9 */
};

static void put32(FILE *f, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, f);
}

static void put16(FILE *f, uint16_t value)
{
	fwrite(&value, sizeof(value), 1, f);
}

static void pad(FILE *f, uint32_t bytes)
{
	static const uint8_t zero[4];

	fwrite(zero, 1, -bytes & 3, f);
}

static uint32_t padded(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

static void put_interface(FILE *f, const char *name)
{
	uint32_t name_bytes = (uint32_t)strlen(name);
	uint32_t bytes = 20 + 4 + padded(name_bytes) + 8 + 4;

	put32(f, BLOCK_INTERFACE);
	put32(f, bytes);
	put16(f, LINKTYPE_ETHERNET);
	put16(f, 0);
	put32(f, 0); /* unlimited snap length */
	put16(f, OPT_IF_NAME);
	put16(f, (uint16_t)name_bytes);
	fwrite(name, 1, name_bytes, f);
	pad(f, name_bytes);
	put16(f, OPT_IF_TSRESOL);
	put16(f, 1);
	fputc(NANOSECONDS, f);
	pad(f, 1);
	put32(f, OPT_END);
	put32(f, bytes);
}

int sim_pcap_open(struct sim *sim, const char *path)
{
	sim_pcap_close(sim);
	sim->pcap = fopen(path, "wb");
	if (!sim->pcap)
		return -errno;
	put32(sim->pcap, BLOCK_SECTION);
	put32(sim->pcap, 28);
	put32(sim->pcap, BYTE_ORDER_MAGIC);
	put16(sim->pcap, 1);
	put16(sim->pcap, 0);
	put32(sim->pcap, UINT32_MAX); /* section length unknown, 64 bits */
	put32(sim->pcap, UINT32_MAX);
	put32(sim->pcap, 28);
	sim->pcap_interfaces = 0;
	return 0;
}

void sim_pcap_frame(struct sim_nic *nic, const struct sim_pkt *pkt, uint64_t when_ns, bool out)
{
	FILE *f = nic->sim->pcap;
	uint32_t bytes = 28 + padded(pkt->bytes) + 8 + 4 + 4;

	if (!f)
		return;
	while (nic->sim->pcap_interfaces <= nic->index)
		put_interface(f, nic->sim->nics[nic->sim->pcap_interfaces++]->name);
	put32(f, BLOCK_PACKET);
	put32(f, bytes);
	put32(f, nic->index);
	put32(f, (uint32_t)(when_ns >> 32));
	put32(f, (uint32_t)when_ns);
	put32(f, pkt->bytes);
	put32(f, pkt->bytes);
	fwrite(pkt->data, 1, pkt->bytes, f);
	pad(f, pkt->bytes);
	put16(f, OPT_EPB_FLAGS);
	put16(f, 4);
	put32(f, out ? FLAG_OUTBOUND : FLAG_INBOUND);
	put32(f, OPT_END);
	put32(f, bytes);
}

void sim_pcap_close(struct sim *sim)
{
	if (sim->pcap)
		fclose(sim->pcap);
	sim->pcap = NULL;
}
