/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture of a simulation: pcapng with virtual time stamps, one interface per NIC.
 *
 * Each frame appears once as sent (outbound at its sender, before faults) and once per arrival
 * (inbound at a receiver, after faults), so Wireshark shows the losses. Written with stdio; the
 * format is that of lib/pcapng.h.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <errno.h>

#include "lib/pcapng.h"

int sim_pcap_open(struct sim *sim, const char *path)
{
	uint8_t block[PCAPNG_SECTION_BYTES];
	uint32_t bytes = pcapng_section(block);

	sim_pcap_close(sim);
	sim->pcap = fopen(path, "wb");
	if (!sim->pcap)
		return -errno;
	fwrite(block, 1, bytes, sim->pcap);
	sim->pcap_interfaces = 0;
	return 0;
}

void sim_pcap_frame(struct sim_nic *nic, const struct sim_pkt *pkt, uint64_t when_ns, bool out)
{
	uint8_t block[SIM_MAX_FRAME_BYTES + PCAPNG_PACKET_OVERHEAD];
	struct sim *sim = nic->sim;
	uint32_t bytes;

	if (!sim->pcap)
		return;
	while (sim->pcap_interfaces <= nic->index) {
		bytes = pcapng_interface(block, sim->nics[sim->pcap_interfaces++]->name);
		fwrite(block, 1, bytes, sim->pcap);
	}
	assert(pkt->bytes <= SIM_MAX_FRAME_BYTES);
	bytes = pcapng_packet(block, nic->index, when_ns, out ? PCAPNG_OUTBOUND : PCAPNG_INBOUND, 0,
			      pkt->data, pkt->bytes);
	fwrite(block, 1, bytes, sim->pcap);
}

void sim_pcap_close(struct sim *sim)
{
	if (sim->pcap)
		fclose(sim->pcap);
	sim->pcap = NULL;
}
