/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --user and --seccomp: rights of weftd while it runs (privilege.c, sandbox.c).
 */
#include "dpdk_app/args/args_rights.h"

#include <stdio.h>
#include <string.h>

bool rights_user(struct conf *conf, const char *text, char *error)
{
	if (!*text || strlen(text) >= sizeof(conf->user)) {
		snprintf(error, CONF_ERROR_CHARS, "--user takes a name of 1 to %d characters",
			 CONF_USER_CHARS - 1);
		return false;
	}
	strcpy(conf->user, text);
	return true;
}
