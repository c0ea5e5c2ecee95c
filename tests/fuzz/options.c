/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: text from users. Command lines and configuration files of weftd
 * (dpdk_app/args/args.c), fault lists of weft-sim (sim_harness/sim_faults.c), command lines of
 * weftctl.
 *
 * The first byte of an input chooses the parser, the second is 0, or 1 for weftctl, then comes the
 * text; words of a command line are separated by zero bytes. A refusal must have a message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/args/args.h"
#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_cores.h"
#include "lib/cli.h"
#include "sim_harness/sim.h"
#include "tests/fuzz/fuzz.h"

/* weftctl, up to where it would open the NIC; its output is discarded. */
static FILE *quiet;
static int reached;

/* lib/cli.h without its messages. */
static int quiet_say(const struct cli *cli)
{
	(void)cli;
	return CLI_USAGE;
}

static int quiet_take(struct cli *cli, const struct cli_program *program, void *values,
		      void *context, int argc, char **argv)
{
	return cli_parse(cli, program, values, context, argc, argv);
}

#define main weftctl_main
int weftctl_main(int argc, char **argv);
#define run_list     reach
#define run_stats    reach
#define run_objects  reach
#define run_capture  reach
#define run_coalesce reach
#define run_xdp      reach
#define run_users    reach
#define run_colls    reach
#define run_metrics  reach
#define run_counters reach
#define run_top      reach
#define run_doctor   reach
#define run_fault    reach
#define run_log      reach
#define run_quota    reach
#define run_mtu      reach
#define run_ip       reach
#define run_gw       reach
#define run_plug     reach
#define run_reload   reach
#define run_upgrade  reach
#define run_cdi      reach
#pragma push_macro("stderr")
#undef stderr
#define stderr quiet
#pragma push_macro("stdout")
#undef stdout
#define stdout   quiet
#define cli_take quiet_take
#define cli_say  quiet_say
#include "tools/usage.c"
#include "tools/weftctl/main.c"
#undef cli_take
#undef cli_say
#pragma pop_macro("stderr")
#pragma pop_macro("stdout")
#undef main

int reach(const struct ctl *ctl)
{
	reached = ctl->command != NULL;
	return CTL_OK;
}

int top_watch(const struct ctl *ctl, int (*run)(const struct ctl *ctl))
{
	return run(ctl);
}

bool is_objects(const char *command)
{
	return !strcmp(command, "qps") || !strcmp(command, "peers");
}

enum {
	WORDS_MAX = 40,
	TEXT_MAX = 2048,
};

static struct sim *sim;
static int config_fd = -1;
static char config_path[40];

static void check_coalesce(const struct conf *conf, uint32_t nic)
{
	struct hw_coalesce c[HW_NUM_VECTORS];
	uint32_t v, i;

	coalesce_of_nic(conf, nic, c);
	for (v = 0; v < HW_NUM_VECTORS; v++) {
		for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
			fuzz_check(c[v].param[i] <= coalesce_highest(i), "a limit");
		fuzz_check(c[v].mode < HW_COALESCE_MODES, "mode of moderation");
		fuzz_check(c[v].mode != HW_COALESCE_TARGET ||
			       (c[v].target_ns >= HW_COALESCE_MIN_TARGET_NS &&
				c[v].target_ns <= HW_COALESCE_MAX_TARGET_NS &&
				c[v].target_percentile >= HW_COALESCE_MIN_PERCENTILE &&
				c[v].target_percentile <= HW_COALESCE_MAX_PERCENTILE),
			   "target");
	}
}

static void check_conf(const struct conf *conf)
{
	uint32_t i;

	if (conf->list_ports)
		return;
	fuzz_check(conf->num_nics >= 1 && conf->num_nics <= CONF_MAX_NICS, "number of NICs");
	fuzz_check(conf->num_cores <= CONF_MAX_CORES, "number of cores");
	fuzz_check(!conf->num_cores || cores_count(conf, CONF_ROLE_IO), "no core with the role io");
	fuzz_check(!conf->mtu || (conf->mtu >= 1280 && conf->mtu <= 9216), "MTU");
	fuzz_check(memchr(conf->name, 0, sizeof(conf->name)) != NULL, "name without end");
	fuzz_check(memchr(conf->run_dir, 0, sizeof(conf->run_dir)) != NULL, "folder without end");
	fuzz_check(conf->num_coalesce <= CONF_MAX_COALESCE, "number of settings");
	for (i = 0; i < conf->num_nics; i++)
		check_coalesce(conf, i);
	for (i = 0; i < conf->num_nics; i++) {
		const struct conf_nic *nic = &conf->nic[i];

		fuzz_check(nic->ip && nic->ip_prefix >= 1 && nic->ip_prefix <= 32, "address");
		fuzz_check(memchr(nic->device, 0, sizeof(nic->device)) != NULL,
			   "device without end");
	}
}

static void parse(int argc, char **argv)
{
	static struct conf conf;
	char error[CONF_ERROR_CHARS];

	memset(error, 'x', sizeof(error));
	switch (args_parse(argc, argv, &conf, error)) {
	case ARGS_RUN:
		check_conf(&conf);
		break;
	case ARGS_WRONG:
		fuzz_check(memchr(error, 0, sizeof(error)) && error[0], "refused without a word");
		break;
	case ARGS_DONE:
		break;
	}
}

/* A fuzzer must not touch existing files, and help only adds output. */
static int harmless(const char *word)
{
	return !strstr(word, "--con") && strncmp(word, "--h", 3) != 0 &&
	       strncmp(word, "-h", 2) != 0 && strcmp(word, "--version") != 0 &&
	       strncmp(word, "--vers", 6) != 0;
}

static int split(char *text, size_t bytes, char **argv)
{
	size_t at;
	int argc = 1;

	for (at = 0; at < bytes && argc <= WORDS_MAX; at += strlen(text + at) + 1)
		if (harmless(text + at))
			argv[argc++] = text + at;
	return argc;
}

static void command_line(char *text, size_t bytes)
{
	char name[] = "weftd";
	char *argv[WORDS_MAX + 2] = {name};

	parse(split(text, bytes, argv), argv);
}

static void weftctl(char *text, size_t bytes)
{
	char name[] = "weftctl";
	char *argv[WORDS_MAX + 2] = {name};
	int argc = split(text, bytes, argv), rc;

	reached = 0;
	rc = weftctl_main(argc, argv);
	fuzz_check(rc == CTL_OK || rc == CTL_USAGE, "weftctl's exit status");
	fuzz_check(rc != CTL_USAGE || !reached, "refused and carried out");
	unsetenv("WEFT_RUN_DIR");
}

static void config_file(const char *text, size_t bytes)
{
	char name[] = "weftd", option[] = "--config";
	char *argv[] = {name, option, config_path, NULL};

	fuzz_check(!ftruncate(config_fd, 0) && pwrite(config_fd, text, bytes, 0) == (ssize_t)bytes,
		   "no configuration file");
	parse(3, argv);
}

static void faults(const char *text)
{
	char message[200];

	memset(message, 'x', sizeof(message));
	if (sim_faults_parse(sim, text, message, sizeof(message)))
		fuzz_check(memchr(message, 0, sizeof(message)) && message[0],
			   "refused without a word");
	sim_faults_off(sim);
}

void fuzz_options_begin(void)
{
	unsetenv("WEFT_RUN_DIR");
	sim = sim_new(NULL, 1);
	config_fd = memfd_create("fuzz-config", 0);
	quiet = fopen("/dev/null", "w");
	fuzz_check(sim && config_fd >= 0 && quiet, "no memory");
	snprintf(config_path, sizeof(config_path), "/proc/self/fd/%d", config_fd);
}

void fuzz_options(const uint8_t *data, size_t bytes)
{
	static char text[TEXT_MAX + 1];

	if (bytes < 2 || bytes - 2 > TEXT_MAX || data[1] > 1)
		return;
	memcpy(text, data + 2, bytes - 2);
	text[bytes - 2] = 0;
	if (data[1]) {
		weftctl(text, bytes - 2);
		return;
	}
	switch (data[0] % 3) {
	case 0:
		command_line(text, bytes - 2);
		break;
	case 1:
		/* A file cannot name another one either. */
		if (!memmem(text, bytes - 2, "config", 6))
			config_file(text, bytes - 2);
		break;
	default:
		faults(text);
		break;
	}
}
