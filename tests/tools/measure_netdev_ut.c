/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune --netdev without a network: ethtool's messages, an interface's interrupts, where the
 * other end is, lines in pieces. tests/int/tune_netdev.sh has the kernel's side.
 */
#include "tools/weft-measure/net_peer.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/ut.h"

/* An answer of the kernel: the attributes of the driver, and some that are no parameter. */
static struct nlmsghdr *answer(void *buf)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(msg, sizeof(*genl));
	struct nlattr *nest = mnl_attr_nest_start(msg, ETHTOOL_A_COALESCE_HEADER);

	genl->cmd = ETHTOOL_MSG_COALESCE_GET_REPLY;
	mnl_attr_put_u32(msg, ETHTOOL_A_HEADER_DEV_INDEX, 3);
	mnl_attr_put_strz(msg, ETHTOOL_A_HEADER_DEV_NAME, "eth7");
	mnl_attr_nest_end(msg, nest);
	return msg;
}

static void reads_settings(void)
{
	char buf[ETH_COAL_MSG_BYTES];
	struct nlmsghdr *msg = answer(buf);
	struct eth_coal coal;

	mnl_attr_put_u32(msg, ETHTOOL_A_COALESCE_RX_USECS, 20);
	mnl_attr_put_u32(msg, ETHTOOL_A_COALESCE_RX_MAX_FRAMES, 5);
	mnl_attr_put_u32(msg, ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ, 0);
	mnl_attr_put_u32(msg, ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, 1000);
	mnl_attr_put_u8(msg, ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 1);
	CU_ASSERT(!eth_coal_parse(msg, &coal));
	CU_ASSERT(coal.there == ((1u << HW_COALESCE_rx_usecs) | (1u << HW_COALESCE_rx_frames) |
				 (1u << HW_COALESCE_tx_frames_irq) | ETH_COAL_ADAPTIVE_RX));
	CU_ASSERT(coal.value[HW_COALESCE_rx_usecs] == 20);
	CU_ASSERT(coal.value[HW_COALESCE_rx_frames] == 5);
	CU_ASSERT(coal.value[HW_COALESCE_tx_frames_irq] == 0);
	CU_ASSERT(coal.adaptive_rx && !coal.adaptive_tx);
}

/* An attribute of the wrong size is no number. */
static void refuses_wrong_sizes(void)
{
	char buf[ETH_COAL_MSG_BYTES];
	struct nlmsghdr *msg = answer(buf);
	struct eth_coal coal;

	mnl_attr_put_u16(msg, ETHTOOL_A_COALESCE_TX_USECS, 20);
	CU_ASSERT(eth_coal_parse(msg, &coal) == -EBADMSG);
	msg = answer(buf);
	mnl_attr_put(msg, ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, 0, NULL);
	CU_ASSERT(eth_coal_parse(msg, &coal) == -EBADMSG);
	msg = answer(buf);
	CU_ASSERT(!eth_coal_parse(msg, &coal) && coal.there == 0);
}

/* A request, read as the kernel reads it. */
static void builds_requests(void)
{
	char buf[ETH_COAL_MSG_BYTES];
	struct eth_coal set = {.there = 1u << HW_COALESCE_tx_usecs | ETH_COAL_ADAPTIVE_RX |
					ETH_COAL_ADAPTIVE_TX,
			       .adaptive_tx = true},
			got;
	const struct nlmsghdr *msg;
	const struct genlmsghdr *genl;
	const struct nlattr *header;

	set.value[HW_COALESCE_tx_usecs] = 1023;
	set.value[HW_COALESCE_rx_usecs] = 7; /* not named by there */
	msg = eth_coal_build(buf, 21, 9, "eth7", &set);
	genl = mnl_nlmsg_get_payload(msg);
	header = mnl_nlmsg_get_payload_offset(msg, sizeof(*genl));
	CU_ASSERT(msg->nlmsg_type == 21 && msg->nlmsg_seq == 9);
	CU_ASSERT(msg->nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK));
	CU_ASSERT(genl->cmd == ETHTOOL_MSG_COALESCE_SET);
	CU_ASSERT(mnl_attr_get_type(header) == ETHTOOL_A_COALESCE_HEADER);
	CU_ASSERT(!strcmp(mnl_attr_get_str(mnl_attr_get_payload(header)), "eth7"));
	CU_ASSERT(!eth_coal_parse(msg, &got));
	CU_ASSERT(got.there == set.there && got.value[HW_COALESCE_tx_usecs] == 1023);
	CU_ASSERT(!got.value[HW_COALESCE_rx_usecs] && !got.adaptive_rx && got.adaptive_tx);
	msg = eth_coal_build(buf, 21, 10, "eth7", NULL);
	genl = mnl_nlmsg_get_payload(msg);
	CU_ASSERT(genl->cmd == ETHTOOL_MSG_COALESCE_GET);
	CU_ASSERT(!eth_coal_parse(msg, &got) && !got.there);
}

static void interrupts(void)
{
	static const char line[] = " 27:       100         23   PCI-MSIX-0000:00:02.0   1-edge    "
				   "  virtio0-input.0\n";
	static const char named[] = "130: 7 0 5 IR-PCI-MSI 524289-edge eth1-TxRx-0";
	static const uint32_t numbers[] = {12, 27};
	uint64_t sum = 1000;

	CU_ASSERT(net_host_irq_line(line, "eth0", numbers, 2, &sum) && sum == 1123);
	CU_ASSERT(!net_host_irq_line(line, "eth0", numbers, 1, &sum) && sum == 1123);
	/* Without numbers by name: of all of it, not of a part. */
	CU_ASSERT(!net_host_irq_line(line, "eth0", NULL, 0, &sum));
	CU_ASSERT(net_host_irq_line(named, "eth1", NULL, 0, &sum) && sum == 1135);
	CU_ASSERT(!net_host_irq_line(named, "eth", NULL, 0, &sum));
	CU_ASSERT(!net_host_irq_line(named, "th1", NULL, 0, &sum));
	CU_ASSERT(!net_host_irq_line(named, "eth1", numbers, 2, &sum));
	CU_ASSERT(!net_host_irq_line("NMI: 5 5 Non-maskable eth1", "eth1", NULL, 0, &sum));
	CU_ASSERT(!net_host_irq_line("           CPU0       CPU1", "CPU0", NULL, 0, &sum));
	CU_ASSERT(!net_host_irq_line("", "eth1", NULL, 0, &sum) && sum == 1135);
}

static void addresses(void)
{
	static const struct {
		const char *where, *address, *port;
	} good[] = {{"192.0.2.1", "192.0.2.1", "47990"},
		    {"192.0.2.1:80", "192.0.2.1", "80"},
		    {"host.example:65535", "host.example", "65535"},
		    {"2001:db8::1", "2001:db8::1", "47990"},
		    {"[2001:db8::1]", "2001:db8::1", "47990"},
		    {"[2001:db8::1]:7", "2001:db8::1", "7"}};
	static const char *const bad[] = {
	    "",     ":1",     "host:", "host:0",  "host:65536", "host:1x",
	    "[::1", "[::1]x", "[]:1",  "host:-1", "[::1]:",     "host:99999999999999999999"};
	char address[32], port[8];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CU_ASSERT(
		    net_peer_parse(good[i].where, address, sizeof(address), port, sizeof(port)));
		CU_ASSERT(!strcmp(address, good[i].address) && !strcmp(port, good[i].port));
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT(!net_peer_parse(bad[i], address, sizeof(address), port, sizeof(port)));
	CU_ASSERT(!net_peer_parse("a-name-that-is-too-long-for-its-room", address, 16, port, 8));
}

static void lines(void)
{
	struct net_line line = {.chars = 0};
	char longer[NET_LINE_CHARS + 1];
	int fd[2];

	CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	CU_ASSERT(net_line_read(fd[1], &line) == 0);
	CU_ASSERT(write(fd[0], "se", 2) == 2 && net_line_read(fd[1], &line) == 0);
	CU_ASSERT(write(fd[0], "t 1 2\nnext\n", 11) == 11);
	CU_ASSERT(net_line_read(fd[1], &line) == 1 && !strcmp(line.text, "set 1 2"));
	net_line_next(&line);
	CU_ASSERT(net_line_read(fd[1], &line) == 1 && !strcmp(line.text, "next"));
	net_line_next(&line);
	CU_ASSERT(!net_say(fd[0], "host %d", 5));
	CU_ASSERT(net_line_read(fd[1], &line) == 1 && !strcmp(line.text, "host 5"));
	net_line_next(&line);
	/* Longer than a line may be, and a zero. */
	memset(longer, 'x', sizeof(longer));
	CU_ASSERT(write(fd[0], longer, sizeof(longer)) == (ssize_t)sizeof(longer));
	CU_ASSERT(net_line_read(fd[1], &line) == -EPROTO);
	while (recv(fd[1], longer, sizeof(longer), MSG_DONTWAIT) > 0)
		;
	net_line_next(&line);
	CU_ASSERT(write(fd[0], "a\0b\n", 4) == 4 && net_line_read(fd[1], &line) == -EPROTO);
	while (recv(fd[1], longer, sizeof(longer), MSG_DONTWAIT) > 0)
		;
	net_line_next(&line);
	close(fd[0]);
	CU_ASSERT(net_line_read(fd[1], &line) == -EPIPE);
	CU_ASSERT(net_say(fd[1], "anybody?") == -EPIPE);
	close(fd[1]);
}

/* A failure to open is reported in one line. */
static void no_such_interface(void)
{
	char error[TUNE_ERROR_CHARS] = "";

	CU_ASSERT(!tune_target_netdev.open("nosuch0@192.0.2.1", error));
	CU_ASSERT(strstr(error, "no interface 'nosuch0'") && !strchr(error, '\n'));
	CU_ASSERT(!tune_target_netdev.open("an-interface-name-that-is-too-long", error));
	CU_ASSERT(strstr(error, "no interface") != NULL);
}

UT_MAIN("tools/measure_netdev", UT(reads_settings), UT(refuses_wrong_sizes), UT(builds_requests),
	UT(interrupts), UT(addresses), UT(lines), UT(no_such_interface))
