/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines and configuration files of weftd: their meaning, and a message of one line for
 * every wrong one that names the fault.
 *
 * Runs dpdk_app/args/args.c, args_coalesce.c, args_cores.c and args_value.c.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "dpdk_app/args/args.h"
#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_cores.h"
#include "dpdk_app/args/args_capture.h"
#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/args/args_value.h"
#include "shared_defs/hw_cm.h"
#include "tests/tmp.h"
#include "tests/ut.h"

enum {
	ARGS_MAX = 128,
};

static struct conf conf;
static char error[CONF_ERROR_CHARS];

/* Parses a command line given as one string. */
static enum args_result parse(const char *line)
{
	char copy[1024];
	char *argv[ARGS_MAX + 1] = {(char *)(uintptr_t) "weftd"};
	int argc = 1;
	char *rest;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &rest); word && argc < ARGS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	error[0] = '\0';
	return args_parse(argc, argv, &conf, error);
}

/* Expects a refusal in one line that contains part. */
static void refuse(const char *line, const char *part)
{
	CU_ASSERT_EQUAL(parse(line), ARGS_WRONG);
	CU_ASSERT_PTR_NULL(strchr(error, '\n'));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, part));
	if (!strstr(error, part))
		fprintf(stderr, "\"%s\": \"%s\" has no \"%s\"\n", line, error, part);
}

/* Addresses of cards are stored as DPDK writes them. */
static void cards(void)
{
	CU_ASSERT_EQUAL(parse("--port pci:3B:00.1 --ip 10.0.0.1/24"), ARGS_RUN);
	CU_ASSERT_STRING_EQUAL(conf.nic[0].device, "0000:3b:00.1");
	CU_ASSERT_EQUAL(conf.nic[0].vlan, 0);
	CU_ASSERT_FALSE(conf.nic[0].no_tso);
	CU_ASSERT_EQUAL(parse("--port pci:3B:00.1,vlan=4094 --ip 10.0.0.1/24"), ARGS_RUN);
	CU_ASSERT_STRING_EQUAL(conf.nic[0].device, "0000:3b:00.1");
	CU_ASSERT_EQUAL(conf.nic[0].vlan, 4094);
	refuse("--port pci:eth0 --ip 10.0.0.1/24", "no address of a card");
	refuse("--port pci:3b:00.1,x=y --ip 10.0.0.1/24", "takes vlan=N, 1 to 4094");
	refuse("--port pci:3b:00.1,vlan=4095 --ip 10.0.0.1/24", "takes vlan=N, 1 to 4094");
	refuse("--port pci:3b:00.1,vlan=0 --ip 10.0.0.1/24", "takes vlan=N, 1 to 4094");
	refuse("--port pci:3b:00.1,vlan=5,vlan=6 --ip 10.0.0.1/24", "takes vlan=N, 1 to 4094");
	refuse("--port pci:3b:00.1,vlan=5, --ip 10.0.0.1/24", "takes vlan=N, 1 to 4094");
	refuse("--port pci:3b:00.1,vlan=0000000000000000005 --ip 10.0.0.1/24", "takes vlan=N");
	refuse("--port pci:3b:00.1,tso=on --ip 10.0.0.1/24", "and tso=off");
	refuse("--port pci:3b:00.1,tso=off,tso=off --ip 10.0.0.1/24", "and tso=off");
	CU_ASSERT_EQUAL(parse("--port pci:3b:00.1,tso=off,vlan=7 --ip 10.0.0.1/24"), ARGS_RUN);
	CU_ASSERT_TRUE(conf.nic[0].no_tso);
	CU_ASSERT_EQUAL(conf.nic[0].vlan, 7);
	refuse("--port pci:3b:00.1 --ip 10.0.0.1/24 --port pci:0000:3b:00.1 --ip 10.0.0.2/24",
	       "that card has a NIC already");
	CU_ASSERT_EQUAL(parse("--list-ports"), ARGS_RUN);
	CU_ASSERT_TRUE(conf.list_ports);
	CU_ASSERT_EQUAL(conf.num_nics, 0);
}

static void four_nics(void)
{
	unsetenv("WEFT_RUN_DIR");
	CU_ASSERT_EQUAL(parse("--nics 4"), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_nics, 4);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(conf.nic[i].wire, CONF_WIRE_SWITCH);
		CU_ASSERT_EQUAL(conf.nic[i].ip, htonl(0x0a4d0001 + i));
		CU_ASSERT_EQUAL(conf.nic[i].ip_prefix, 24);
	}
	CU_ASSERT_STRING_EQUAL(conf.run_dir, "/run/weft");
	CU_ASSERT_STRING_EQUAL(conf.name, "weft");
	CU_ASSERT_EQUAL(conf.mtu, 0);
	CU_ASSERT_EQUAL(conf.num_cores, 0);
	CU_ASSERT_EQUAL(conf.fault.chance.loss_ppm, 0);
	CU_ASSERT_FALSE(conf.no_unmapped);
	CU_ASSERT_FALSE(conf.switch_crc);
}

static void every_option(void)
{
	CU_ASSERT_EQUAL(
	    parse("--nics 2 --subnet 192.168.9.128/25 --loss 1 --delay-us 2.5 --reorder 3 "
		  "--dup 4 --rate-gbps 10 --seed 77 --mtu 9000 --cores 1,3-5,3 "
		  "--shared-core --idle-us 250 --user some --seccomp off --quota qp=7 --quota eq=9 "
		  "--quota cm=3 --quota user:qp=8 --quota user:bytes=3G --quota goal=5M --no-cc "
		  "--stages --unmapped off --crc on --native-ops off "
		  "--esp-burst 63 --esp-initial-burst 1 "
		  "--mpa-crc required --mpa-markers on --mpa-revision 1 --mpa-rtr send,read "
		  "--run-dir /tmp/w --name rdma --netdev packet --verbose"),
	    ARGS_RUN);
	CU_ASSERT_EQUAL(conf.nic[1].ip, htonl(0xc0a80982));
	CU_ASSERT_EQUAL(conf.nic[1].ip_prefix, 25);
	CU_ASSERT_EQUAL(conf.fault.chance.loss_ppm, 10000);
	CU_ASSERT_EQUAL(conf.fault.delay_ns, 2500);
	CU_ASSERT_EQUAL(conf.fault.chance.reorder_ppm, 30000);
	CU_ASSERT_EQUAL(conf.fault.chance.dup_ppm, 40000);
	CU_ASSERT_EQUAL(conf.fault.rate_bps, 10000000000);
	CU_ASSERT_EQUAL(conf.fault.seed, 77);
	CU_ASSERT_EQUAL(conf.mtu, 9000);
	CU_ASSERT_EQUAL(conf.num_cores, 4);
	CU_ASSERT_TRUE(conf.core[3].cpu == 5 && conf.core[3].role == CONF_ROLE_IO);
	CU_ASSERT_EQUAL(conf.share, CONF_SHARE_YES);
	CU_ASSERT_EQUAL(conf.idle_ns, 250000);
	CU_ASSERT_STRING_EQUAL(conf.user, "some");
	CU_ASSERT_TRUE(conf.no_seccomp);
	CU_ASSERT_TRUE(conf.no_native_ops);
	CU_ASSERT_EQUAL(conf.quota.process[HW_SHARE_QP], 7);
	CU_ASSERT_EQUAL(conf.quota.process[HW_SHARE_EQ], 9);
	CU_ASSERT_EQUAL(conf.quota.process[HW_SHARE_CM], 3);
	CU_ASSERT_EQUAL(conf.quota.user[HW_SHARE_QP], 8);
	CU_ASSERT_EQUAL(conf.quota.user[HW_SHARE_BYTES], UINT64_C(3) << 30);
	CU_ASSERT_EQUAL(conf.quota.process[HW_SHARE_GOAL], 5 << 20);
	CU_ASSERT_EQUAL(conf.quota.process[HW_SHARE_BYTES], 0);
	CU_ASSERT_TRUE(conf.no_cc && conf.verbose && conf.no_unmapped && conf.switch_crc);
	CU_ASSERT_EQUAL(conf.esp_burst, 63);
	CU_ASSERT_EQUAL(conf.esp_initial_burst, 1);
	CU_ASSERT_EQUAL(conf.mpa, HW_MPA_GIVEN | HW_MPA_CRC | HW_MPA_CRC_REQUIRED | HW_MPA_MARKERS |
				      HW_MPA_REVISION_1 | HW_MPA_RTR_SEND | HW_MPA_RTR_READ);
	CU_ASSERT_STRING_EQUAL(conf.run_dir, "/tmp/w");
	CU_ASSERT_STRING_EQUAL(conf.name, "rdma");
	CU_ASSERT_EQUAL(conf.netdev, CONF_NETDEV_PACKET);
}

static void ways_of_a_netdev(void)
{
	static const struct {
		const char *word;
		enum conf_netdev netdev;
	} way[] = {{"auto", CONF_NETDEV_AUTO},
		   {"xdp", CONF_NETDEV_XDP},
		   {"native", CONF_NETDEV_NATIVE},
		   {"generic", CONF_NETDEV_GENERIC},
		   {"packet", CONF_NETDEV_PACKET}};
	char line[64];

	for (uint32_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		snprintf(line, sizeof(line), "--nics 1 --netdev %s", way[i].word);
		CU_ASSERT_EQUAL(parse(line), ARGS_RUN);
		CU_ASSERT_EQUAL(conf.netdev, way[i].netdev);
	}
}

static void ports(void)
{
	CU_ASSERT_EQUAL(parse("--port eth1 --ip 192.168.5.9/24 --gw 192.168.5.1 "
			      "--port memif:/run/m.sock,server --ip 10.9.0.1/24 "
			      "--port memif:/run/n.sock --ip 10.9.1.1/24 "
			      "--port pci:0000:03:00.1 --ip 10.9.2.1/16 "
			      "--port tap:w0 --ip 10.9.3.1/30 --nics 1"),
			ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_nics, 6);
	/* The switch's NICs come first. */
	CU_ASSERT_EQUAL(conf.nic[0].wire, CONF_WIRE_SWITCH);
	CU_ASSERT_EQUAL(conf.nic[1].wire, CONF_WIRE_NETDEV);
	CU_ASSERT_STRING_EQUAL(conf.nic[1].device, "eth1");
	CU_ASSERT_EQUAL(conf.nic[1].gateway, htonl(0xc0a80501));
	CU_ASSERT_EQUAL(conf.nic[2].wire, CONF_WIRE_MEMIF);
	CU_ASSERT_TRUE(conf.nic[2].memif_server);
	CU_ASSERT_STRING_EQUAL(conf.nic[2].device, "/run/m.sock");
	CU_ASSERT_FALSE(conf.nic[3].memif_server);
	CU_ASSERT_FALSE(conf.nic[3].memif_user_given);
	CU_ASSERT_EQUAL(conf.nic[4].wire, CONF_WIRE_PCI);
	CU_ASSERT_STRING_EQUAL(conf.nic[4].device, "0000:03:00.1");
	CU_ASSERT_EQUAL(conf.nic[5].wire, CONF_WIRE_TAP);
	CU_ASSERT_EQUAL(conf.nic[5].ip_prefix, 30);
	CU_ASSERT_EQUAL(parse("--port memif:/m,uid=0,server,secret=123456789012345678901234 "
			      "--ip 10.9.0.1/24"),
			ARGS_RUN);
	CU_ASSERT_STRING_EQUAL(conf.nic[0].device, "/m");
	CU_ASSERT_TRUE(conf.nic[0].memif_server);
	CU_ASSERT_TRUE(conf.nic[0].memif_user_given);
	CU_ASSERT_EQUAL(conf.nic[0].memif_user, 0);
	CU_ASSERT_STRING_EQUAL(conf.nic[0].memif_secret, "123456789012345678901234");
}

static void wrong_lines(void)
{
	refuse("", "--nics N");
	refuse("--nics", "--nics needs a value");
	refuse("--nics 0", "1 to 32");
	refuse("--nics 33", "1 to 32");
	refuse("--nics -1", "1 to 32");
	refuse("--nics 4x", "4x");
	refuse("--frobnicate 3", "--frobnicate");
	refuse("--nics 4 extra", "extra");
	refuse("--nics 4 -q", "-q");
	refuse("--nics 4 --subnet 10.0.0.0", "--subnet");
	refuse("--nics 4 --subnet 10.0.0.0/31", "--subnet");
	refuse("--nics 3 --subnet 10.0.0.0/30", "no room");
	refuse("--nics 2 --loss 101", "from 0 to 100");
	refuse("--nics 2 --loss -1", "from 0 to 100");
	refuse("--nics 2 --loss nan", "from 0 to 100");
	refuse("--nics 2 --dup x", "--dup");
	refuse("--nics 2 --reorder 1%", "--reorder");
	refuse("--nics 2 --delay-us 1e9", "--delay-us");
	refuse("--nics 2 --rate-gbps 0", "--rate-gbps");
	refuse("--nics 2 --seed abc", "--seed");
	refuse("--nics 2 --mtu 1279", "1280");
	refuse("--nics 2 --mtu 9217", "9216");
	refuse("--nics 2 --cores 1-", "--cores");
	refuse("--nics 2 --cores 5-2", "--cores");
	refuse("--nics 2 --cores 1,,2", "--cores");
	refuse("--nics 2 --cores 99999", "--cores");
	refuse("--nics 2 --seccomp maybe", "--seccomp");
	refuse("--nics 2 --user nobody-has-a-name-of-so-many-characters", "--user");
	refuse("--nics 2 --quota foo=3", "--quota");
	refuse("--nics 2 --quota qp=0", "--quota");
	refuse("--nics 2 --quota qp=999999", "--quota");
	refuse("--nics 2 --quota qp=1K", "16384");
	refuse("--nics 2 --quota user:foo=3", "descriptors");
	refuse("--nics 2 --quota user:qp", "--quota");
	refuse("--nics 2 --quota bytes=2000000T", "--quota");
	refuse("--nics 2 --quota bytes=G", "--quota");
	refuse("--nics 2 --name a/b", "--name");
	refuse("--nics 2 --name much-too-long-a-name", "--name");
	refuse("--nics 2 --idle-us 0", "--idle-us");
	refuse("--nics 2 --mpa-crc maybe", "--mpa-crc takes off, on or required");
	refuse("--nics 2 --mpa-markers yes", "--mpa-markers takes on or off");
	refuse("--nics 2 --mpa-revision 3", "--mpa-revision takes 1 or 2");
	refuse("--nics 2 --unmapped maybe", "--unmapped takes on or off");
	refuse("--nics 2 --mpa-rtr send,", "--mpa-rtr takes none, or some of");
	refuse("--nics 2 --mpa-rtr send,none", "--mpa-rtr takes none, or some of");
	refuse("--nics 2 --esp-burst 64", "--esp-burst takes a whole number from 1 to 63");
	refuse("--nics 2 --esp-initial-burst 0", "--esp-initial-burst");
	refuse("--nics 2 --netdev maybe", "--netdev");
	refuse("--nics 2 --config /nonexistent", "/nonexistent");
}

static void wrong_ports(void)
{
	refuse("--ip 1.2.3.4/24", "after the --port");
	refuse("--gw 1.2.3.4", "after the --port");
	refuse("--nics 1 --ip 1.2.3.4/24", "after the --port");
	refuse("--port eth0", "no address");
	refuse("--port eth0 --ip 1.2.3.4", "A.B.C.D/LEN");
	refuse("--port eth0 --ip 1.2.3/24", "A.B.C.D/LEN");
	refuse("--port eth0 --ip 1.2.3.4/24 --ip 1.2.3.5/24", "already");
	refuse("--port eth0 --ip 1.2.3.4/24 --gw 1.2.3.400", "--gw");
	refuse("--port vhost:x --ip 1.2.3.4/24", "unknown kind");
	refuse("--port memif: --ip 1.2.3.4/24", "no device");
	refuse("--port memif:,server --ip 1.2.3.4/24", "no device");
	refuse("--port memif:/a,zero-copy=yes --ip 1.2.3.4/24", "a memif takes server");
	refuse("--port memif:/a, --ip 1.2.3.4/24", "a memif takes");
	refuse("--port memif:/a,server,uid= --ip 1.2.3.4/24", "a memif takes");
	refuse("--port memif:/a,uid=x --ip 1.2.3.4/24", "a memif takes");
	refuse("--port memif:/a,uid=4294967295 --ip 1.2.3.4/24", "a memif takes");
	refuse("--port memif:/a,uid=1,uid=2 --ip 1.2.3.4/24", "a memif takes");
	refuse("--port memif:/a,secret=,server --ip 1.2.3.4/24", "a memif takes");
	refuse("--port memif:/a,secret=1234567890123456789012345 --ip 1.2.3.4/24", "a memif takes");
	refuse("--port a-name-of-16-chr --ip 1.2.3.4/24", "15");
	refuse("--port e0 --ip 1.2.3.4/24 --port e1 --ip 1.2.3.4/24", "the same address");
	refuse("--port e0 --ip 1.2.3.4/24 --loss 1", "--nics");
	refuse("--nics 32 --port e0 --ip 1.2.3.4/24", "at most 32");
}

/* Writes a file and parses "--config FILE" and more. */
static enum args_result parse_file(const char *text, const char *more)
{
	char path[TMP_PATH_BYTES], line[TMP_PATH_BYTES + 64];
	int fd = tmp_file(path);
	enum args_result result;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(line, sizeof(line), "--config %s %s", path, more);
	result = parse(line);
	unlink(path);
	return result;
}

static void config_files(void)
{
	CU_ASSERT_EQUAL(parse_file("# NICs\n[weftd]\nnics = 3\n  loss=0.5  # a little\n\nno-cc\n"
				   "port = eth3\nip = 10.1.1.1/16\n",
				   "--mtu 9000 --nics 2"),
			ARGS_RUN);
	/* Later options win. */
	CU_ASSERT_EQUAL(conf.num_switch_nics, 2);
	CU_ASSERT_EQUAL(conf.num_nics, 3);
	CU_ASSERT_EQUAL(conf.mtu, 9000);
	CU_ASSERT_EQUAL(conf.fault.chance.loss_ppm, 5000);
	CU_ASSERT_TRUE(conf.no_cc);
	CU_ASSERT_STRING_EQUAL(conf.nic[2].device, "eth3");
	CU_ASSERT_EQUAL(parse_file("nics = 2", ""), ARGS_RUN); /* no end of line */
}

static void wrong_config_files(void)
{
	CU_ASSERT_EQUAL(parse_file("nics = 2\nnicks = 3\n", ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, ":2: unknown word \"nicks\""));
	CU_ASSERT_EQUAL(parse_file("nics\n", ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "nics = N"));
	CU_ASSERT_EQUAL(parse_file("nics 2\n", ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "write \"nics = N\""));
	CU_ASSERT_EQUAL(parse_file("nics = 2\nno-cc = yes\n", ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "takes no value"));
	CU_ASSERT_EQUAL(parse_file("nics = 99\n", ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, ":1: --nics takes"));
	CU_ASSERT_PTR_NULL(strchr(error, '\n'));
	refuse("--nics 2 --log /tmp/x --log-format journal", "a file has no records");
	/* At a reload it would leave a weftd without NICs. */
	CU_ASSERT_EQUAL(parse_file("nics = 2\nlist-ports\n", ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "not into a file"));
	CU_ASSERT_EQUAL(parse_file("check\nnics = 2\n", ""), ARGS_WRONG);
	CU_ASSERT_EQUAL(parse_file("nics = 2\n", "--check"), ARGS_RUN);
}

static void config_naming_itself(void)
{
	char path[TMP_PATH_BYTES], line[TMP_PATH_BYTES + 16];
	int fd = tmp_file(path);

	CU_ASSERT_FATAL(fd >= 0);
	snprintf(line, sizeof(line), "config = %s\n", path);
	CU_ASSERT_EQUAL(write(fd, line, strlen(line)), (ssize_t)strlen(line));
	close(fd);
	snprintf(line, sizeof(line), "--config %s", path);
	CU_ASSERT_EQUAL(parse(line), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "deeply"));
	unlink(path);
}

static void roles(void)
{
	CU_ASSERT_EQUAL(parse("--nics 2 --cores 2:io,3-4:coll,0:ctl,1"), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_cores, 5);
	CU_ASSERT_TRUE(conf.core[0].cpu == 2 && conf.core[0].role == CONF_ROLE_IO);
	CU_ASSERT_TRUE(conf.core[2].cpu == 4 && conf.core[2].role == CONF_ROLE_COLL);
	CU_ASSERT_TRUE(conf.core[3].cpu == 0 && conf.core[3].role == CONF_ROLE_CTL);
	CU_ASSERT_TRUE(conf.core[4].cpu == 1 && conf.core[4].role == CONF_ROLE_IO);
	CU_ASSERT_EQUAL(cores_count(&conf, CONF_ROLE_IO), 2);
	CU_ASSERT_EQUAL(cores_count(&conf, CONF_ROLE_COLL), 2);
	/* One CPU in two roles, each of them once; the last list wins. */
	CU_ASSERT_EQUAL(parse("--nics 2 --cores 7 --cores 1:io,1:coll,1,1:coll,1:ctl"), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_cores, 3);
	CU_ASSERT_EQUAL(parse_file("nics = 2\ncores = 1:io,0:coll\n", ""), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_cores, 2);
	CU_ASSERT_EQUAL(parse("--nics 2 --cores 0-63"), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_cores, CONF_MAX_CORES);
	refuse("--nics 2 --cores 0-64", "at most 64");
	refuse("--nics 2 --cores 0*65", "--cores takes");
	refuse("--nics 2 --cores 0*33,1*32", "at most 64");
	refuse("--nics 2 --cores 0*0", "--cores takes");
	refuse("--nics 2 --cores 0*", "--cores takes");
	refuse("--nics 2 --cores *2", "--cores takes");
	CU_ASSERT_EQUAL(parse("--nics 1 --cores 0*4,1-2*2:coll,0,0*2"), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_cores, 8);
	CU_ASSERT_EQUAL(cores_count(&conf, CONF_ROLE_IO), 4);
	CU_ASSERT_EQUAL(conf.core[3].cpu, 0);
	CU_ASSERT_EQUAL(cores_count(&conf, CONF_ROLE_COLL), 4);
	refuse("--nics 2 --cores 1:", "no role \"\"");
	refuse("--nics 2 --cores 1:io,2:fast", "no role \"fast\"; io polls ports");
	refuse("--nics 2 --cores 1:io:coll", "no role \"io:coll\"");
	refuse("--nics 2 --cores :io", "--cores takes");
	refuse("--nics 2 --cores 1:io,", "--cores takes");
	refuse("--nics 2 --cores 3:coll",
	       "no core has the role io, and every port needs one: add one, such as 3:io");
	refuse("--nics 2 --cores 3:coll,0:ctl", "role io");
	refuse("--nics 2 --cores 1:a-role-that-does-not-fit-anywhere", "--cores takes");
}

/* Expects a refusal of line 2 of a file with this reason. */
static void refuse_coalesce(const char *words, const char *part)
{
	char text[256];

	snprintf(text, sizeof(text), "nics = 2\ncoalesce = %s\n", words);
	CU_ASSERT_EQUAL(parse_file(text, ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, part));
	if (!strstr(error, part))
		fprintf(stderr, "\"%s\": \"%s\" has no \"%s\"\n", words, error, part);
}

static void coalesce(void)
{
	struct hw_coalesce v[HW_NUM_VECTORS];

	CU_ASSERT_EQUAL(parse("--nics 2"), ARGS_RUN);
	coalesce_of_nic(&conf, 0, v);
	CU_ASSERT_TRUE(v[0].mode == HW_COALESCE_FIXED && !v[7].param[HW_COALESCE_rx_usecs]);
	CU_ASSERT_EQUAL(parse_file("coalesce = rx-usecs 5 rx-frames 16 # all of them\n"
				   "coalesce = weft1 vector 2 adaptive on\n"
				   "coalesce = weft1 rx-usecs 7\n"
				   "coalesce = weft2 vector 0 target p99=20us\n"
				   "port = eth3\nip = 10.1.1.1/16\nnics = 2\n",
				   ""),
			ARGS_RUN);
	coalesce_of_nic(&conf, 0, v);
	for (uint32_t i = 0; i < HW_NUM_VECTORS; i++) {
		CU_ASSERT_EQUAL(v[i].param[HW_COALESCE_rx_usecs], 5);
		CU_ASSERT_EQUAL(v[i].param[HW_COALESCE_rx_frames], 16);
		CU_ASSERT_EQUAL(v[i].mode, HW_COALESCE_FIXED);
	}
	coalesce_of_nic(&conf, 1, v);
	CU_ASSERT_EQUAL(v[2].mode, HW_COALESCE_ADAPTIVE);
	CU_ASSERT_EQUAL(v[3].mode, HW_COALESCE_FIXED);
	CU_ASSERT_EQUAL(v[2].param[HW_COALESCE_rx_usecs], 7);
	CU_ASSERT_EQUAL(v[2].param[HW_COALESCE_rx_frames], 16);
	coalesce_of_nic(&conf, 2, v);
	CU_ASSERT_EQUAL(v[0].mode, HW_COALESCE_TARGET);
	CU_ASSERT_EQUAL(v[0].target_percentile, 9900);
	CU_ASSERT_EQUAL(v[0].target_ns, 20000);
	CU_ASSERT_EQUAL(v[1].mode, HW_COALESCE_FIXED);
	/* Names go by --name, wherever that stands. */
	CU_ASSERT_EQUAL(parse_file("coalesce = rdma1 off\nnics = 2\n", "--name rdma"), ARGS_RUN);
	refuse_coalesce("weft2 rx-usecs 5", "no such NIC; the names are weft0 to weft1");
	refuse_coalesce("rx-usecs 1024", ":2: --coalesce: rx-usecs takes 0 to 1023, 0 for off, not "
					 "\"1024\"");
	refuse_coalesce("rx-frames 256", "0 to 255");
	refuse_coalesce("rx-frame 25", "did you mean rx-frames?");
	refuse_coalesce("weft0 vector 8 off", "vector takes 0 to 7");
	refuse_coalesce("weft0", "nothing is set");
	refuse_coalesce("frobnicate", "use rx-usecs, rx-frames, tx-usecs, tx-frames, each also "
				      "with -irq appended, adaptive, target or off");
	refuse("--nics 2 --coalesce", "needs a value");
}

static void too_much_coalesce(void)
{
	char text[2048] = "nics = 1\n";

	for (int i = 0; i < CONF_MAX_COALESCE; i++)
		strcat(text, "coalesce = off\n");
	CU_ASSERT_EQUAL(parse_file(text, ""), ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_coalesce, CONF_MAX_COALESCE);
	strcat(text, "coalesce = off\n");
	CU_ASSERT_EQUAL(parse_file(text, ""), ARGS_WRONG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "at most 64 times"));
}

static void values(void)
{
	int first, last;
	uint64_t n;

	CU_ASSERT_TRUE(value_u64("18446744073709551615", 0, UINT64_MAX, &n));
	CU_ASSERT_EQUAL(n, UINT64_MAX);
	CU_ASSERT_FALSE(value_u64("18446744073709551616", 0, UINT64_MAX, &n));
	CU_ASSERT_FALSE(value_u64("", 0, 9, &n));
	CU_ASSERT_FALSE(value_u64(" 1", 0, 9, &n));
	CU_ASSERT_TRUE(value_cpu_range("3", &first, &last));
	CU_ASSERT_TRUE(first == 3 && last == 3);
	CU_ASSERT_TRUE(value_cpu_range("1-2", &first, &last));
	CU_ASSERT_TRUE(first == 1 && last == 2);
	CU_ASSERT_FALSE(value_cpu_range("2-1", &first, &last));
	CU_ASSERT_FALSE(value_cpu_range("1-2-3", &first, &last));
	CU_ASSERT_FALSE(value_cpu_range("1024", &first, &last));
	CU_ASSERT_FALSE(value_cpu_range("", &first, &last));
}

/* The loss of a NIC in the configuration in force. */
static uint32_t loss_of(uint32_t index)
{
	struct hw_fault fault;

	conf_fault_of(&conf, index, &fault);
	return fault.chance.loss_ppm;
}

/* Faults that were given while weftd ran go with their NIC; those of the configuration stay. */
static void faults_of_a_nic_that_goes(void)
{
	static struct conf configured;

	CU_ASSERT_EQUAL(parse_file("nics = 3\nfault = loss 3%\nfault = weft1 loss 1%\n", ""),
			ARGS_RUN);
	configured = conf;
	CU_ASSERT_TRUE(conf_fault_add(&conf, "weft1 loss 7%", error));
	CU_ASSERT_TRUE(conf_fault_add(&conf, "weft2 loss 8%", error));
	CU_ASSERT_EQUAL(loss_of(1), 70000);
	conf_fault_return(&conf, &configured, 1);
	CU_ASSERT_EQUAL(loss_of(0), 30000);
	CU_ASSERT_EQUAL(loss_of(1), 10000);
	CU_ASSERT_EQUAL(loss_of(2), 80000);
	conf_fault_return(&conf, &configured, 2);
	CU_ASSERT_EQUAL(loss_of(1), 10000);
	CU_ASSERT_EQUAL(loss_of(2), 30000);
	CU_ASSERT_EQUAL(conf.num_faults, 2);
	/* A later line for all NICs replaced the configuration's. */
	CU_ASSERT_TRUE(conf_fault_add(&conf, "loss 5%", error));
	CU_ASSERT_TRUE(conf_fault_add(&conf, "weft1 loss 7%", error));
	conf_fault_return(&conf, &configured, 1);
	CU_ASSERT_EQUAL(loss_of(1), 50000);
	CU_ASSERT_EQUAL(conf.num_faults, 1);
}

/* A later line of a NIC replaces an earlier one; what is no line is refused. */
static void captures(void)
{
	static const char *const wrong[] = {
	    "capture = weft0",
	    "capture = weft0 x.pcapng",
	    "capture = weft3 /tmp/x",
	    "capture = weft0 /tmp/x 63K",
	    "capture = weft0 /tmp/x -1",
	    "capture = weft0 /tmp/x 1T",
	    "capture = weft0 /tmp/x 1MB",
	    "capture = weft0 /tmp/x 99999999999G",
	    "capture = weft0 /tmp/x 1M more",
	    "capture = weft0weft0weft0weft0 /tmp/x",
	    "capture = weft0 /tmp/x\ncapture = weft1 /tmp/x",
	};
	char text[256];

	CU_ASSERT_EQUAL(parse_file("nics = 3\ncapture = weft1 /tmp/a\ncapture = weft0 /tmp/b 2G\n"
				   "capture = weft1 /tmp/c 64K\n",
				   ""),
			ARGS_RUN);
	CU_ASSERT_EQUAL(conf.num_captures, 2);
	CU_ASSERT_STRING_EQUAL(conf_capture_of(&conf, 1)->file, "/tmp/c");
	CU_ASSERT_EQUAL(conf_capture_of(&conf, 1)->limit_bytes, 64 << 10);
	CU_ASSERT_EQUAL(conf_capture_of(&conf, 0)->limit_bytes, UINT64_C(2) << 30);
	CU_ASSERT_PTR_NULL(conf_capture_of(&conf, 2));
	conf_capture_remove(&conf, 1);
	conf_capture_remove(&conf, 2);
	CU_ASSERT_PTR_NULL(conf_capture_of(&conf, 1));
	CU_ASSERT_EQUAL(conf.num_captures, 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "nics = 3\n%s\n", wrong[i]);
		CU_ASSERT_EQUAL(parse_file(text, ""), ARGS_WRONG);
		CU_ASSERT_PTR_NOT_NULL(strstr(error, "--capture"));
	}
}

UT_MAIN("dpdk_app/args", UT(captures), UT(four_nics), UT(cards), UT(every_option),
	UT(ways_of_a_netdev), UT(ports), UT(wrong_lines), UT(wrong_ports), UT(config_files),
	UT(wrong_config_files), UT(config_naming_itself), UT(roles), UT(coalesce),
	UT(too_much_coalesce), UT(values), UT(faults_of_a_nic_that_goes))
