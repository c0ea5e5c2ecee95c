/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP on the wire, and the Ethernet addresses of IPv4 groups.
 *
 * nic_fw/net/igmp.c implements it. Sources: RFC 3376 4 (version 3), RFC 2236 2 (version 2), RFC
 * 1112 appendix I (version 1) and 6.4 (addresses), RFC 2113 (router alert).
 */
#ifndef WEFT_WIRE_IGMP_H
#define WEFT_WIRE_IGMP_H

#include <stdbool.h>

#include "shared_defs/be.h"

enum wire_igmp_type {
	WIRE_IGMP_QUERY = 0x11,
	WIRE_IGMP_V1_REPORT = 0x12,
	WIRE_IGMP_V2_REPORT = 0x16,
	WIRE_IGMP_V2_LEAVE = 0x17,
	WIRE_IGMP_V3_REPORT = 0x22,
};

/* All messages of versions 1 and 2, and the start of a query of version 3. */
struct wire_igmp {
	uint8_t type;
	/* query: units of 100 ms; version 3, from 128 on: see WIRE_IGMP_FLOAT. */
	uint8_t max_resp_code;
	struct be16 checksum; /* RFC 1071, of the whole IGMP message */
	struct be32 group;    /* query: 0 requests all groups */
};
static_assert(sizeof(struct wire_igmp) == 8, "RFC 2236 2");
static_assert(offsetof(struct wire_igmp, checksum) == 2, "");
static_assert(offsetof(struct wire_igmp, group) == 4, "");

/* RFC 3376 4.1; followed by the addresses of num_sources sources. */
struct wire_igmp_query {
	struct wire_igmp head;
	uint8_t flags; /* reserved 4 bits, S (routers only), QRV 3 bits */
	uint8_t qqic;  /* the querier's interval in s; encoded as max_resp_code from 128 on */
	struct be16 num_sources;
};
static_assert(sizeof(struct wire_igmp_query) == 12, "RFC 3376 4.1");
static_assert(offsetof(struct wire_igmp_query, num_sources) == 10, "");

enum {
	WIRE_IGMP_QRV_MASK = 0x07,
	WIRE_IGMP_FLOAT = 0x80, /* from this value on: (mant | 0x10) << (exp + 3), RFC 3376 4.1.1 */
};

/* RFC 3376 4.2; followed by records. */
struct wire_igmp_report {
	uint8_t type;
	uint8_t reserved;
	struct be16 checksum;
	struct be16 reserved2;
	struct be16 num_records;
};
static_assert(sizeof(struct wire_igmp_report) == 8, "RFC 3376 4.2");
static_assert(offsetof(struct wire_igmp_report, num_records) == 6, "");

enum wire_igmp_record_type {
	WIRE_IGMP_IS_INCLUDE = 1,
	WIRE_IGMP_IS_EXCLUDE = 2,
	WIRE_IGMP_TO_INCLUDE = 3, /* without sources: group left */
	WIRE_IGMP_TO_EXCLUDE = 4, /* without sources: group joined */
};

/* RFC 3376 4.2.4; followed by the addresses of num_sources sources, no auxiliary data. */
struct wire_igmp_record {
	uint8_t type; /* wire_igmp_record_type */
	uint8_t aux_words;
	struct be16 num_sources;
	struct be32 group;
};
static_assert(sizeof(struct wire_igmp_record) == 8, "RFC 3376 4.2.4");
static_assert(offsetof(struct wire_igmp_record, group) == 4, "");

/* RFC 2113 2.1: option 148, length 4, value 0. */
enum {
	WIRE_IP_OPTION_END = 0,
	WIRE_IP_OPTION_NOP = 1,
	WIRE_IP_OPTION_ROUTER_ALERT = 148,
	WIRE_IP_ROUTER_ALERT_BYTES = 4,
	WIRE_IP_TOS_CONTROL = 0xc0, /* precedence internetwork control, RFC 3376 4 */
};

/* Group addresses used by IGMP itself, host byte order. */
/* 224.0.0.1: queries; every host is a member, never reported. */
#define WIRE_IGMP_ALL_SYSTEMS 0xe0000001u
#define WIRE_IGMP_ALL_ROUTERS 0xe0000002u /* 224.0.0.2: leaves of version 2 */
#define WIRE_IGMP_V3_ROUTERS  0xe0000016u /* 224.0.0.22: reports of version 3 */

/* Returns the Ethernet address of a group (network byte order): 01:00:5e and the low 23 bits. */
static inline void wire_group_mac(uint32_t group, uint8_t mac[6])
{
	uint8_t octet[sizeof(group)];

	memcpy(octet, &group, sizeof(octet));
	mac[0] = 0x01;
	mac[1] = 0x00;
	mac[2] = 0x5e;
	mac[3] = octet[1] & 0x7f;
	mac[4] = octet[2];
	mac[5] = octet[3];
}

/* Returns true for a group address (network byte order): 224.0.0.0/4. */
static inline bool wire_is_group(uint32_t ip)
{
	uint8_t octet[sizeof(ip)];

	memcpy(octet, &ip, sizeof(octet));
	return octet[0] >> 4 == 0xe;
}

#endif /* WEFT_WIRE_IGMP_H */
