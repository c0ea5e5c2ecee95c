/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench's SHA-256 against the examples of FIPS 180-4 (NIST's SHA256.pdf and
 * SHA2_Additional.pdf), added in pieces of every length.
 */
#include "tools/weft-bench/sha256.c"

#include "tests/ut.h"

static void expect(const void *data, size_t bytes, const char *hex)
{
	char got[SHA256_HEX];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, data, bytes);
	sha256_hex(&s, got);
	CU_ASSERT_STRING_EQUAL(got, hex);
}

static void examples(void)
{
	static uint8_t zeros[64];

	expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	expect("\xbd", 1, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
	expect(zeros, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
	expect(zeros, 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
	expect(zeros, 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
	expect(zeros, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

static void million_in_pieces(void)
{
	uint8_t a[200];
	char got[SHA256_HEX];
	struct sha256 s;
	size_t step, left, n;

	memset(a, 'a', sizeof(a));
	for (step = 1; step <= sizeof(a); step += 33) {
		sha256_init(&s);
		for (left = 1000000; left; left -= n) {
			n = left < step ? left : step;
			sha256_add(&s, a, n);
		}
		sha256_hex(&s, got);
		CU_ASSERT_STRING_EQUAL(
		    got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
}

UT_MAIN("tools/sha256", UT(examples), UT(million_in_pieces))
