/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the key of a job whose ranks have a static list of each other.
 *
 * A process that knows the key of a communicator can send to its ranks as a member. The key is
 * therefore random and secret: the ranks receive it in WEFT_KEY or in a file that WEFT_KEY_FILE
 * names. No public value serves as a default. docs/collectives.md, "Starting programs".
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_driver/goal/libgoal_launch.h"

enum {
	KEY_BYTES_MIN = 16,
	KEY_BYTES_MAX = 64,
	KEY_TEXT = 2 * KEY_BYTES_MAX + 2, /* with a newline and a terminator */
};

static int wrong(const char *what)
{
	char detail[320];

	snprintf(detail, sizeof(detail),
		 "%s: a list of peers needs a key that only its ranks know, 32 to 128 hexadecimal "
		 "digits in WEFT_KEY or in a file WEFT_KEY_FILE, the same at all ranks; make one "
		 "by: openssl rand -hex 16",
		 what);
	return libgoal_error(GOAL_ERR_LAUNCH, detail);
}

/* Parses a key of hexadecimal digits only. False: the text is not a valid key. */
static bool parse(const char *text, uint64_t key[2])
{
	uint8_t bytes[2][sizeof(uint64_t)] = {{0}};
	size_t n = strspn(text, "0123456789abcdefABCDEF"), end = n;
	bool several = false;

	while (isspace((unsigned char)text[end]))
		end++;
	if (text[end] || n % 2 || n < 2 * KEY_BYTES_MIN || n > 2 * KEY_BYTES_MAX)
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		bytes[i / sizeof(uint64_t) % 2][i % sizeof(uint64_t)] ^=
		    (uint8_t)strtoul(digits, NULL, 16);
		several |= memcmp(text, text + 2 * i, 2) != 0;
	}
	/* A single repeated byte is not a random key. */
	if (!several)
		return false;
	memcpy(key, bytes, sizeof(bytes));
	return true;
}

/* Reads the file's text. Returns false with errno set; EPERM: other users can read the file. */
static bool read_file(const char *path, char text[KEY_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		errno = EINVAL;
	} else if (st.st_mode & (S_IRWXG | S_IRWXO) || (st.st_uid != geteuid() && st.st_uid != 0)) {
		errno = EPERM;
	} else {
		n = read(fd, text, KEY_TEXT - 1);
		text[n > 0 ? n : 0] = '\0';
	}
	close(fd);
	return n >= 0;
}

int libgoal_key_given(uint64_t key[2])
{
	const char *said = secure_getenv("WEFT_KEY"), *path = secure_getenv("WEFT_KEY_FILE");
	char text[KEY_TEXT];

	if (said)
		return parse(said, key) ? GOAL_SUCCESS : wrong("WEFT_KEY is not a valid key");
	if (!path)
		return wrong("neither WEFT_KEY nor WEFT_KEY_FILE is set");
	if (!read_file(path, text)) {
		if (errno == EPERM)
			return wrong("the file WEFT_KEY_FILE belongs to another user, or others "
				     "may read it (chmod 600)");
		return wrong("the file WEFT_KEY_FILE cannot be read");
	}
	return parse(text, key) ? GOAL_SUCCESS
				: wrong("the file WEFT_KEY_FILE contains no valid key");
}
