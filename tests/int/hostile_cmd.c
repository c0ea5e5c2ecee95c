/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client whose commands are wrong: malformed packets, other processes' objects, random contents,
 * and memory that is foreign to weftd, too short or unmapped. Run by hostile.sh while other clients
 * work. Exit status 0: the NIC refused what it must refuse, and still answers.
 */
#include "tests/int/hostile.h"

/* ---- commands */

/* Sends packets of every wrong length, with surplus descriptors. */
static void wrong_packets(int sock)
{
	uint8_t packet[2 * sizeof(struct hw_cmd)];
	const int fd[8] = {0, 0, 1, 1, 2, 2, 0, 1};
	struct hw_cmd_resp resp;
	size_t bytes = 1 + rnd() % sizeof(packet);
	uint32_t num_fds = rnd() % 4 ? 0 : (uint32_t)(rnd() % 9);

	rnd_bytes(packet, sizeof(packet));
	if (bytes == sizeof(struct hw_cmd) && !num_fds)
		bytes--;
	if (!send_raw(sock, packet, bytes, fd, num_fds) || !receive(sock, &resp, NULL))
		die("the NIC closed the connection at a packet of %zu bytes", bytes);
	if (!resp.status)
		die("a packet of %zu bytes with %u descriptors was taken", bytes, num_fds);
}

/* Sends a command with random contents: any answer is fine. */
static void wild_command(int sock)
{
	struct hw_cmd_pieces packet;
	struct hw_cmd_resp resp;
	uint32_t *word = (uint32_t *)packet.cmd.u.bytes;

	rnd_bytes(&packet, sizeof(packet));
	packet.cmd.op = (uint32_t)(rnd() % (HW_CMD_OPS + 2));
	/* Small numbers hit existing objects. */
	for (size_t i = 0; i < sizeof(packet.cmd.u.bytes) / 4; i++) {
		if (rnd() % 2)
			word[i] = (uint32_t)(rnd() % 64);
	}
	/* Only the machine's memory limits this one. */
	if (packet.cmd.op == HW_CMD_ALLOC_MEM)
		packet.cmd.u.alloc_mem.bytes %= 1 << 20;
	if (packet.cmd.op == HW_CMD_CAPTURE)
		return;
	(void)command(sock, &packet.cmd, &resp);
}

/* Uses handles of another process. */
static void foreign_handles(struct victim *own, const struct victim *other)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	uint32_t handle[] = {other->pd, other->stag, other->cq, other->qp[0].qpn, other->ah};
	uint32_t op[] = {HW_CMD_DEALLOC_PD, HW_CMD_DEREG_MR, HW_CMD_DESTROY_CQ, HW_CMD_DESTROY_QP,
			 HW_CMD_DESTROY_AH};

	for (uint32_t i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
		cmd = (struct hw_cmd){.op = op[i], .u.obj.handle = handle[i]};
		refused(own->sock, &cmd, 0, "destroying another process's object");
	}
	cmd = (struct hw_cmd){.op = HW_CMD_QUERY_QP, .u.obj.handle = other->qp[0].qpn};
	refused(own->sock, &cmd, 0, "QUERY_QP of another process");
	cmd = (struct hw_cmd){.op = HW_CMD_MODIFY_QP};
	cmd.u.modify_qp.qpn = other->qp[0].qpn;
	cmd.u.modify_qp.mask = HW_QP_STATE;
	cmd.u.modify_qp.attr.state = HW_QPS_ERR;
	refused(own->sock, &cmd, 0, "MODIFY_QP of another process");
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_QP};
	cmd.u.create_qp = (struct hw_cmd_create_qp){.pd = other->pd,
						    .type = HW_QPT_RD,
						    .send_cq = own->cq,
						    .recv_cq = own->cq,
						    .srq = HW_SRQ_NONE,
						    .sq_slots = SQ_SLOTS,
						    .max_send_wr = 1,
						    .max_recv_wr = 1};
	refused(own->sock, &cmd, 0, "CREATE_QP in another process's PD");
	cmd.u.create_qp.pd = own->pd;
	cmd.u.create_qp.send_cq = other->cq;
	refused(own->sock, &cmd, 0, "CREATE_QP with another process's CQ");
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_AH};
	cmd.u.create_ah.pd = other->pd;
	cmd.u.create_ah.av = (struct hw_av){.dst_ip = htonl(0x0a4d0002), .flags = HW_AV_F_GRH};
	refused(own->sock, &cmd, 0, "CREATE_AH in another process's PD");
}

static void run_commands(uint32_t rounds)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;
	struct victim own, other;
	int sock = connect_nic();

	refused(sock, &cmd, ENOTCONN, "ALLOC_PD before ATTACH");
	cmd = (struct hw_cmd){.op = HW_CMD_ATTACH, .u.attach.version = HW_CMD_VERSION + 1};
	refused(sock, &cmd, EPROTO, "ATTACH of another version");
	cmd = (struct hw_cmd){.op = HW_CMD_OPS};
	refused(sock, &cmd, EOPNOTSUPP, "a command that there is not");
	for (uint32_t i = 0; i < rounds / 4; i++)
		wrong_packets(sock);
	close(sock);
	furnish(&own, 2);
	furnish(&other, 2);
	cmd = (struct hw_cmd){.op = HW_CMD_ATTACH, .u.attach.version = HW_CMD_VERSION};
	refused(own.sock, &cmd, EISCONN, "a second ATTACH");
	foreign_handles(&own, &other);
	for (uint32_t i = 0; i < rounds; i++) {
		wrong_packets(own.sock);
		wild_command(own.sock);
	}
	cmd = (struct hw_cmd){.op = HW_CMD_QUERY_QP, .u.obj.handle = other.qp[0].qpn};
	must(&other, &cmd, &resp);
	if (resp.u.query_qp.attr.state != HW_QPS_RTS)
		die("the other process's QP is in state %u", resp.u.query_qp.attr.state);
	detach(&own);
	detach(&other);
	/* Leaves answers unread and closes in their middle. */
	attach(&own);
	cmd = (struct hw_cmd){.op = HW_CMD_QUERY_DEVICE};
	for (uint32_t i = 0; i < 4 * rounds; i++) {
		if (send(own.sock, &cmd, sizeof(cmd), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
	}
	detach(&own);
}

/* ---- memory */

/* Registers one piece, which must be refused. */
static void piece_refused(struct victim *v, uint64_t key, uint64_t offset, uint64_t bytes,
			  const char *what)
{
	struct hw_mem_piece piece = {key, offset, bytes};
	uint32_t stag;

	if (!reg_pieces(v, 0x100000, &piece, 1, &stag))
		die("REG_MR took memory that is %s", what);
}

/* Any descriptor beside REG_MR is surplus: weftd maps no memory but its own. */
static void descriptor_refused(struct victim *v, int fd, const char *what)
{
	struct hw_cmd_pieces packet = {.cmd.op = HW_CMD_REG_MR, .piece = {{v->key, 0, MEM_BYTES}}};
	struct hw_cmd_resp resp;

	packet.cmd.u.reg_mr = (struct hw_cmd_reg_mr){
	    .addr = 0x100000,
	    .iova = 0x100000,
	    .bytes = MEM_BYTES,
	    .pd = v->pd,
	    .access = HW_ACCESS_LOCAL_WRITE,
	    .flags = HW_REG_F_MAPPED,
	    .num_pieces = 1,
	};
	if (fd < 0)
		die("%s: %s", what, strerror(errno));
	if (command_fd(v->sock, &packet.cmd, &resp, fd, NULL) != EINVAL)
		die("REG_MR with %s: status %d", what, resp.status);
	close(fd);
}

/* Memory reached by system calls is unmapped before the request arrives. */
static void unmapped(bool protect, uint8_t opcode)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;
	struct hw_cqe cqe;
	struct victim v;
	uint8_t *mem =
	    mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	furnish(&v, 1);
	cmd.u.reg_mr = (struct hw_cmd_reg_mr){.addr = (uintptr_t)mem,
					      .iova = (uintptr_t)mem,
					      .bytes = MEM_BYTES,
					      .pd = v.pd,
					      .access = HW_ACCESS_LOCAL_WRITE};
	must(&v, &cmd, &resp);
	memset(mem, 0x5a, MEM_BYTES);
	post(&v, HW_WQE_WRITE, (uintptr_t)mem, 3000, resp.u.mr.stag);
	cqe = completion(&v, 0);
	if (cqe.status)
		die("a Write from mapped memory failed: status %u, vendor error %u", cqe.status,
		    cqe.vendor_err);
	if (v.mem[0] != 0x5a || v.mem[2999] != 0x5a || v.mem[3000])
		die("a Write from mapped memory wrote something else");
	if (protect ? mprotect(mem, MEM_BYTES, PROT_NONE) : munmap(mem, MEM_BYTES))
		die("munmap: %s", strerror(errno));
	post(&v, opcode, (uintptr_t)mem, 3000, resp.u.mr.stag);
	cqe = completion(&v, 1);
	/* The NIC may reach pages that are protected from the process, but not unmapped ones. */
	if (!protect && !cqe.status)
		die("opcode %u with unmapped memory succeeded", opcode);
	detach(&v);
	if (protect)
		munmap(mem, MEM_BYTES);
}

static void foreign_memory(struct victim *v)
{
	char path[32];
	int pipe_fd[2], fd;

	descriptor_refused(v, make_memfd(MEM_BYTES, F_SEAL_SHRINK), "a memfd");
	descriptor_refused(v, make_memfd(MEM_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
			   "a sealed memfd");
	if (pipe(pipe_fd))
		die("pipe: %s", strerror(errno));
	descriptor_refused(v, pipe_fd[0], "a pipe");
	descriptor_refused(v, pipe_fd[1], "a pipe's other end");
	descriptor_refused(v, fcntl(v->sock, F_DUPFD_CLOEXEC, 0), "a socket");
	descriptor_refused(v, open("/proc/self/mem", O_RDWR | O_CLOEXEC), "a file of /proc");
	descriptor_refused(v, fcntl(v->fd[0], F_DUPFD_CLOEXEC, 0), "the BAR");
	fd = make_memfd(MEM_BYTES, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	descriptor_refused(v, open(path, O_PATH | O_CLOEXEC), "an O_PATH descriptor");
	descriptor_refused(v, open(path, O_RDONLY | O_CLOEXEC), "a descriptor for reading");
	close(fd);
}

/* Registers pieces that do not fit their memory, or each other. */
static void wrong_pieces(struct victim *v)
{
	const uint64_t page = HW_BAR_PAGE_BYTES;
	struct hw_mem_piece piece[2];
	uint32_t stag;

	piece_refused(v, v->key + 1, 0, MEM_BYTES, "nobody's");
	piece_refused(v, 0, 0, MEM_BYTES, "of no key");
	piece_refused(v, v->key, MEM_BYTES, 1, "behind the end");
	piece_refused(v, v->key, UINT64_MAX - 4095, 4096, "beyond all numbers");
	piece_refused(v, v->key, 1, MEM_BYTES, "one byte too long");
	piece_refused(v, v->key, 0, 0, "nothing");
	piece[0] = (struct hw_mem_piece){v->key, 0, page - 1};
	piece[1] = (struct hw_mem_piece){v->key, page, page};
	if (reg_pieces(v, 0x100000, piece, 2, &stag) != EINVAL)
		die("REG_MR took a piece that ends within a page");
	piece[0].bytes = page;
	piece[1].offset = page + 8;
	if (reg_pieces(v, 0x100000, piece, 2, &stag) != EINVAL)
		die("REG_MR took a piece that begins within a page");
	piece[1].offset = 4 * page;
	piece[1].bytes = 100;
	if (reg_pieces(v, 0x100000, piece, 2, &stag))
		die("REG_MR refused two pieces in order");
}

static void run_memory(uint32_t rounds)
{
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_DEVICE};
	struct hw_cmd_resp resp;
	struct victim v;

	furnish(&v, 1);
	foreign_memory(&v);
	wrong_pieces(&v);
	if (!ftruncate(v.fd[0], 0))
		die("the BAR was shrunk");
	must(&v, &cmd, &resp);
	detach(&v);
	for (uint32_t i = 0; i < 4 + rounds / 20; i++)
		unmapped(i % 2, i / 2 % 2 ? HW_WQE_READ : HW_WQE_WRITE);
}

int main(int argc, char **argv)
{
	uint32_t rounds = hostile_args(argc, argv);

	run_commands(rounds);
	run_memory(rounds);
	return 0;
}
