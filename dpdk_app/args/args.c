/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line and configuration file. One table of options drives both, and --help: a line "word =
 * value" of the file is the option --word value. Options take effect in order: --ip and --gw apply
 * to the preceding --port.
 *
 * Calls args_*.c and libc.
 */
#include "dpdk_app/args/args.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_cores.h"
#include "dpdk_app/args/args_help.h"
#include "dpdk_app/args/args_memif.h"
#include "dpdk_app/args/args_mpa.h"
#include "dpdk_app/args/args_quota.h"
#include "dpdk_app/args/args_rights.h"
#include "dpdk_app/args/args_value.h"
#include "shared_defs/hw_cmd.h"
#include "shared_defs/hw_limits.h"

enum {
	ARGS_CONFIG_DEPTH = 4, /* nesting depth of --config files */
	ARGS_LINE_CHARS = 512,
};

struct args_state {
	struct conf *conf;
	char *error;
	uint32_t depth;
	bool port_open; /* a --port precedes, to which --ip may apply */
};

struct args_option {
	const char *word;
	const char *value; /* placeholder in --help; NULL: takes no value */
	bool (*apply)(struct args_state *st, const char *text);
	const char *help;
};

static bool wrong(struct args_state *st, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(struct args_state *st, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(st->error, CONF_ERROR_CHARS, format, list);
	va_end(list);
	return false;
}

static bool apply_nics(struct args_state *st, const char *text)
{
	uint64_t n;

	if (!value_u64(text, 1, CONF_MAX_NICS, &n))
		return wrong(st, "--nics takes a number from 1 to %d, not \"%s\"", CONF_MAX_NICS,
			     text);
	st->conf->num_switch_nics = (uint32_t)n;
	return true;
}

static bool apply_subnet(struct args_state *st, const char *text)
{
	if (!value_ip_prefix(text, &st->conf->subnet, &st->conf->subnet_prefix))
		return wrong(st, "--subnet takes A.B.C.D/LEN with LEN from 1 to 30, not \"%s\"",
			     text);
	return true;
}

/* Determines the kind of --port from the text before the colon. */
static bool port_kind(struct args_state *st, struct conf_nic *nic, const char **device)
{
	static const struct {
		const char *prefix;
		enum conf_wire wire;
	} kinds[] = {
	    {"memif:", CONF_WIRE_MEMIF},
	    {"pci:", CONF_WIRE_PCI},
	    {"tap:", CONF_WIRE_TAP},
	};

	nic->wire = CONF_WIRE_NETDEV;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t chars = strlen(kinds[i].prefix);

		if (strncmp(*device, kinds[i].prefix, chars))
			continue;
		nic->wire = kinds[i].wire;
		*device += chars;
		return true;
	}
	/* A full PCI address contains colons; an interface name does not. */
	if (strchr(*device, ':'))
		return wrong(st,
			     "--port %s: unknown kind; say NETDEV, memif:PATH[,server], pci:ADDR "
			     "or tap:NAME",
			     *device);
	return true;
}

static bool apply_port(struct args_state *st, const char *text)
{
	struct conf_nic nic = {0};
	const char *device = text;
	size_t chars;

	if (!port_kind(st, &nic, &device))
		return false;
	chars = strlen(device);
	if (nic.wire == CONF_WIRE_MEMIF) {
		const char *bad = memif_port_parse(device, &nic, &chars);

		if (bad)
			return wrong(st, "--port %s: %s", text, bad);
	}
	/* DPDK would parse a comma as the start of another device argument. */
	if (!chars || chars >= sizeof(nic.device) || memchr(device, ',', chars))
		return wrong(st,
			     "--port %s: no device named; say NETDEV, memif:PATH[,server], "
			     "pci:ADDR or tap:NAME",
			     text);
	if ((nic.wire == CONF_WIRE_NETDEV || nic.wire == CONF_WIRE_TAP) && chars > 15)
		return wrong(st, "--port %s: names of interfaces have at most 15 characters", text);
	if (st->conf->num_nics == CONF_MAX_NICS)
		return wrong(st, "--port %s: at most %d NICs in one weftd; start a second one",
			     text, CONF_MAX_NICS);
	memcpy(nic.device, device, chars);
	st->conf->nic[st->conf->num_nics++] = nic;
	st->port_open = true;
	return true;
}

static bool apply_ip(struct args_state *st, const char *text)
{
	struct conf_nic *nic;

	if (!st->port_open)
		return wrong(st, "--ip %s: put it behind the --port it belongs to", text);
	nic = &st->conf->nic[st->conf->num_nics - 1];
	if (nic->ip)
		return wrong(st, "--ip %s: --port %s has an address already", text, nic->device);
	if (!value_ip_prefix(text, &nic->ip, &nic->ip_prefix))
		return wrong(st, "--ip takes A.B.C.D/LEN with LEN from 1 to 30, not \"%s\"", text);
	return true;
}

static bool apply_gw(struct args_state *st, const char *text)
{
	if (!st->port_open)
		return wrong(st, "--gw %s: put it behind the --port it belongs to", text);
	if (!value_ip(text, &st->conf->nic[st->conf->num_nics - 1].gateway))
		return wrong(st, "--gw takes A.B.C.D, not \"%s\"", text);
	return true;
}

static bool apply_mtu(struct args_state *st, const char *text)
{
	uint64_t mtu;

	if (!value_u64(text, HW_MIN_MTU, HW_MAX_MTU, &mtu))
		return wrong(st, "--mtu takes %d to %d bytes, not \"%s\"", HW_MIN_MTU, HW_MAX_MTU,
			     text);
	st->conf->mtu = (uint32_t)mtu;
	return true;
}

static bool percent(struct args_state *st, const char *word, const char *text, uint32_t *value)
{
	double p;

	if (!value_double(text, 0, 100, &p))
		return wrong(st, "--%s takes percent from 0 to 100, not \"%s\"", word, text);
	*value = impair_probability(p);
	return true;
}

static bool apply_loss(struct args_state *st, const char *text)
{
	return percent(st, "loss", text, &st->conf->impair.loss);
}

static bool apply_reorder(struct args_state *st, const char *text)
{
	return percent(st, "reorder", text, &st->conf->impair.reorder);
}

static bool apply_dup(struct args_state *st, const char *text)
{
	return percent(st, "dup", text, &st->conf->impair.dup);
}

static bool apply_delay(struct args_state *st, const char *text)
{
	double us;

	if (!value_double(text, 0, 1e6, &us))
		return wrong(st, "--delay-us takes microseconds from 0 to 1000000, not \"%s\"",
			     text);
	st->conf->impair.delay_ns = (uint64_t)(us * 1000);
	return true;
}

static bool apply_rate(struct args_state *st, const char *text)
{
	if (!value_double(text, 0.001, 1000, &st->conf->impair.rate_gbps))
		return wrong(st, "--rate-gbps takes Gbit/s from 0.001 to 1000, not \"%s\"", text);
	return true;
}

static bool apply_seed(struct args_state *st, const char *text)
{
	if (!value_u64(text, 0, UINT64_MAX, &st->conf->impair.seed))
		return wrong(st, "--seed takes a number, not \"%s\"", text);
	return true;
}

static bool apply_cores(struct args_state *st, const char *text)
{
	return cores_parse(st->conf, text, st->error);
}

static bool apply_shared(struct args_state *st, const char *text)
{
	(void)text;
	st->conf->share = CONF_SHARE_YES;
	return true;
}

static bool apply_own(struct args_state *st, const char *text)
{
	(void)text;
	st->conf->share = CONF_SHARE_NO;
	return true;
}

static bool apply_idle(struct args_state *st, const char *text)
{
	uint64_t us;

	if (!value_u64(text, 1, 3600000000ull, &us))
		return wrong(st, "--idle-us takes microseconds from 1 on, not \"%s\"", text);
	st->conf->idle_ns = us * 1000;
	return true;
}

static bool apply_netdev(struct args_state *st, const char *text)
{
	static const char *const words[] = {"auto", "xdp", "native", "generic", "packet"};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(text, words[i])) {
			st->conf->netdev = (enum conf_netdev)i;
			return true;
		}
	}
	return wrong(st, "--netdev takes auto, xdp, native, generic or packet, not \"%s\"", text);
}

static bool apply_quota(struct args_state *st, const char *text)
{
	return quota_parse(&st->conf->quota, text, st->error);
}

static bool apply_run_dir(struct args_state *st, const char *text)
{
	if (!*text || strlen(text) >= sizeof(st->conf->run_dir))
		return wrong(st, "--run-dir takes a path of 1 to %d characters",
			     CONF_PATH_CHARS - 1);
	strcpy(st->conf->run_dir, text);
	return true;
}

static bool apply_name(struct args_state *st, const char *text)
{
	static const char good[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (!*text || strlen(text) >= sizeof(st->conf->name) || text[strspn(text, good)])
		return wrong(st, "--name takes 1 to %d letters, digits, - or _, not \"%s\"",
			     CONF_NAME_CHARS - 1, text);
	strcpy(st->conf->name, text);
	return true;
}

static bool apply_no_cc(struct args_state *st, const char *text)
{
	(void)text;
	st->conf->no_cc = true;
	return true;
}

static bool esp_packets(struct args_state *st, const char *word, const char *text, uint8_t *value)
{
	uint64_t n;

	if (!value_u64(text, 1, CONF_MAX_ESP_BURST, &n))
		return wrong(st, "--%s takes a number of packets from 1 to %d, not \"%s\"", word,
			     CONF_MAX_ESP_BURST, text);
	*value = (uint8_t)n;
	return true;
}

static bool apply_esp_burst(struct args_state *st, const char *text)
{
	return esp_packets(st, "esp-burst", text, &st->conf->esp_burst);
}

static bool apply_esp_initial_burst(struct args_state *st, const char *text)
{
	return esp_packets(st, "esp-initial-burst", text, &st->conf->esp_initial_burst);
}

static bool apply_mpa_crc(struct args_state *st, const char *text)
{
	return mpa_crc_parse(text, &st->conf->mpa) ||
	       wrong(st, "--mpa-crc takes off, on or required, not \"%s\"", text);
}

static bool apply_mpa_markers(struct args_state *st, const char *text)
{
	return mpa_markers_parse(text, &st->conf->mpa) ||
	       wrong(st, "--mpa-markers takes on or off, not \"%s\"", text);
}

static bool apply_mpa_revision(struct args_state *st, const char *text)
{
	return mpa_revision_parse(text, &st->conf->mpa) ||
	       wrong(st, "--mpa-revision takes 1 or 2, not \"%s\"", text);
}

static bool apply_mpa_rtr(struct args_state *st, const char *text)
{
	return mpa_rtr_parse(text, &st->conf->mpa) ||
	       wrong(st, "--mpa-rtr takes none, or some of send,write,read, not \"%s\"", text);
}

static bool apply_coalesce(struct args_state *st, const char *text)
{
	return coalesce_add(st->conf, text, st->error);
}

static bool apply_unmapped(struct args_state *st, const char *text)
{
	return value_off(text, &st->conf->no_unmapped) ||
	       wrong(st, "--unmapped takes on or off, not \"%s\"", text);
}

static bool apply_user(struct args_state *st, const char *text)
{
	return rights_user(st->conf, text, st->error);
}

static bool apply_seccomp(struct args_state *st, const char *text)
{
	return rights_seccomp(st->conf, text, st->error);
}

static bool apply_stages(struct args_state *st, const char *text)
{
	(void)text;
	st->conf->stages = true;
	return true;
}

static bool apply_port_echo(struct args_state *st, const char *text)
{
	(void)text;
	st->conf->port_echo = true;
	return true;
}

static bool apply_log(struct args_state *st, const char *text)
{
	/*
	 * The path must be absolute: it is opened again after the working directory may have
	 * changed.
	 */
	if (*text != '/' || strlen(text) >= sizeof(st->conf->log))
		return wrong(
		    st,
		    "--log takes the whole path of a file, of %zu characters at most, not \"%s\"",
		    sizeof(st->conf->log) - 1, text);
	snprintf(st->conf->log, sizeof(st->conf->log), "%s", text);
	return true;
}

static bool apply_verbose(struct args_state *st, const char *text)
{
	(void)text;
	st->conf->verbose = true;
	return true;
}

static bool apply_config(struct args_state *st, const char *path);

static const struct args_option args_options[] = {
    {"nics", "N", apply_nics, "make N NICs joined by the built-in switch (1 to 32)"},
    {"subnet", "A.B.C.D/LEN", apply_subnet,
     "addresses of the switch's NICs: .1 to .N of it (default 10.77.0.0/24)"},
    {"port", "PORT", apply_port,
     "add a NIC on a wire: NETDEV (an interface of the kernel: AF_XDP, else\n"
     "AF_PACKET), memif:PATH[,server][,uid=N], pci:ADDR, tap:NAME; once per NIC"},
    {"ip", "A.B.C.D/LEN", apply_ip, "address of the NIC of the --port before it"},
    {"gw", "A.B.C.D", apply_gw, "its gateway (default: none, the subnet alone)"},
    {"netdev", "HOW", apply_netdev,
     "how to use a NETDEV: auto (default), xdp (native or generic), packet"},
    {"mtu", "BYTES", apply_mtu,
     "largest IPv4 packet, 1280 to 9216 (default: switch 9216, NETDEV the interface's, else 1500)"},
    {"loss", "PERCENT", apply_loss, "switch: drop so many frames"},
    {"delay-us", "US", apply_delay, "switch: each frame takes so long"},
    {"reorder", "PERCENT", apply_reorder, "switch: so many are overtaken by 1 to 8 others"},
    {"dup", "PERCENT", apply_dup, "switch: so many arrive twice"},
    {"rate-gbps", "GBPS", apply_rate, "switch: rate of the line to each NIC (default: none)"},
    {"seed", "N", apply_seed, "switch: seed of these (default 1)"},
    {"cores", "LIST", apply_cores,
     "CPUs to poll on, such as 1 or 2,4-7 (default: the last), each with a role\n"
     "behind it if it is not io: 2:io,3:coll,0:ctl. coll: every NIC has a shard\n"
     "of its own for collectives there; ctl: where the control threads run. A\n"
     "CPU may have several roles: 1:io,1:coll"},
    {"shared-core", NULL, apply_shared, "clients run on these CPUs too: yield whenever idle"},
    {"own-core", NULL, apply_own,
     "nobody else does: never yield (default: found out while running)"},
    {"idle-us", "US", apply_idle, "sleep when idle for so long (default 10000, shared 1000)"},
    {"quota", "[user:]KIND=N", apply_quota,
     "what one process may have, or one user with all its processes: qp, cq, srq,\n"
     "mr, mw, pd, ah, mcast, groups, cm, eq, xrcd, sessions, tcp, listeners,\n"
     "streams, comms, schedules, goal, clients (of a shard); connections, descriptors,\n"
     "bytes, mappings, memory (of weftd); may be repeated.\n"
     "Default: half of a table, a user three quarters"},
    {"unmapped", "on|off", apply_unmapped, "let processes register unmapped memory (default on)"},
    {"no-cc", NULL, apply_no_cc, "RD without congestion control: the window alone"},
    {"esp-burst", "N", apply_esp_burst, "ESP: packets in flight on a stream, 1 to 63 (default 32)"},
    {"esp-initial-burst", "N", apply_esp_initial_burst,
     "ESP: those sent before the peer has answered, 1 to 63 (default 16)"},
    {"mpa-crc", "HOW", apply_mpa_crc,
     "iWARP over TCP: CRCs are on (default), off unless the peer asks for them, or\n"
     "required: peers that do not agree are refused"},
    {"mpa-markers", "on|off", apply_mpa_markers,
     "asks peers for markers in what they send (default off; those that they ask\n"
     "for are made)"},
    {"mpa-revision", "1|2", apply_mpa_revision,
     "revision of MPA to ask with; 1 takes requests of 1 alone (default 2)"},
    {"mpa-rtr", "LIST", apply_mpa_rtr,
     "peer-to-peer connections begin with one of these: send,write,read; none: the\n"
     "active end has to send first (default write,read)"},
    {"coalesce", "WORDS", apply_coalesce,
     "interrupt moderation from the start on: [NIC] [vector N] and ethtool's words,\n"
     "\"rx-usecs 5 rx-frames 16\", \"weft0 vector 2 adaptive on\"; may be repeated"},
    {"stages", NULL, apply_stages, "count the cycles of each stage, for weft-bench stages"},
    {"port-echo", NULL, apply_port_echo,
     "answer EDP echoes to port 7 before the firmware, for weft-bench ladder"},
    {"run-dir", "DIR", apply_run_dir, "sockets and locks (default: $WEFT_RUN_DIR, else /run/weft)"},
    {"name", "BASE", apply_name, "NICs are called BASE0, BASE1, ... (default weft)"},
    {"user", "NAME", apply_user,
     "run as this user, without rights (default: weft where root starts it and that\n"
     "user exists)"},
    {"seccomp", "on|off", apply_seccomp, "filter the system calls of weftd (default on)"},
    {"config", "FILE", apply_config,
     "read options from FILE: lines \"word = value\", the words of this list;\n"
     "# starts a comment"},
    {"log", "FILE", apply_log,
     "write messages to the end of FILE, with their time, not to standard error;\n"
     "SIGHUP opens it anew"},
    {"verbose", NULL, apply_verbose, "say more, DPDK's own messages too"},
};
enum {
	ARGS_OPTIONS = sizeof(args_options) / sizeof(args_options[0]),
	ARGS_HELP = 1000,
	ARGS_VERSION,
};

static const struct args_option *find_option(const char *word)
{
	for (uint32_t i = 0; i < ARGS_OPTIONS; i++) {
		if (!strcmp(args_options[i].word, word))
			return &args_options[i];
	}
	return NULL;
}

static bool config_line(struct args_state *st, const char *path, uint32_t number, char *line)
{
	const struct args_option *option;
	char reason[CONF_ERROR_CHARS];
	char *value = strchr(line, '=');
	char *word;

	if (value)
		*value++ = '\0';
	word = value_trim(line);
	value = value ? value_trim(value) : NULL;
	option = find_option(word);
	if (!option && !value) {
		/* a line such as "nics 4" */
		word[strcspn(word, " \t")] = '\0';
		option = find_option(word);
	}
	if (!option)
		return wrong(st, "%s:%u: unknown word \"%.40s\"; weftd --help lists them", path,
			     number, word);
	if (option->value && (!value || !*value))
		return wrong(st, "%s:%u: write \"%s = %s\"", path, number, word, option->value);
	if (!option->value && value)
		return wrong(st, "%s:%u: \"%s\" takes no value", path, number, word);
	if (option->apply(st, value))
		return true;
	snprintf(reason, sizeof(reason), "%s", st->error);
	return wrong(st, "%.80s:%u: %.160s", path, number, reason);
}

static bool apply_config(struct args_state *st, const char *path)
{
	char line[ARGS_LINE_CHARS];
	uint32_t number = 0;
	bool good = true;
	FILE *file;

	if (st->depth == ARGS_CONFIG_DEPTH)
		return wrong(st, "--config %s: files name each other too deeply", path);
	file = fopen(path, "re");
	if (!file)
		return wrong(st, "--config %s: %s", path, strerror(errno));
	st->depth++;
	while (good && fgets(line, sizeof(line), file)) {
		char *text;

		number++;
		if (!strchr(line, '\n') && !feof(file)) {
			good = wrong(st, "%s:%u: line longer than %d characters", path, number,
				     ARGS_LINE_CHARS - 2);
			break;
		}
		line[strcspn(line, "#")] = '\0';
		text = value_trim(line);
		/* Section names of an ini file are ignored. */
		if (*text && *text != '[')
			good = config_line(st, path, number, text);
	}
	if (good && ferror(file))
		good = wrong(st, "--config %s: %s", path, strerror(errno));
	st->depth--;
	fclose(file);
	return good;
}

static void print_help(void)
{
	help_before();
	for (uint32_t i = 0; i < ARGS_OPTIONS; i++)
		help_option(args_options[i].word, args_options[i].value, args_options[i].help);
	help_after();
}

static enum args_result finish(struct args_state *st)
{
	struct conf *conf = st->conf;
	uint32_t host_bits = 32u - conf->subnet_prefix;
	uint32_t base = ntohl(conf->subnet) >> host_bits << host_bits;
	uint32_t n = conf->num_switch_nics;

	if (!n && !conf->num_nics) {
		wrong(st, "nothing to run: say --nics N or --port PORT --ip A.B.C.D/LEN");
		return ARGS_WRONG;
	}
	for (uint32_t i = 0; i < conf->num_nics; i++) {
		if (conf->nic[i].ip)
			continue;
		wrong(st, "--port %s has no address: put --ip A.B.C.D/LEN behind it",
		      conf->nic[i].device);
		return ARGS_WRONG;
	}
	if (n + conf->num_nics > CONF_MAX_NICS) {
		wrong(st, "%u NICs asked for, at most %d fit one weftd; start a second one",
		      n + conf->num_nics, CONF_MAX_NICS);
		return ARGS_WRONG;
	}
	if (n && n > (UINT32_C(1) << host_bits) - 2) {
		wrong(st, "--subnet has no room for %u NICs: give a shorter LEN", n);
		return ARGS_WRONG;
	}
	if (!n && impair_wanted(&conf->impair)) {
		wrong(st,
		      "--loss, --delay-us, --reorder, --dup and --rate-gbps act in the built-in "
		      "switch: add --nics N");
		return ARGS_WRONG;
	}
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
			wrong(st, "two NICs have one address: give each --port an --ip of its own");
			return ARGS_WRONG;
		}
	}
	return coalesce_check(conf, st->error) ? ARGS_RUN : ARGS_WRONG;
}

static void defaults(struct conf *conf)
{
	const char *dir = secure_getenv("WEFT_RUN_DIR");

	memset(conf, 0, sizeof(*conf));
	conf->subnet = htonl(0x0a4d0000);
	conf->subnet_prefix = 24;
	conf->impair.seed = 1;
	snprintf(conf->name, sizeof(conf->name), "weft");
	snprintf(conf->run_dir, sizeof(conf->run_dir), "%s", dir && *dir ? dir : HW_SOCKET_DIR);
}

enum args_result args_parse(int argc, char **argv, struct conf *conf, char *error)
{
	struct option longs[ARGS_OPTIONS + 3] = {0};
	struct args_state st = {.conf = conf, .error = error};

	defaults(conf);
	for (int i = 0; i < ARGS_OPTIONS; i++) {
		longs[i].name = args_options[i].word;
		longs[i].has_arg = args_options[i].value ? required_argument : no_argument;
		longs[i].val = i + 1;
	}
	longs[ARGS_OPTIONS] = (struct option){"help", no_argument, NULL, ARGS_HELP};
	longs[ARGS_OPTIONS + 1] = (struct option){"version", no_argument, NULL, ARGS_VERSION};
	opterr = 0;
	optind = 0; /* restart, also in tests that parse several command lines */
	for (;;) {
		int at = optind ? optind : 1;
		int c = getopt_long(argc, argv, "+:h", longs, NULL);

		if (c == -1)
			break;
		if (c == ARGS_HELP || c == 'h') {
			print_help();
			return ARGS_DONE;
		}
		if (c == ARGS_VERSION) {
			printf("weftd " WEFT_VERSION ", command channel version %d\n",
			       HW_CMD_VERSION);
			return ARGS_DONE;
		}
		if (c == ':') {
			wrong(&st, "%s needs a value; see weftd --help", argv[at]);
			return ARGS_WRONG;
		}
		if (c == '?') {
			wrong(&st, "%s is no option (or not a whole one); see weftd --help",
			      argv[at]);
			return ARGS_WRONG;
		}
		if (!args_options[c - 1].apply(&st, optarg))
			return ARGS_WRONG;
	}
	if (optind < argc) {
		wrong(&st, "what is \"%s\"? Options start with --; see weftd --help", argv[optind]);
		return ARGS_WRONG;
	}
	return finish(&st);
}
