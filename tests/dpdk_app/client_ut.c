/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of processes: those accepted in each state, and those that never are.
 *
 * Runs client_check() of dpdk_app/client/client_cmd.c, and client_accept.c.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/fd_drop.h"
#include "tests/ut.h"

enum {
	FDS = 64, /* more than the test has open */
};

static struct hw_cmd cmd;

static int check(uint32_t op, enum client_state state, bool tool)
{
	cmd.op = op;
	return client_check(&cmd, sizeof(cmd), 0, state, tool);
}

static int check_fds(uint32_t num_fds, enum client_state state)
{
	return client_check(&cmd, sizeof(cmd), num_fds, state, false);
}

static void sizes_and_numbers(void)
{
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_ALLOC_PD;
	CU_ASSERT_EQUAL(client_check(&cmd, 0, 0, CLIENT_LIVE, false), EMSGSIZE);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd) - 1, 0, CLIENT_LIVE, false), EMSGSIZE);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd) + 1, 0, CLIENT_LIVE, false), EMSGSIZE);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 0, CLIENT_LIVE, false), 0);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 1, CLIENT_LIVE, false), EINVAL);
	CU_ASSERT_EQUAL(check(0, CLIENT_LIVE, false), EOPNOTSUPP);
	CU_ASSERT_EQUAL(check(HW_CMD_OPS, CLIENT_LIVE, false), EOPNOTSUPP);
	CU_ASSERT_EQUAL(check(UINT32_MAX, CLIENT_LIVE, false), EOPNOTSUPP);
}

static void attach_first_and_once(void)
{
	memset(&cmd, 0, sizeof(cmd));
	cmd.u.attach.version = HW_CMD_VERSION;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), 0);
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_ATTACHING, false), EISCONN);
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_LIVE, false), EISCONN);
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_DETACHING, false), EISCONN);
	cmd.u.attach.flags = 0x10;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), EINVAL);
	cmd.u.attach.flags = 0x800;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), EINVAL);
	cmd.u.attach.flags = 0x8000;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), EINVAL);
	cmd.u.attach.flags = HW_USE_LIBFABRIC << HW_ATTACH_USE_SHIFT;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), 0);
	cmd.u.attach.flags = HW_ATTACH_F_COLL | HW_ATTACH_F_SHARD | 7 << HW_ATTACH_SHARD_SHIFT;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), 0);
	cmd.u.attach.flags = HW_ATTACH_F_TOOL;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), 0);
	CU_ASSERT_EQUAL(check_fds(1, CLIENT_CONNECTED), EINVAL);
	cmd.u.attach.flags = HW_ATTACH_F_MEMORY;
	CU_ASSERT_EQUAL(check_fds(0, CLIENT_CONNECTED), EINVAL);
	CU_ASSERT_EQUAL(check_fds(1, CLIENT_CONNECTED), 0);
	CU_ASSERT_EQUAL(check_fds(2, CLIENT_CONNECTED), EINVAL);
	cmd.u.attach.flags = HW_ATTACH_F_MEMORY | HW_ATTACH_F_TOOL;
	CU_ASSERT_EQUAL(check_fds(1, CLIENT_CONNECTED), EINVAL);
	cmd.u.attach.flags = 0;
	cmd.u.attach.version++;
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_CONNECTED, false), EPROTO);
	for (uint32_t op = HW_CMD_ATTACH + 1; op < HW_CMD_OPS; op++) {
		CU_ASSERT_EQUAL(check(op, CLIENT_CONNECTED, false), ENOTCONN);
		CU_ASSERT_EQUAL(check(op, CLIENT_ATTACHING, false), ENOTCONN);
		CU_ASSERT_EQUAL(check(op, CLIENT_OFFERED, false),
				op == HW_CMD_START ? 0 : ENOTCONN);
	}
	CU_ASSERT_EQUAL(check(HW_CMD_ATTACH, CLIENT_OFFERED, false), EISCONN);
	CU_ASSERT_EQUAL(check(HW_CMD_START, CLIENT_LIVE, false), EISCONN);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 1, CLIENT_OFFERED, false), EINVAL);
}

static void tools_only_ask(void)
{
	memset(&cmd, 0, sizeof(cmd));
	for (uint32_t op = HW_CMD_ATTACH + 1; op < HW_CMD_OPS; op++) {
		bool asks = op == HW_CMD_QUERY_DEVICE || op == HW_CMD_STATS || op == HW_CMD_LIST ||
			    op == HW_CMD_CAPTURE || op == HW_CMD_COALESCE || op == HW_CMD_VECTOR ||
			    op == HW_CMD_CHANGE;

		/* It needs a descriptor. */
		if (op == HW_CMD_UPGRADE)
			continue;
		CU_ASSERT_EQUAL(check(op, CLIENT_LIVE, true), asks ? 0 : EPERM);
	}
}

static void upgrade_is_for_tools_with_a_file(void)
{
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_UPGRADE;
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 1, CLIENT_LIVE, true), 0);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 0, CLIENT_LIVE, true), EINVAL);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 2, CLIENT_LIVE, true), EINVAL);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 1, CLIENT_LIVE, false), EPERM);
	CU_ASSERT_EQUAL(client_check(&cmd, sizeof(cmd), 1, CLIENT_OFFERED, true), ENOTCONN);
}

static int check_reg(uint32_t num_fds)
{
	return client_check(&cmd, sizeof(cmd), num_fds, CLIENT_LIVE, false);
}

static int check_pieces(uint32_t pieces, uint32_t num_fds)
{
	return client_check(&cmd, sizeof(cmd) + pieces * sizeof(struct hw_mem_piece), num_fds,
			    CLIENT_LIVE, false);
}

static void registrations(void)
{
	struct hw_cmd_reg_mr *reg = &cmd.u.reg_mr;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_REG_MR;
	CU_ASSERT_EQUAL(check_reg(0), EINVAL); /* nothing to register */
	reg->addr = reg->iova = 0x1000;
	reg->bytes = 4096;
	CU_ASSERT_EQUAL(check_reg(0), 0);
	CU_ASSERT_EQUAL(check_reg(1), EINVAL); /* a surplus descriptor */
	reg->num_pieces = 1;                   /* and pieces without a command for them */
	CU_ASSERT_EQUAL(check_reg(0), EINVAL);
	reg->flags = HW_REG_F_MAPPED;
	CU_ASSERT_EQUAL(check_reg(0), EMSGSIZE);
	CU_ASSERT_EQUAL(check_pieces(1, 0), 0);
	CU_ASSERT_EQUAL(check_pieces(2, 0), EMSGSIZE);
	CU_ASSERT_EQUAL(check_pieces(1, 1), EINVAL);
	reg->num_pieces = 0;
	CU_ASSERT_EQUAL(check_pieces(0, 0), EINVAL);
	reg->num_pieces = HW_MEM_PIECES_MAX;
	CU_ASSERT_EQUAL(check_pieces(HW_MEM_PIECES_MAX, 0), 0);
	reg->num_pieces = HW_MEM_PIECES_MAX + 1;
	CU_ASSERT_EQUAL(check_pieces(HW_MEM_PIECES_MAX + 1, 0), EMSGSIZE);
	reg->num_pieces = UINT32_MAX;
	CU_ASSERT_EQUAL(check_pieces(1, 0), EMSGSIZE);
	reg->num_pieces = 1;
	reg->flags = HW_REG_F_MAPPED | 2;
	CU_ASSERT_EQUAL(check_pieces(1, 0), EINVAL);
}

static void registrations_that_wrap(void)
{
	struct hw_cmd_reg_mr *reg = &cmd.u.reg_mr;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_REG_MR;
	reg->bytes = 4096;
	reg->addr = UINT64_MAX - 4096;
	CU_ASSERT_EQUAL(check_reg(0), 0);
	reg->addr++;
	CU_ASSERT_EQUAL(check_reg(0), EINVAL);
	reg->addr = 0;
	reg->iova = UINT64_MAX - 4095;
	CU_ASSERT_EQUAL(check_reg(0), EINVAL);
	reg->iova = 0;
	reg->bytes = HW_MAX_MR_BYTES;
	CU_ASSERT_EQUAL(check_reg(0), 0);
	reg->bytes++;
	CU_ASSERT_EQUAL(check_reg(0), EINVAL);
	reg->bytes = UINT64_MAX;
	CU_ASSERT_EQUAL(check_reg(0), EINVAL);
}

/* An abstract socket, and one that is connected to it. */
static void listen_at(struct nic *nic, struct sockaddr_un *at, socklen_t *bytes)
{
	nic->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	*bytes = sizeof(sa_family_t);
	CU_ASSERT_EQUAL_FATAL(bind(nic->listen_fd, (struct sockaddr *)at, *bytes), 0);
	*bytes = sizeof(*at);
	CU_ASSERT_EQUAL_FATAL(getsockname(nic->listen_fd, (struct sockaddr *)at, bytes), 0);
	CU_ASSERT_EQUAL_FATAL(listen(nic->listen_fd, 8), 0);
}

/* A user beyond its share of connections is refused at once; the next user gets in. */
static void over_quota(void)
{
	const struct user_tables tables = {10, 100, 1 << 20, 100, 1 << 20};
	struct hw_share_limits limits = {0};
	struct nic nic = {.name = "weft0", .num_shards = 1};
	int peer[2], epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct hw_cmd_resp resp = {0};
	struct sockaddr_un at;
	socklen_t bytes;

	limits.process[HW_SHARE_CONNECTION] = 1;
	user_init(&limits, &tables);
	listen_at(&nic, &at, &bytes);
	for (int i = 0; i < 2; i++) {
		peer[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		CU_ASSERT_EQUAL(connect(peer[i], (struct sockaddr *)&at, bytes), 0);
		client_accept(&nic, epoll_fd);
	}
	CU_ASSERT_EQUAL(nic.num_clients, 1);
	CU_ASSERT_EQUAL(recv(peer[1], &resp, sizeof(resp), MSG_DONTWAIT), sizeof(resp));
	CU_ASSERT_EQUAL(resp.op, HW_CMD_ATTACH);
	CU_ASSERT_EQUAL(resp.tag, 0);
	CU_ASSERT_EQUAL(resp.status, EDQUOT);
	CU_ASSERT_EQUAL(resp.u.quota.kind, HW_SHARE_CONNECTION);
	CU_ASSERT_EQUAL(resp.u.quota.of, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(resp.u.quota.limit, 1);
	CU_ASSERT_EQUAL(recv(peer[1], &resp, sizeof(resp), MSG_DONTWAIT), 0);
	client_free_all();
	CU_ASSERT_EQUAL(nic.num_clients, 0);
	for (int i = 0; i < 2; i++)
		close(peer[i]);
	close(nic.listen_fd);
	close(epoll_fd);
}

/* A thread closes connections that have ended: waits until it has done so. */
static void wait_closed(void)
{
	while (fd_drop_pending())
		sched_yield();
}

static bool waits(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/*
 * weftd closes a connection for which it has no descriptor, which would otherwise wake the control
 * thread for ever.
 */
static void no_descriptor_left(void)
{
	struct nic nic = {.name = "weft0", .num_shards = 1};
	struct rlimit limit, low = {.rlim_cur = FDS};
	int peer[3], filler[FDS], num_filler = 0;
	struct sockaddr_un at;
	socklen_t bytes;
	const struct user_tables tables = {10, 100, 1 << 20, 100, 1 << 20};
	char byte;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	user_init(&(struct hw_share_limits){0}, &tables);
	listen_at(&nic, &at, &bytes);
	for (int i = 0; i < 3; i++)
		peer[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL(connect(peer[0], (struct sockaddr *)&at, bytes), 0);
	client_accept(&nic, epoll_fd);
	CU_ASSERT_EQUAL(nic.num_clients, 1);
	CU_ASSERT_FALSE(waits(nic.listen_fd) || waits(peer[0]));
	getrlimit(RLIMIT_NOFILE, &limit);
	low.rlim_max = limit.rlim_max;
	wait_closed();
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &low), 0);
	while (num_filler < FDS && (filler[num_filler] = dup(epoll_fd)) >= 0)
		num_filler++;
	for (int i = 1; i < 3; i++) {
		CU_ASSERT_EQUAL(connect(peer[i], (struct sockaddr *)&at, bytes), 0);
		client_accept(&nic, epoll_fd);
		CU_ASSERT_FALSE(waits(nic.listen_fd));
		CU_ASSERT_EQUAL(recv(peer[i], &byte, 1, MSG_DONTWAIT), 0);
	}
	CU_ASSERT_EQUAL(nic.num_clients, 1);
	while (num_filler)
		close(filler[--num_filler]);
	setrlimit(RLIMIT_NOFILE, &limit);
	client_free_all();
	CU_ASSERT_EQUAL(nic.num_clients, 0);
	for (int i = 0; i < 3; i++)
		close(peer[i]);
	close(nic.listen_fd);
	close(epoll_fd);
}

UT_MAIN("dpdk_app/client", UT(sizes_and_numbers), UT(attach_first_and_once), UT(tools_only_ask),
	UT(upgrade_is_for_tools_with_a_file), UT(registrations), UT(registrations_that_wrap),
	UT(over_quota), UT(no_descriptor_left))
