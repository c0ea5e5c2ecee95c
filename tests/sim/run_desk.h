/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A desk between port and firmware of a receiver, for run_same.c.
 *
 * It copies the frames of each burst, changes them, cuts runs into their packets or not, and hands
 * them on: the firmware gets the same packets in the same turns.
 */
#ifndef WEFT_TESTS_RUN_DESK_H
#define WEFT_TESTS_RUN_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft.h"
#include "nic_fw/fw_port.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"
#include "tests/sim/sim_fix.h"

enum {
	DESK_IP_AT = sizeof(struct wire_eth),
	DESK_UDP_AT = DESK_IP_AT + sizeof(struct wire_ip),
};

/* A frame in the desk's memory: headers, payload, CRC32Cs. */
struct desk_item {
	uint8_t *hdr, *payload, *crcs;
	uint32_t hdr_bytes, flags;
	struct fw_run run;
	bool other; /* no run, no packet of one: passed on as it is, its bytes behind hdr */
};

struct scene;

/* A row of the tables: what the second run meets. */
struct desk_row {
	const char *name;
	enum weft_wr_opcode opcode;
	uint32_t bad;                           /* packets with a wrong CRC32C, a bit each */
	void (*change)(struct desk_item *item); /* of the headers; the CRC32Cs fit them */
	void (*before)(struct scene *scene);
	bool twice; /* the run comes again */
	bool late;  /* it comes behind the next one */
	bool lost;
	bool endless; /* the request does not end */
	enum weft_wc_status status;
};

/* Puts the desk in front of a NIC; cut: runs come as their packets. */
void desk_open(struct sim_nic *nic, const struct desk_row *row, bool cut);
/* Runs that the firmware got whole. */
struct desk_count {
	uint32_t shown;
	uint32_t looked; /* those that ended a burst */
	uint32_t taken;  /* of these it took as one */
};
struct desk_count desk_close(void);

/* desk_row.change: what every kind of run over IPv4 has. The port is the receiver's. */
void desk_other_mac(struct desk_item *item);
void desk_other_target(struct desk_item *item);
void desk_fragment(struct desk_item *item);
void desk_congested(struct desk_item *item);
void desk_other_port(struct desk_item *item);

#endif /* WEFT_TESTS_RUN_DESK_H */
