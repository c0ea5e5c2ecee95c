/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict parsing of single values: no sign, no blanks, no trailing text.
 */
#include "dpdk_app/args/args_value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	VALUE_CPU_MAX = 1023, /* CPU_SETSIZE - 1 */
};

bool value_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned long long v;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*value = v;
	return true;
}

bool value_ip(const char *text, uint32_t *ip)
{
	struct in_addr addr;

	if (inet_pton(AF_INET, text, &addr) != 1)
		return false;
	*ip = addr.s_addr;
	return true;
}

bool value_ip_prefix(const char *text, uint32_t *ip, uint8_t *prefix)
{
	const char *slash = strchr(text, '/');
	char host[INET_ADDRSTRLEN];
	uint64_t bits;

	if (!slash || (size_t)(slash - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	if (!value_ip(host, ip) || !value_u64(slash + 1, 1, 30, &bits))
		return false;
	*prefix = (uint8_t)bits;
	return true;
}

bool value_cpu_range(const char *text, int *first, int *last)
{
	char copy[16];
	size_t chars = strcspn(text, "-");
	uint64_t a, b;

	if (chars >= sizeof(copy))
		return false;
	memcpy(copy, text, chars);
	copy[chars] = '\0';
	if (!value_u64(copy, 0, VALUE_CPU_MAX, &a))
		return false;
	b = a;
	if (text[chars] && !value_u64(text + chars + 1, a, VALUE_CPU_MAX, &b))
		return false;
	*first = (int)a;
	*last = (int)b;
	return true;
}
