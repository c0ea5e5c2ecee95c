/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line and configuration file. One table of options (args_table.c) drives both, and --help:
 * a line "word = value" of the file is the option --word value. Options take effect in order: --ip
 * and --gw apply to the preceding --port.
 *
 * Calls lib/cli.c and args_*.c.
 */
#include "dpdk_app/args/args.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/args/args_capture.h"
#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/args/args_table.h"
#include "dpdk_app/log.h"
#include "lib/cli.h"
#include "lib/fault.h"
#include "shared_defs/hw_cmd.h"

static struct conf *conf_of(const struct cli *cli)
{
	return cli->values;
}

/* Checks options that depend on one another, and makes the NICs of the switch. */
static bool finish(struct cli *cli)
{
	struct conf *conf = conf_of(cli);
	uint32_t host_bits = 32u - conf->subnet_prefix;
	uint32_t base = ntohl(conf->subnet) >> host_bits << host_bits;
	uint32_t n = conf->num_switch_nics;

	if (conf->list_ports)
		return true;
	if (*conf->log && conf->log_format == LOG_FORMAT_JOURNAL)
		return cli_wrong(cli, "a file has no records: give --log or --log-format journal");
	if (!n && !conf->num_nics)
		return cli_wrong(cli,
				 "nothing to run: give --nics N or --port PORT --ip A.B.C.D/LEN");
	for (uint32_t i = 0; i < conf->num_nics; i++) {
		if (conf->nic[i].ip)
			continue;
		return cli_wrong(cli, "--port %s has no address: put --ip A.B.C.D/LEN after it",
				 conf->nic[i].device);
	}
	if (n + conf->num_nics > CONF_MAX_NICS)
		return cli_wrong(
		    cli, "%u NICs requested, but one weftd has at most %d; start a second one",
		    n + conf->num_nics, CONF_MAX_NICS);
	if (n && n > (UINT32_C(1) << host_bits) - 2)
		return cli_wrong(cli, "--subnet has no room for %u NICs: give a shorter LEN", n);
	if (!n && fault_wanted(&conf->fault))
		return cli_wrong(
		    cli, "--loss, --delay-us, --reorder, --dup and --rate-gbps act in the built-in "
			 "switch: add --nics N");
	/* The switch's NICs come first: weft0 is .1 whatever ports are added. */
	memmove(&conf->nic[n], &conf->nic[0], conf->num_nics * sizeof(conf->nic[0]));
	memset(&conf->nic[0], 0, n * sizeof(conf->nic[0]));
	for (uint32_t i = 0; i < n; i++) {
		conf->nic[i].wire = CONF_WIRE_SWITCH;
		conf->nic[i].ip = htonl(base + 1 + i);
		conf->nic[i].ip_prefix = conf->subnet_prefix;
	}
	conf->num_nics += n;
	for (uint32_t i = 0; i < conf->num_nics; i++) {
		for (uint32_t j = 0; j < i; j++) {
			if (conf->nic[i].ip != conf->nic[j].ip)
				continue;
			return cli_wrong(
			    cli,
			    "two NICs have the same address: give each --port a different --ip");
		}
	}
	return coalesce_check(conf, cli->error) && conf_fault_check(conf, cli->error) &&
	       conf_capture_check(conf, cli->error);
}

static void defaults(struct conf *conf)
{
	const char *dir = secure_getenv("WEFT_RUN_DIR");

	memset(conf, 0, sizeof(*conf));
	conf->subnet = htonl(0x0a4d0000);
	conf->subnet_prefix = 24;
	snprintf(conf->name, sizeof(conf->name), "weft");
	snprintf(conf->run_dir, sizeof(conf->run_dir), "%s", dir && *dir ? dir : HW_SOCKET_DIR);
}

enum args_result args_parse(int argc, char **argv, struct conf *conf, char *error)
{
	struct args_state state = {0};
	struct cli cli;
	int rc;

	defaults(conf);
	snprintf(args_version, sizeof(args_version), WEFT_VERSION ", command channel version %d",
		 HW_CMD_VERSION);
	rc = cli_parse(&cli, &args_program, conf, &state, argc, argv);
	if (rc == CLI_DONE)
		return ARGS_DONE;
	if (rc == CLI_RUN && cli.num_words)
		cli_wrong(&cli, "'%.80s' belongs to no option; see weftd --help", cli.words[0]);
	else if (rc == CLI_RUN && finish(&cli))
		return ARGS_RUN;
	snprintf(error, CONF_ERROR_CHARS, "%s", cli.error);
	return ARGS_WRONG;
}

bool args_line(const char *line, struct conf *conf, char *error)
{
	struct args_state state = {0};
	struct cli cli;

	/* --verbose would outdo it. */
	if (!strncmp(line, "log-level", 9))
		conf->verbose = false;
	if (cli_line(&cli, &args_program, conf, &state, line) && coalesce_check(conf, cli.error) &&
	    conf_fault_check(conf, cli.error))
		return true;
	snprintf(error, CONF_ERROR_CHARS, "%s", cli.error);
	return false;
}
