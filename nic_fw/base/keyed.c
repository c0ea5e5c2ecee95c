/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SipHash-2-4 over three words; calls port->random64() for the key at the first use. Aumasson,
 * Bernstein: SipHash: a fast short-input PRF, 2012.
 */
#include "nic_fw/fw_nic.h"

static uint64_t rotl(uint64_t x, uint32_t bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], uint32_t rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

uint64_t fw_siphash(const uint64_t key[2], uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t msg[3] = {a, b, c};
	uint64_t v[4] = {
	    key[0] ^ UINT64_C(0x736f6d6570736575),
	    key[1] ^ UINT64_C(0x646f72616e646f6d),
	    key[0] ^ UINT64_C(0x6c7967656e657261),
	    key[1] ^ UINT64_C(0x7465646279746573),
	};
	uint64_t last = (uint64_t)24 << 56; /* the message's length */
	uint32_t i;

	for (i = 0; i < 3; i++) {
		v[3] ^= msg[i];
		sip_rounds(v, 2);
		v[0] ^= msg[i];
	}
	v[3] ^= last;
	sip_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void fw_hash_key_init(struct fw_hash_key *key, const uint64_t secret[2])
{
	uint32_t i;

	for (i = 0; i < sizeof(key->word) / sizeof(key->word[0]); i++)
		key->word[i] = fw_siphash(secret, i, 0, 0);
}

uint64_t fw_keyed(struct fw_nic *nic, uint64_t a, uint64_t b, uint64_t c)
{
	if (!nic->key.drawn) {
		nic->key.word[0] = nic->port.random64(nic->port.ctx);
		nic->key.word[1] = nic->port.random64(nic->port.ctx);
		nic->key.drawn = true;
	}
	return fw_siphash(nic->key.word, a, b, c);
}

uint32_t fw_keyed_mac(struct fw_nic *nic, const uint8_t *mac)
{
	uint64_t word = 0;
	uint32_t i;

	for (i = 0; i < WIRE_MAC_BYTES; i++)
		word = word << 8 | mac[i];
	return (uint32_t)fw_keyed(nic, word, 0, 0);
}
