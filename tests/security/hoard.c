/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that makes weftd hold resources for it while it holds none itself.
 *
 *	hoard SOCKET memory BYTES PROCESSES	registers extents of BYTES, one after the other,
 *						and unmaps and closes them itself
 *	hoard SOCKET space BYTES PROCESSES	registers a page of each
 *	hoard SOCKET extents PROCESSES		the same without a registration
 *	hoard SOCKET unread CONNECTIONS		makes event queues and destroys them, and leaves
 *						their descriptors in its sockets
 *
 * Each process goes on until it is refused (or has LIMIT), prints its number of objects and the
 * reason of the refusal, and waits to be killed. Speaks the control channel without libweft.
 * docs/security.md "Shares".
 */
#include "tests/security/taker.h"

enum {
	LIMIT = 2000,
	UNREAD = 150, /* commands of a connection */
	PAGE = HW_BAR_PAGE_BYTES,
};

/* ---- memory */

static int reg(struct victim *v, uint64_t key, uint64_t bytes, struct hw_resp_quota *quota)
{
	struct hw_cmd_pieces packet = {.cmd.op = HW_CMD_REG_MR,
				       .piece = {{.key = key, .bytes = bytes}}};
	struct hw_cmd_resp resp;

	packet.cmd.u.reg_mr = (struct hw_cmd_reg_mr){
	    .bytes = bytes, .pd = v->pd, .flags = HW_REG_F_MAPPED, .num_pieces = 1};
	(void)command(v->sock, &packet.cmd, &resp);
	*quota = resp.u.quota;
	return resp.status;
}

/* Takes extents of that many bytes, of which that many are registered; 0: none. */
struct hoarded {
	uint64_t bytes, reg_bytes;
};

static struct result take_extents(uint32_t before, const void *arg)
{
	const struct hoarded *what = arg;
	const uint64_t bytes = what->reg_bytes;
	struct result r = {0};
	struct hw_cmd_resp resp;
	struct victim v;

	(void)before;
	if (attach_on(&v, connect_nic(), -1))
		die("ATTACH");
	furnish_attached(&v, 1);
	do {
		struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MEM, .u.alloc_mem.bytes = what->bytes};
		int fd = -1;

		r.status = command_fd(v.sock, &cmd, &resp, -1, &fd);
		r.quota = resp.u.quota;
		if (!r.status && bytes) {
			uint64_t key = resp.u.alloc_mem.key;
			void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_POPULATE, fd, 0);

			if (mem == MAP_FAILED)
				die("mmap: %s", strerror(errno));
			r.status = reg(&v, key, bytes, &r.quota);
			munmap(mem, bytes);
		}
		if (fd >= 0)
			close(fd);
	} while (!r.status && ++r.taken < LIMIT);
	return r;
}

/* ---- unread answers */

/* Sends commands without reading their answers, at most as many as a socket holds. */
static void send_unread(int sock)
{
	struct hw_cmd create = {.op = HW_CMD_CREATE_EQ, .u.create_eq.entries = 1};
	struct hw_cmd destroy = {.op = HW_CMD_DESTROY_EQ, .u.obj.handle = 1};
	uint32_t sent = 0;

	for (uint32_t waits = 0; sent < UNREAD && waits < 200;) {
		struct hw_cmd *cmd = sent % 2 ? &destroy : &create;

		if (send(sock, cmd, sizeof(*cmd), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*cmd)) {
			sent++;
			waits = 0;
		} else if (errno == EAGAIN) {
			waits++;
			usleep(1000);
		} else {
			break;
		}
	}
}

static void leave_unread(uint32_t connections)
{
	struct result r = {0};
	struct victim v;
	int sock;

	while (r.taken < connections && (sock = connect_or_say(&r)) >= 0) {
		r.status = attach_on(&v, sock, -1);
		if (r.status)
			break;
		send_unread(v.sock);
		r.taken++;
	}
	say_result(&r);
	printf("all %u\n", r.taken);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[2] : "";
	struct hoarded hoarded = {PAGE, 0};

	socket_path = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "memory") && argc == 5) {
		hoarded.bytes = hoarded.reg_bytes = strtoull(argv[3], NULL, 0);
		take_in_turn(take_extents, &hoarded, (uint32_t)atoi(argv[4]));
	} else if (!strcmp(what, "space") && argc == 5) {
		hoarded.bytes = strtoull(argv[3], NULL, 0);
		hoarded.reg_bytes = PAGE;
		take_in_turn(take_extents, &hoarded, (uint32_t)atoi(argv[4]));
	} else if (!strcmp(what, "extents") && argc == 4) {
		take_in_turn(take_extents, &hoarded, (uint32_t)atoi(argv[3]));
	} else if (!strcmp(what, "unread") && argc == 4) {
		leave_unread((uint32_t)atoi(argv[3]));
	} else {
		die("SOCKET memory|space|extents|unread ...");
	}
	pause();
	return 0;
}
