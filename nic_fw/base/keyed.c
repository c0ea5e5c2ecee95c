/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SipHash-2-4 over three words; calls port->random64() for the key at the first use. Aumasson,
 * Bernstein: SipHash: a fast short-input PRF, 2012.
 */
#include "nic_fw/fw_nic.h"

static inline uint64_t rotl(uint64_t x, uint32_t bits)
{
	return x << bits | x >> (64 - bits);
}

/* The state of the hash, in registers: the functions are inlined. */
struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline __attribute__((always_inline)) void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 = rotl(s->v2, 32);
}

static inline __attribute__((always_inline)) void sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

uint64_t fw_siphash(const uint64_t key[2], uint64_t a, uint64_t b, uint64_t c)
{
	struct sip s = {
	    .v0 = key[0] ^ UINT64_C(0x736f6d6570736575),
	    .v1 = key[1] ^ UINT64_C(0x646f72616e646f6d),
	    .v2 = key[0] ^ UINT64_C(0x6c7967656e657261),
	    .v3 = key[1] ^ UINT64_C(0x7465646279746573),
	};

	sip_word(&s, a);
	sip_word(&s, b);
	sip_word(&s, c);
	sip_word(&s, (uint64_t)24 << 56); /* the message's length */
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
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

uint64_t fw_mac_word(const uint8_t *mac)
{
	uint64_t word = 0;
	uint32_t i;

	for (i = 0; i < WIRE_MAC_BYTES; i++)
		word = word << 8 | mac[i];
	return word;
}

uint32_t fw_keyed_mac(struct fw_nic *nic, const uint8_t *mac)
{
	return (uint32_t)fw_keyed(nic, fw_mac_word(mac), 0, 0);
}
