/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of weftd's options: see args_table.h.
 *
 * Each row has the option's name, its bounds and its help; one with a syntax of its own has an
 * apply function, which sets the fields of struct conf. Calls args_*.c and lib/cli.c.
 */
#include "dpdk_app/args/args_table.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args.h"
#include "dpdk_app/args/args_capture.h"
#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_cores.h"
#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/args/args_mpa.h"
#include "dpdk_app/args/args_port.h"
#include "dpdk_app/args/args_quota.h"
#include "dpdk_app/args/args_rights.h"
#include "dpdk_app/args/args_value.h"
#include "lib/fault.h"
#include "shared_defs/hw_limits.h"

_Static_assert((int)CLI_ERROR_CHARS == (int)CONF_ERROR_CHARS, "args_*.c write into cli->error");

static struct conf *conf_of(const struct cli *cli)
{
	return cli->values;
}

static struct args_state *state_of(const struct cli *cli)
{
	return cli->context;
}

static bool apply_subnet(struct cli *cli, const char *text)
{
	if (!value_ip_prefix(text, &conf_of(cli)->subnet, &conf_of(cli)->subnet_prefix))
		return cli_wrong(
		    cli, "--subnet takes A.B.C.D/LEN with LEN from 1 to 30, not \"%s\"", text);
	return true;
}

static bool apply_port(struct cli *cli, const char *text)
{
	struct conf *conf = conf_of(cli);

	if (conf->num_nics == CONF_MAX_NICS)
		return cli_wrong(cli, "--port %s: at most %d NICs in one weftd; start a second one",
				 text, CONF_MAX_NICS);
	if (!port_parse(conf, text, &conf->nic[conf->num_nics], cli->error))
		return false;
	conf->num_nics++;
	state_of(cli)->port_open = true;
	return true;
}

static bool apply_ip(struct cli *cli, const char *text)
{
	struct conf_nic *nic;

	if (!state_of(cli)->port_open)
		return cli_wrong(cli, "--ip %s: put it after the --port it belongs to", text);
	nic = &conf_of(cli)->nic[conf_of(cli)->num_nics - 1];
	if (nic->ip)
		return cli_wrong(cli, "--ip %s: --port %s already has an address", text,
				 nic->device);
	if (!value_ip_prefix(text, &nic->ip, &nic->ip_prefix))
		return cli_wrong(cli, "--ip takes A.B.C.D/LEN with LEN from 1 to 30, not \"%s\"",
				 text);
	return true;
}

static bool apply_gw(struct cli *cli, const char *text)
{
	if (!state_of(cli)->port_open)
		return cli_wrong(cli, "--gw %s: put it after the --port it belongs to", text);
	if (!value_ip(text, &conf_of(cli)->nic[conf_of(cli)->num_nics - 1].gateway))
		return cli_wrong(cli, "--gw takes A.B.C.D, not \"%s\"", text);
	return true;
}

static bool apply_delay(struct cli *cli, const char *text)
{
	double us;

	if (!cli_real(cli, text, &us))
		return false;
	conf_of(cli)->fault.delay_ns = (uint64_t)(us * 1000);
	return true;
}

/* Into a chance, which is the row's field. */
static bool apply_percent(struct cli *cli, const char *text)
{
	double percent;
	uint32_t ppm;

	if (!cli_real(cli, text, &percent))
		return false;
	ppm = fault_ppm(percent);
	memcpy((char *)cli->values + cli->row->offset, &ppm, sizeof(ppm));
	return true;
}

static bool apply_rate(struct cli *cli, const char *text)
{
	double gbps;

	if (!cli_real(cli, text, &gbps))
		return false;
	conf_of(cli)->fault.rate_bps = (uint64_t)(gbps * 1e9);
	return true;
}

static bool apply_fault(struct cli *cli, const char *text)
{
	return conf_fault_add(conf_of(cli), text, cli->error);
}

static bool apply_capture(struct cli *cli, const char *text)
{
	return conf_capture_add(conf_of(cli), text, cli->error);
}

static bool apply_cores(struct cli *cli, const char *text)
{
	return cores_parse(conf_of(cli), text, cli->error);
}

static bool apply_shared(struct cli *cli, const char *text)
{
	(void)text;
	conf_of(cli)->share = CONF_SHARE_YES;
	return true;
}

static bool apply_own(struct cli *cli, const char *text)
{
	(void)text;
	conf_of(cli)->share = CONF_SHARE_NO;
	return true;
}

static bool apply_idle(struct cli *cli, const char *text)
{
	uint64_t us;

	if (!cli_number(cli, text, &us))
		return false;
	conf_of(cli)->idle_ns = us * 1000;
	return true;
}

static bool apply_quota(struct cli *cli, const char *text)
{
	return quota_parse(&conf_of(cli)->quota, text, cli->error);
}

static bool apply_run_dir(struct cli *cli, const char *text)
{
	if (!*text || strlen(text) >= sizeof(conf_of(cli)->run_dir))
		return cli_wrong(cli, "--run-dir takes a path of 1 to %d characters",
				 CONF_PATH_CHARS - 1);
	strcpy(conf_of(cli)->run_dir, text);
	return true;
}

static bool apply_name(struct cli *cli, const char *text)
{
	static const char good[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (!*text || strlen(text) >= sizeof(conf_of(cli)->name) || text[strspn(text, good)])
		return cli_wrong(cli, "--name takes 1 to %d letters, digits, - or _, not \"%s\"",
				 CONF_NAME_CHARS - 1, text);
	strcpy(conf_of(cli)->name, text);
	return true;
}

static bool apply_mpa_crc(struct cli *cli, const char *text)
{
	return mpa_crc_parse(text, &conf_of(cli)->mpa) ||
	       cli_wrong(cli, "--mpa-crc takes off, on or required, not \"%s\"", text);
}

static bool apply_mpa_markers(struct cli *cli, const char *text)
{
	return mpa_markers_parse(text, &conf_of(cli)->mpa) ||
	       cli_wrong(cli, "--mpa-markers takes on or off, not \"%s\"", text);
}

static bool apply_mpa_revision(struct cli *cli, const char *text)
{
	return mpa_revision_parse(text, &conf_of(cli)->mpa) ||
	       cli_wrong(cli, "--mpa-revision takes 1 or 2, not \"%s\"", text);
}

static bool apply_mpa_rtr(struct cli *cli, const char *text)
{
	return mpa_rtr_parse(text, &conf_of(cli)->mpa) ||
	       cli_wrong(cli, "--mpa-rtr takes none, or some of send,write,read, not \"%s\"", text);
}

static bool apply_coalesce(struct cli *cli, const char *text)
{
	return coalesce_add(conf_of(cli), text, cli->error);
}

static bool apply_user(struct cli *cli, const char *text)
{
	return rights_user(conf_of(cli), text, cli->error);
}

static bool apply_log(struct cli *cli, const char *text)
{
	/*
	 * The path must be absolute: it is opened again after the working directory may have
	 * changed.
	 */
	if (*text != '/' || strlen(text) >= sizeof(conf_of(cli)->log))
		return cli_wrong(
		    cli,
		    "--log takes the absolute path of a file, at most %zu characters, not \"%s\"",
		    sizeof(conf_of(cli)->log) - 1, text);
	snprintf(conf_of(cli)->log, sizeof(conf_of(cli)->log), "%s", text);
	return true;
}

/* An action instead of a setting: in a file it would end a weftd, or all NICs at a reload. */
static bool apply_action(struct cli *cli, const char *text)
{
	(void)text;
	if (cli->depth)
		return cli_wrong(cli, "--%s belongs on the command line, not into a file",
				 cli->row->name);
	*(bool *)((char *)cli->values + cli->row->offset) = true;
	return true;
}

#define ARGS_FIELD(member) CLI_FIELD(struct conf, member)

static const struct cli_option args_options[] = {
    {.name = "NICs", .kind = CLI_GROUP},
    {.name = "nics",
     .value = "N",
     .kind = CLI_NUMBER,
     ARGS_FIELD(num_switch_nics),
     .low = 1,
     .high = CONF_MAX_NICS,
     .help = "create N NICs connected by the built-in switch"},
    {.name = "subnet",
     .value = "A.B.C.D/LEN",
     .apply = apply_subnet,
     .initial = "10.77.0.0/24",
     .help = "addresses of the switch's NICs: .1 to .N of it"},
    {.name = "port",
     .value = "PORT",
     .apply = apply_port,
     .help = "add a NIC on a wire: NETDEV (an interface of the kernel: AF_XDP, else AF_PACKET), "
	     "memif:PATH[,server][,uid=N], pci:ADDR[,vlan=N][,tso=off], tap:NAME; once per NIC"},
    {.name = "list-ports",
     .kind = CLI_FLAG,
     .apply = apply_action,
     ARGS_FIELD(list_ports),
     .help =
	 "print the interfaces and PCI cards of this machine that --port takes, and what has to "
	 "be done before, and end"},
    {.name = "ip",
     .value = "A.B.C.D/LEN",
     .apply = apply_ip,
     .help = "address of the NIC of the --port before it"},
    {.name = "gw",
     .value = "A.B.C.D",
     .apply = apply_gw,
     .shown = "none, the subnet alone",
     .help = "gateway of that NIC"},
    {.name = "netdev",
     .value = "HOW",
     .kind = CLI_CHOICE,
     ARGS_FIELD(netdev),
     .choices = "auto|xdp|native|generic|packet",
     .initial = "auto",
     .help = "how to use a NETDEV: auto, xdp (native or generic), packet"},
    {.name = "mtu",
     .value = "BYTES",
     .kind = CLI_NUMBER,
     ARGS_FIELD(mtu),
     .low = HW_MIN_MTU,
     .high = HW_MAX_MTU,
     .shown = "switch 9216, NETDEV the interface's, else 1500",
     .help = "largest IPv4 packet"},
    {.name = "spare-nics",
     .value = "N",
     .kind = CLI_NUMBER,
     ARGS_FIELD(spare_nics),
     .high = CONF_MAX_NICS,
     .initial = "4",
     .help = "room for N more NICs that are added while weftd runs; address space until then"},
    {.name = "port-rights",
     .value = "drop|keep",
     .kind = CLI_CHOICE,
     ARGS_FIELD(keep_port_rights),
     .choices = "drop|keep",
     .initial = "drop",
     .help = "keep: one thread keeps the capabilities that opening an interface takes, so that "
	     "ports can be added while weftd runs"},
    {.name = "name",
     .value = "BASE",
     .apply = apply_name,
     .initial = "weft",
     .help = "NICs are called BASE0, BASE1, ..."},
    {.name = "Built-in switch", .kind = CLI_GROUP},
    {.name = "loss",
     .value = "PERCENT",
     .apply = apply_percent,
     ARGS_FIELD(fault.chance.loss_ppm),
     .most = 100,
     .help = "share of frames that are dropped"},
    {.name = "delay-us",
     .value = "US",
     .apply = apply_delay,
     .most = 1e6,
     .help = "time that each frame takes"},
    {.name = "reorder",
     .value = "PERCENT",
     .apply = apply_percent,
     ARGS_FIELD(fault.chance.reorder_ppm),
     .most = 100,
     .help = "share of frames that are overtaken by 1 to 8 others"},
    {.name = "dup",
     .value = "PERCENT",
     .apply = apply_percent,
     ARGS_FIELD(fault.chance.dup_ppm),
     .most = 100,
     .help = "share of frames that arrive twice"},
    {.name = "rate-gbps",
     .value = "GBPS",
     .apply = apply_rate,
     .least = 0.001,
     .most = 1000,
     .shown = "no limit",
     .help = "line rate to each NIC"},
    {.name = "crc",
     .value = "on|off",
     .kind = CLI_CHOICE,
     ARGS_FIELD(switch_crc),
     .choices = "off|on",
     .initial = "off",
     .help = "between the NICs of this weftd: on computes and checks every CRC32C, as on a wire; "
	     "off leaves them out, since frames stay in memory"},
    {.name = "seed",
     .value = "N",
     .kind = CLI_NUMBER,
     ARGS_FIELD(fault.seed),
     .initial = "1",
     .help = "seed of the random choices among these"},
    {.name = "Faults", .kind = CLI_GROUP},
    {.name = "fault",
     .value = "WORDS",
     .apply = apply_fault,
     .help = "what happens to frames on the way to a NIC, of the switch or a port: [NIC] and "
	     "weftctl fault's words, \"loss 1% delay 50us\", \"weft1 reorder dup rate 10G\"; "
	     "may be repeated"},
    {.name = "Cores", .kind = CLI_GROUP},
    {.name = "cores",
     .value = "LIST",
     .apply = apply_cores,
     .shown = "the last CPU",
     .help = "CPUs to poll on, such as 1 or 2,4-7, each followed by its role if it is not io: "
	     "2:io,3:coll,0:ctl. coll: every NIC has a separate shard for collectives there; ctl: "
	     "the control threads run there. A CPU may have several roles: 1:io,1:coll. 0*4: four "
	     "threads on CPU 0, for tests"},
    {.name = "shared-core",
     .apply = apply_shared,
     .help = "clients also run on these CPUs: yield whenever idle"},
    {.name = "own-core",
     .apply = apply_own,
     .help = "no other process runs there: never yield (default: detected at run time)"},
    {.name = "idle-us",
     .value = "US",
     .apply = apply_idle,
     .low = 1,
     .high = 3600000000,
     .shown = "10000, shared 1000",
     .help = "idle time before sleeping"},
    {.name = "Processes", .kind = CLI_GROUP},
    {.name = "quota",
     .value = "[user:]KIND=N",
     .apply = apply_quota,
     .shown = "half of a table, a user three quarters",
     .help = "limit of one process, or of one user with all its processes: qp, cq, srq, mr, mw, "
	     "pd, ah, mcast, groups, cm, eq, xrcd, sessions, tcp, listeners, streams, comms, "
	     "schedules, goal, clients (of a shard); connections, descriptors, bytes, mappings, "
	     "memory (of weftd); may be repeated"},
    {.name = "unmapped",
     .value = "on|off",
     .kind = CLI_CHOICE,
     ARGS_FIELD(no_unmapped),
     .choices = "on|off",
     .initial = "on",
     .help = "let processes register unmapped memory"},
    {.name = "coalesce",
     .value = "WORDS",
     .apply = apply_coalesce,
     .help = "initial interrupt moderation: [NIC] [vector N] and ethtool's words, "
	     "\"rx-usecs 5 rx-frames 16\", \"weft0 vector 2 adaptive on\"; may be repeated"},
    {.name = "Protocols", .kind = CLI_GROUP},
    {.name = "no-cc",
     .kind = CLI_FLAG,
     ARGS_FIELD(no_cc),
     .help = "RD without congestion control: only the window limits"},
    {.name = "no-bundle",
     .kind = CLI_FLAG,
     ARGS_FIELD(no_bundle),
     .help = "RD: each short message in a frame of its own"},
    {.name = "esp-burst",
     .value = "N",
     .kind = CLI_NUMBER,
     ARGS_FIELD(esp_burst),
     .low = 1,
     .high = CONF_MAX_ESP_BURST,
     .shown = "32",
     .help = "ESP: packets in flight per stream"},
    {.name = "esp-initial-burst",
     .value = "N",
     .kind = CLI_NUMBER,
     ARGS_FIELD(esp_initial_burst),
     .low = 1,
     .high = CONF_MAX_ESP_BURST,
     .shown = "16",
     .help = "ESP: packets sent before the peer's first answer"},
    {.name = "mpa-crc",
     .value = "HOW",
     .apply = apply_mpa_crc,
     .choices = "off|on|required",
     .initial = "on",
     .help = "iWARP over TCP: CRCs are on, off unless the peer requests them, or required: peers "
	     "that do not agree are rejected"},
    {.name = "mpa-markers",
     .value = "on|off",
     .apply = apply_mpa_markers,
     .choices = "on|off",
     .initial = "off",
     .help = "request markers from peers; markers that peers request are always sent"},
    {.name = "mpa-revision",
     .value = "1|2",
     .apply = apply_mpa_revision,
     .choices = "1|2",
     .initial = "2",
     .help = "MPA revision of requests; 1 accepts only requests of revision 1"},
    {.name = "mpa-rtr",
     .value = "LIST",
     .apply = apply_mpa_rtr,
     .initial = "write,read",
     .help = "first frame of peer-to-peer connections, one of: send,write,read; none: the active "
	     "end must send first"},
    {.name = "Running", .kind = CLI_GROUP},
    {.name = "run-dir",
     .value = "DIR",
     .apply = apply_run_dir,
     .shown = "$WEFT_RUN_DIR, else /run/weft",
     .help = "sockets and locks"},
    {.name = "user",
     .value = "NAME",
     .apply = apply_user,
     .shown = "weft if started by root and that user exists",
     .help = "run as this user, without privileges"},
    {.name = "seccomp",
     .value = "on|off",
     .kind = CLI_CHOICE,
     ARGS_FIELD(no_seccomp),
     .choices = "on|off",
     .initial = "on",
     .help = "filter the system calls of weftd"},
    {.name = "native-ops",
     .value = "on|off",
     .kind = CLI_CHOICE,
     ARGS_FIELD(no_native_ops),
     .choices = "on|off",
     .initial = "on",
     .help = "compile users' operations; off: interpret them"},
    {CLI_CONFIG, .apply = cli_config},
    {.name = "check",
     .kind = CLI_FLAG,
     .apply = apply_action,
     ARGS_FIELD(check),
     .help =
	 "start nothing: print what of the configuration and of this machine keeps weftd from "
	 "starting or slows it down, each with what to do, and end: 0, 1 if it would not start, "
	 "2 if the configuration is wrong"},
    {.name = "json", .kind = CLI_FLAG, ARGS_FIELD(json), .help = "--check: findings as JSON"},
    {.name = "capture",
     .value = "WORDS",
     .apply = apply_capture,
     .help = "NIC FILE [BYTES]: write the frames of a NIC into a pcapng file, until it has BYTES "
	     "(100M), as \"weft0 /var/log/weft/weft0.pcapng 1G\"; may be repeated"},
    {.name = "log",
     .value = "FILE",
     .apply = apply_log,
     .shown = "standard error",
     .help = "append messages with their time to FILE; SIGHUP reopens it"},
    {.name = "log-level",
     .value = "LEVEL",
     .kind = CLI_CHOICE,
     ARGS_FIELD(log_level),
     .choices = "error|info|debug",
     .initial = "info",
     .help = "which messages are printed; weftctl log changes it while weftd runs"},
    {.name = "log-format",
     .value = "FORMAT",
     .kind = CLI_CHOICE,
     ARGS_FIELD(log_format),
     .choices = "auto|plain|journal",
     .initial = "auto",
     .help = "form of messages: lines of text, or records of systemd's journal with fields "
	     "(WEFT_NIC, WEFT_PID, CODE_FUNC, ...); auto: records if standard error is the "
	     "journal's"},
    {.name = "verbose",
     .kind = CLI_FLAG,
     ARGS_FIELD(verbose),
     .help = "log-level debug, and DPDK's own messages"},
    {.name = "stages",
     .kind = CLI_FLAG,
     ARGS_FIELD(stages),
     .help = "count the cycles of each stage, for weft-bench stages"},
    {.name = "port-echo",
     .kind = CLI_FLAG,
     ARGS_FIELD(port_echo),
     .help = "answer EDP echoes to port 7 before the firmware, for weft-bench ladder"},
};

char args_version[48];

const struct cli_program args_program = {
    .name = "weftd",
    .section = 8,
    .version = args_version,
    .summary = "runs software RDMA NICs",
    .usage = "weftd --nics N [option ...]\n"
	     "weftd --port PORT --ip A.B.C.D/LEN [option ...]\n"
	     "weftd --list-ports\n"
	     "weftd --check [--config FILE] [option ...]",
    .about = "Runs software RDMA NICs. Each NIC listens on a socket in the run directory, to\n"
	     "which programs that use libweft attach; weftctl shows their state.",
    .after =
	"Sockets belong to group weft if it exists, mode 0660. weftd prints \"ready\" once\n"
	"NICs can be used, and notifies NOTIFY_SOCKET. SIGTERM or SIGINT ends it: clients get a\n"
	"fatal event; so does SIGHUP from its terminal. SIGUSR1 logs counters. Without\n"
	"hugepages it runs from ordinary memory.\n"
	"\n"
	"Exit status: 0 ended, 1 failed, 2 wrong command line.\n"
	"\n"
	"Examples: weftd --nics 4 --loss 1 --seed 7\n"
	"          weftd --port eth1 --ip 192.168.5.9/24 --gw 192.168.5.1\n"
	"          weftd --port memif:/run/weft/m.sock,server --ip 10.9.0.1/24 --mtu 9000",
    .options = args_options,
    .num_options = sizeof(args_options) / sizeof(args_options[0]),
};
