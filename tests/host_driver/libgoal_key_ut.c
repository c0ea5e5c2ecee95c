/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key of a job with a static list: valid keys, their places, the required file mode.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_driver/goal/libgoal_launch.h"
#include "tests/tmp.h"
#include "tests/ut.h"

#define GOOD "00112233445566778899aabbccddeeff"

static uint64_t key[2];

static int given(const char *said, const char *file)
{
	CU_ASSERT_EQUAL(said ? setenv("WEFT_KEY", said, 1) : unsetenv("WEFT_KEY"), 0);
	CU_ASSERT_EQUAL(file ? setenv("WEFT_KEY_FILE", file, 1) : unsetenv("WEFT_KEY_FILE"), 0);
	memset(key, 0, sizeof(key));
	return libgoal_key_given(key);
}

static void digits(void)
{
	static const uint8_t want[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	uint64_t last[2];

	CU_ASSERT_EQUAL(given(GOOD, NULL), GOAL_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(key, want, sizeof(want)), 0);
	CU_ASSERT_EQUAL(given("00112233445566778899AABBCCDDEEFF", NULL), GOAL_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(key, want, sizeof(want)), 0);
	/* All digits of a longer one count. */
	memcpy(last, key, sizeof(last));
	CU_ASSERT_EQUAL(given(GOOD "01", NULL), GOAL_SUCCESS);
	CU_ASSERT_TRUE(key[0] != last[0]);
	CU_ASSERT_EQUAL(given(GOOD "000000000000000001", NULL), GOAL_SUCCESS);
	CU_ASSERT_TRUE(key[0] == last[0] && key[1] != last[1]);
}

static void no_key(void)
{
	CU_ASSERT_EQUAL(given(NULL, NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given("", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given("0011", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given("00112233445566778899aabbccddee", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given(GOOD "0", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given("x" GOOD "0", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given(GOOD " " GOOD, NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given(GOOD GOOD GOOD GOOD "00", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given("00000000000000000000000000000000", NULL), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given("5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a", NULL), GOAL_ERR_LAUNCH);
}

static void files(void)
{
	char path[TMP_PATH_BYTES];
	int fd = tmp_file(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, GOOD "\n", 33), 33);
	CU_ASSERT_EQUAL(given(NULL, path), GOAL_SUCCESS);
	CU_ASSERT_TRUE(key[0] && key[1]);
	/* The environment has priority, right or wrong. */
	CU_ASSERT_EQUAL(given("no", path), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(fchmod(fd, 0640), 0);
	CU_ASSERT_EQUAL(given(NULL, path), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(fchmod(fd, 0604), 0);
	CU_ASSERT_EQUAL(given(NULL, path), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(fchmod(fd, 0600), 0);
	CU_ASSERT_EQUAL(ftruncate(fd, 20), 0);
	CU_ASSERT_EQUAL(given(NULL, path), GOAL_ERR_LAUNCH);
	close(fd);
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(given(NULL, path), GOAL_ERR_LAUNCH);
	CU_ASSERT_EQUAL(given(NULL, "/dev/urandom"), GOAL_ERR_LAUNCH);
}

UT_MAIN("host_driver/libgoal_key", UT(digits), UT(no_key), UT(files))
