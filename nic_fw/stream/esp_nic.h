/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that stream/ owns. docs/wire-esp.md.
 */
#ifndef WEFT_FW_ESP_NIC_H
#define WEFT_FW_ESP_NIC_H

#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"

struct esp_ops;
struct esp_stream;

enum {
	FW_ESP_HASH_SIZE = 4096,
	FW_ESP_SERVICES = 4,
};

struct esp_nic {
	struct esp_stream *streams;
	struct fw_ids ids;
	struct fw_pool held;
	uint32_t *hash;        /* FW_ESP_HASH_SIZE */
	struct fw_list ready;  /* streams that may send */
	struct fw_list acks;   /* streams that owe an ACK: those that must go first, then by time */
	uint32_t unreachables; /* sent in this turn */
	const struct esp_ops *ops[FW_ESP_SERVICES];
};

#endif /* WEFT_FW_ESP_NIC_H */
