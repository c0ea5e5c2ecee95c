/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of NICs in the values of options, such as --coalesce and --fault. Names follow nic_plan():
 * --name, and the number of the NIC. Calls libc.
 */
#include "dpdk_app/args/args_nic.h"

#include <stdio.h>
#include <string.h>

bool conf_nic_is(const struct conf *conf, uint32_t index, const char *name)
{
	char text[sizeof(conf->name) + 3]; /* a number of at most three digits */

	snprintf(text, sizeof(text), "%s%u", conf->name, (uint8_t)index);
	return !strcmp(text, name);
}

bool conf_nic_check(const struct conf *conf, const char *option, const char *name, char *error)
{
	for (uint32_t i = 0; i < conf->num_nics; i++) {
		if (conf_nic_is(conf, i, name))
			return true;
	}
	if (!*name)
		return true;
	snprintf(error, CONF_ERROR_CHARS,
		 "--%s %s: there is no such NIC; the names are %s0 to %s%u", option, name,
		 conf->name, conf->name, conf->num_nics - 1);
	return false;
}
