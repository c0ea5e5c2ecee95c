/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A keyed hash, for numbers that a peer must not guess and table slots that it must not choose.
 *
 * SipHash-2-4 (Aumasson, Bernstein 2012) with a key of this NIC, drawn at the first use. Callers
 * keep their uses apart by the words that they pass.
 */
#ifndef WEFT_FW_KEYED_H
#define WEFT_FW_KEYED_H

#include <stdbool.h>
#include <stdint.h>

struct fw_hash_key;
struct fw_nic;

struct fw_key {
	uint64_t word[2];
	bool drawn;
};

/* SipHash of three words of message, with a key of the caller. */
uint64_t fw_siphash(const uint64_t key[2], uint64_t a, uint64_t b, uint64_t c);
/* SipHash of three words of message, with the key of the NIC. */
uint64_t fw_keyed(struct fw_nic *nic, uint64_t a, uint64_t b, uint64_t c);
/* Makes the key of hash tables (hash.h) of a secret. */
void fw_hash_key_init(struct fw_hash_key *key, const uint64_t secret[2]);
/* A station's MAC as a number, to be hashed. */
uint64_t fw_mac_word(const uint8_t *mac);
/* SipHash of a station's MAC. */
uint32_t fw_keyed_mac(struct fw_nic *nic, const uint8_t *mac);

#endif /* WEFT_FW_KEYED_H */
