/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of --help. Calls libc.
 */
#include "dpdk_app/args/args_help.h"

#include <stdio.h>
#include <string.h>

void help_before(void)
{
	printf("Usage: weftd --nics N [option ...]\n"
	       "       weftd --port PORT --ip A.B.C.D/LEN [option ...]\n"
	       "\n"
	       "Runs software RDMA NICs. Each NIC listens on a socket in the run directory, to\n"
	       "which programs that use libweft attach; weftctl shows what goes on.\n\n");
}

void help_option(const char *word, const char *value, const char *help)
{
	char left[40];

	snprintf(left, sizeof(left), "--%s%s%s", word, value ? " " : "", value ? value : "");
	for (;;) {
		size_t chars = strcspn(help, "\n");

		printf("  %-21s %.*s\n", left, (int)chars, help);
		if (!help[chars])
			break;
		help += chars + 1;
		left[0] = '\0';
	}
}

void help_after(void)
{
	printf(
	    "  --help                this text\n"
	    "  --version             the version\n"
	    "\n"
	    "Sockets belong to group weft where it exists, mode 0660. weftd says \"ready\" once\n"
	    "NICs can be used, and tells NOTIFY_SOCKET. SIGTERM or SIGINT ends it: clients get a\n"
	    "fatal event; so does SIGHUP from its terminal. SIGUSR1 logs counters. Without "
	    "hugepages it runs from ordinary memory.\n"
	    "Exit: 0 ended, 1 failed, 2 wrong command line.\n"
	    "\n"
	    "Examples: weftd --nics 4 --loss 1 --seed 7\n"
	    "          weftd --port eth1 --ip 192.168.5.9/24 --gw 192.168.5.1\n"
	    "          weftd --port memif:/run/weft/m.sock,server --ip 10.9.0.1/24 --mtu 9000\n");
}
