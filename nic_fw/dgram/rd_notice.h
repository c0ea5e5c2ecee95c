/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notices: Terminates, and NACKs and DONEs of tagged endpoints. See rd_notice.c.
 */
#ifndef WEFT_FW_RD_NOTICE_H
#define WEFT_FW_RD_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;
struct fw_wqe;

/* True if that peer's session and station may have one more. */
bool rd_notice_may(struct fw_nic *nic, uint32_t ip, uint32_t qpn);
/* Charges a message that has its flow to its session and station, until it is freed. */
void rd_notice_charge(struct fw_nic *nic, struct fw_wqe *msg);

#endif /* WEFT_FW_RD_NOTICE_H */
