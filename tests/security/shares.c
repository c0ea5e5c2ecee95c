/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user who takes all objects of a NIC, with several processes, and a second user who comes after
 * it.
 *
 *	shares SOCKET take KIND PROCESSES	takes objects of KIND until it is refused, prints
 *						how many, and keeps them until it is killed
 *	shares SOCKET attach PROCESSES		the same with attachments
 *	shares SOCKET connect PROCESSES		the same with connections that never attach
 *	shares SOCKET use			attaches, makes one object of each kind and writes
 *						to itself: the needs of another user
 *
 * Run by shares.sh. docs/security.md "Shares".
 */
#include <sys/resource.h>

#include "tests/security/taker.h"

enum {
	LIMIT = 70000, /* more than any table has */
	ROUND_TRIPS = 20,
};

static uint32_t cm_eq; /* for events of connections */

/* Makes the objects that each process needs before it takes others. */
static void begin(struct victim *v)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ, .u.create_eq.entries = 16};
	struct hw_cmd_resp resp;
	int fd[FDS_MAX];

	furnish(v, 1);
	if (command_fd(v->sock, &cmd, &resp, -1, fd))
		die("CREATE_EQ: %s", strerror(resp.status));
	close(fd[0]);
	cm_eq = resp.u.create_eq.eq;
}

static void fill(struct hw_cmd *cmd, const struct victim *v, const char *kind, uint32_t number)
{
	static const char *const kinds[] = {"pd", "cq", "qp", "srq",  "mr",   "mw",
					    "ah", "eq", "cm", "xrcd", "mcast"};
	uint32_t k = 0;

	memset(cmd, 0, sizeof(*cmd));
	while (k < 11 && strcmp(kinds[k], kind))
		k++;
	switch (k) {
	case 0:
		cmd->op = HW_CMD_ALLOC_PD;
		return;
	case 1:
		cmd->op = HW_CMD_CREATE_CQ;
		cmd->u.create_cq = (struct hw_cmd_create_cq){1, HW_EQ_NONE, 0};
		return;
	case 2:
		cmd->op = HW_CMD_CREATE_QP;
		cmd->u.create_qp = (struct hw_cmd_create_qp){
		    .pd = v->pd,
		    .type = HW_QPT_RD,
		    .send_cq = v->cq,
		    .recv_cq = v->cq,
		    .srq = HW_SRQ_NONE,
		    .sq_slots = 2,
		    .max_send_wr = 1,
		    .max_recv_wr = 1,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		};
		return;
	case 3:
		cmd->op = HW_CMD_CREATE_SRQ;
		cmd->u.srq = (struct hw_cmd_srq){.pd = v->pd, .max_wr = 1, .max_sge = 1};
		return;
	case 4:
		cmd->op = HW_CMD_REG_MR;
		cmd->u.reg_mr =
		    (struct hw_cmd_reg_mr){.addr = 4096, .iova = 4096, .bytes = 64, .pd = v->pd};
		return;
	case 5:
		cmd->op = HW_CMD_ALLOC_MW;
		cmd->u.alloc_mw = (struct hw_cmd_alloc_mw){v->pd, 1};
		return;
	case 6:
		cmd->op = HW_CMD_CREATE_AH;
		cmd->u.create_ah.pd = v->pd;
		return;
	case 7:
		cmd->op = HW_CMD_CREATE_EQ;
		cmd->u.create_eq.entries = 1;
		return;
	case 8:
		cmd->op = HW_CMD_CM_CREATE;
		cmd->u.cm.eq = cm_eq;
		return;
	case 9:
		cmd->op = HW_CMD_OPEN_XRCD;
		return;
	case 10:
		cmd->op = HW_CMD_ATTACH_MCAST;
		cmd->u.mcast.qpn = v->qp[1].qpn;
		cmd->u.mcast.gid[10] = cmd->u.mcast.gid[11] = 0xff;
		cmd->u.mcast.gid[12] = 239;
		cmd->u.mcast.gid[14] = (uint8_t)(number >> 8);
		cmd->u.mcast.gid[15] = (uint8_t)number;
		return;
	default:
		die("there is no kind %s", kind);
	}
}

static struct result take(uint32_t first, const void *kind)
{
	struct result r = {0};
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;
	struct victim v;

	begin(&v);
	do {
		int fd[FDS_MAX] = {-1};

		fill(&cmd, &v, kind, first + r.taken);
		r.status = command_fd(v.sock, &cmd, &resp, -1, fd);
		if (fd[0] >= 0)
			close(fd[0]);
	} while (!r.status && ++r.taken < LIMIT);
	r.quota = resp.u.quota;
	return r;
}

/* Returns the status of an ATTACH on a connection of its own, which stays; EDQUOT fills *quota. */
static int attach_once(uint32_t version, struct hw_resp_quota *quota)
{
	struct hw_cmd cmd = {
	    .op = HW_CMD_ATTACH, .tag = 1, .u.attach = {.version = version, .name = "shares"}};
	struct hw_cmd_resp resp = {0};
	int fd[FDS_MAX];
	int sock = connect_nic();

	memset(fd, -1, sizeof(fd));
	/* A refused connection may be closed already; its answer can be read all the same. */
	(void)send_raw(sock, &cmd, sizeof(cmd), NULL, 0);
	if (!receive(sock, &resp, fd) && !receive(sock, &resp, fd))
		resp.status = ECONNRESET;
	for (uint32_t i = 0; i < FDS_MAX; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	/* The process reads its shard when it has its BAR. */
	if (!resp.status) {
		cmd = (struct hw_cmd){.op = HW_CMD_START};
		(void)command(sock, &cmd, &resp);
	}
	*quota = resp.u.quota;
	return resp.status;
}

static struct result take_attachments(uint32_t before, const void *arg)
{
	struct result r = {0};

	(void)before;
	(void)arg;
	while (!(r.status = attach_once(HW_CMD_VERSION, &r.quota)) && ++r.taken < LIMIT)
		;
	return r;
}

/* A version that weftd does not know: it answers so, and waits for another ATTACH. */
static struct result take_connections(uint32_t before, const void *arg)
{
	struct result r = {0};

	(void)before;
	(void)arg;
	while ((r.status = attach_once(0, &r.quota)) == EPROTO && ++r.taken < LIMIT)
		;
	return r;
}

/* ---- objects that another user needs */

static void use(void)
{
	static const char *const kinds[] = {"pd", "cq", "qp", "srq", "mr",
					    "mw", "ah", "eq", "cm",  "mcast"};
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;
	struct victim v;

	begin(&v);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fill(&cmd, &v, kinds[i], 65000);
		must(&v, &cmd, &resp);
	}
	/* A round trip: a Write to itself is sent, received and acknowledged. */
	memcpy(v.mem, "a", 1);
	for (uint32_t i = 0; i < ROUND_TRIPS; i++) {
		struct hw_cqe cqe;

		post(&v, HW_WQE_WRITE, (uintptr_t)v.mem, 4096, v.stag);
		cqe = completion(&v, i);
		if (cqe.status != HW_STATUS_SUCCESS)
			die("request %u ends with status %u", i, cqe.status);
	}
	detach(&v);
	printf("all there, %d round trips\n", ROUND_TRIPS);
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc < 3)
		die("SOCKET take|attach|connect|use ...");
	socket_path = argv[1];
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (!strcmp(argv[2], "use"))
		use();
	else if (!strcmp(argv[2], "take") && argc == 5)
		take_in_turn(take, argv[3], (uint32_t)atoi(argv[4]));
	else if (!strcmp(argv[2], "attach") && argc == 4)
		take_in_turn(take_attachments, NULL, (uint32_t)atoi(argv[3]));
	else if (!strcmp(argv[2], "connect") && argc == 4)
		take_in_turn(take_connections, NULL, (uint32_t)atoi(argv[3]));
	else
		die("SOCKET take|attach|connect|use ...");
	if (strcmp(argv[2], "use"))
		pause();
	return 0;
}
