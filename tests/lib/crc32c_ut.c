/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C against the vectors of RFC 3720 B.4. Runs lib/crc32c.h.
 */
#include "lib/crc32c.h"
#include "tests/ut.h"

static void vectors(void)
{
	uint8_t data[32];

	memset(data, 0, sizeof(data));
	CU_ASSERT_EQUAL(~crc32c_update(CRC32C_INIT, data, sizeof(data)), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	CU_ASSERT_EQUAL(~crc32c_update(CRC32C_INIT, data, sizeof(data)), 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		data[i] = i;
	CU_ASSERT_EQUAL(~crc32c_update(CRC32C_INIT, data, sizeof(data)), 0x46dd794e);
	CU_ASSERT_EQUAL(~crc32c_update(CRC32C_INIT, "123456789", 9), 0xe3069283);
}

static void pieces(void)
{
	uint32_t crc = crc32c_update(CRC32C_INIT, "1234", 4);

	CU_ASSERT_EQUAL(crc32c_update(crc, "", 0), crc);
	CU_ASSERT_EQUAL(~crc32c_update(crc, "56789", 5), 0xe3069283);
}

UT_MAIN("lib/crc32c", UT(vectors), UT(pieces))
