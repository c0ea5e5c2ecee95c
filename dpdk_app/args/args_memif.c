/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of a memif port: its role, the permitted peer user, a shared secret. Calls args_value.c.
 */
#include "dpdk_app/args/args_memif.h"

#include <string.h>

#include "dpdk_app/args/args_value.h"

enum {
	MEMIF_PATH_CHARS = 107,
};

/* Copies the value of the word "name=value" into value, of size bytes including the terminator. */
static bool option_value(const char *word, size_t chars, const char *name, char *value,
			 size_t bytes)
{
	size_t skip = strlen(name);

	if (chars <= skip || strncmp(word, name, skip) != 0 || chars - skip >= bytes)
		return false;
	memcpy(value, word + skip, chars - skip);
	value[chars - skip] = '\0';
	return true;
}

const char *memif_port_parse(const char *text, struct conf_nic *nic, size_t *chars_of_path)
{
	static const char wrong[] =
	    "after its path a memif takes server, uid=N and secret=TEXT (1 to 24 characters)";

	*chars_of_path = strcspn(text, ",");
	if (*chars_of_path > MEMIF_PATH_CHARS)
		return "the path is longer than the limit of a socket's path (107)";
	text += *chars_of_path;
	while (*text) {
		const char *word = text + 1; /* after the comma */
		size_t chars = strcspn(word, ",");
		char number[16];
		uint64_t user;

		if (chars == 6 && !memcmp(word, "server", 6)) {
			nic->memif_server = true;
		} else if (option_value(word, chars, "uid=", number, sizeof(number))) {
			/* The maximum means "no user". */
			if (nic->memif_user_given || !value_u64(number, 0, UINT32_MAX - 1, &user))
				return wrong;
			nic->memif_user = (uint32_t)user;
			nic->memif_user_given = true;
		} else if (!option_value(word, chars, "secret=", nic->memif_secret,
					 sizeof(nic->memif_secret))) {
			return wrong;
		}
		text = word + chars;
	}
	return NULL;
}
