/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registration of memory that the client does not own or that is not ready.
 *
 * foreign_mem SOCKET, as root: another user with the key of an extent (REG_MR, FREE_MEM); pages
 * that were never touched; memory that the process has sealed itself; a BAR that is punched before
 * and after START, or sealed by the process; keys of a process that is gone. Without libweft.
 */
#include <sys/wait.h>

#include "tests/int/hostile.h"

enum {
	NOBODY = 65534,
	BYTES = 16 * HW_BAR_PAGE_BYTES,
};

static void wanted(int status, int expected, const char *what)
{
	if (status != expected)
		die("%s: %s, not %s", what, strerror(status), strerror(expected));
}

static int reg(struct victim *v, uint64_t key, uint64_t offset, uint64_t bytes)
{
	const struct hw_mem_piece piece = {key, offset, bytes};
	uint32_t stag;

	return reg_pieces(v, 0x100000, &piece, 1, &stag);
}

static int free_mem(struct victim *v, uint64_t key)
{
	struct hw_cmd cmd = {.op = HW_CMD_FREE_MEM, .u.free_mem.key = key};
	struct hw_cmd_resp resp;

	return command(v->sock, &cmd, &resp);
}

/* Runs the check in a process of its own, as another user. */
static void as_nobody(uint64_t key)
{
	struct victim v;
	pid_t child = fork();
	int status;

	if (!child) {
		if (setgid(NOBODY) || setuid(NOBODY))
			die("setuid: %s", strerror(errno));
		if (attach_on(&v, connect_nic(), -1))
			die("ATTACH as another user");
		furnish_attached(&v, 1);
		wanted(reg(&v, key, 0, BYTES), EPERM, "another user's memory");
		wanted(free_mem(&v, key), ENOENT, "freeing another user's memory");
		detach(&v);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		die("the other user failed");
}

/* weftd allocates no pages, since they would count as its own. */
static void untouched(struct victim *v)
{
	const uint64_t page = HW_BAR_PAGE_BYTES;
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MEM, .u.alloc_mem = {.bytes = BYTES}};
	struct hw_cmd_resp resp;
	int fd = -1;
	uint8_t *mem;

	if (command_fd(v->sock, &cmd, &resp, -1, &fd))
		die("ALLOC_MEM: %s", strerror(resp.status));
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	wanted(reg(v, resp.u.alloc_mem.key, 0, page), ENOMEM, "pages that nobody has touched");
	mem[page] = mem[2 * page] = 1;
	wanted(reg(v, resp.u.alloc_mem.key, page, 2 * page), 0, "pages that are there");
	wanted(reg(v, resp.u.alloc_mem.key, 0, 3 * page), ENOMEM, "a page that is not there");
	if (lseek(fd, 0, SEEK_DATA) != (off_t)page)
		die("weftd made pages");
	munmap(mem, BYTES);
	close(fd);
}

static void sealed_by_the_process(struct victim *v)
{
	uint64_t key;
	int fd = -1;
	uint8_t *mem = alloc_mem(v, BYTES, 0, &key, &fd);

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL))
		die("seals: %s", strerror(errno));
	wanted(reg(v, key, 0, BYTES), EPERM, "memory that cannot be sealed any more");
	munmap(mem, BYTES);
	close(fd);
}

/* Slack is registered like the rest, by a mapping that did not exist when it was sealed. */
static void slack(struct victim *v)
{
	uint64_t key;
	int fd = -1;
	uint8_t *mem = alloc_mem(v, BYTES, UINT64_C(1) << 40, &key, &fd);

	wanted(reg(v, key, 0, BYTES), 0, "memory with slack");
	mem = mremap(mem, BYTES, 4 * BYTES, MREMAP_MAYMOVE);
	if (mem == MAP_FAILED)
		die("mremap: %s", strerror(errno));
	memset(mem, 1, 4 * BYTES);
	wanted(reg(v, key, 0, 4 * BYTES), 0, "memory and slack");
	wanted(reg(v, key, 2 * BYTES, BYTES), 0, "slack");
	wanted(free_mem(v, key), 0, "freeing what regions lie in");
	wanted(reg(v, key, 0, BYTES), EPERM, "memory that was given up");
	wanted(free_mem(v, key), ENOENT, "freeing it twice");
	munmap(mem, 4 * BYTES);
	close(fd);
}

/* Punches and seals the BAR before and after START. */
static void bar(bool sealed)
{
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH,
			     .u.attach = {.version = HW_CMD_VERSION, .name = "hostile"}};
	const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct hw_cmd_resp resp;
	struct victim v = {.sock = connect_nic()};
	int status;

	if (command_fd(v.sock, &cmd, &resp, -1, v.fd))
		die("ATTACH: %s", strerror(resp.status));
	v.bar_bytes = resp.u.attach.bar_bytes;
	v.bar = mmap(NULL, v.bar_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v.fd[0], 0);
	if (v.bar == MAP_FAILED)
		die("mapping the BAR: %s", strerror(errno));
	cmd = (struct hw_cmd){.op = HW_CMD_ALLOC_PD};
	refused(v.sock, &cmd, ENOTCONN, "ALLOC_PD before START");
	if (fallocate(v.fd[0], hole, 0, (off_t)v.bar_bytes))
		die("a BAR that nobody uses yet: %s", strerror(errno));
	if (sealed && fcntl(v.fd[0], F_ADD_SEALS, F_SEAL_SEAL))
		die("seals: %s", strerror(errno));
	cmd = (struct hw_cmd){.op = HW_CMD_START};
	status = command(v.sock, &cmd, &resp);
	wanted(status, sealed ? EPERM : 0, "START");
	if (!sealed) {
		refused(v.sock, &cmd, EISCONN, "a second START");
		if (!fallocate(v.fd[0], hole, 0, (off_t)v.bar_bytes) ||
		    !madvise(v.bar, v.bar_bytes, MADV_REMOVE) || !ftruncate(v.fd[0], 0))
			die("the BAR was punched");
	}
	detach(&v);
}

int main(int argc, char **argv)
{
	struct victim v, other;
	uint64_t key;

	if (argc != 2) {
		fprintf(stderr, "foreign_mem: say SOCKET\n");
		return 2;
	}
	socket_path = argv[1];
	if (attach_on(&v, connect_nic(), -1))
		die("ATTACH");
	furnish_attached(&v, 1);
	as_nobody(v.key);
	untouched(&v);
	sealed_by_the_process(&v);
	slack(&v);
	bar(false);
	bar(true);
	/*
	 * Another connection of the same process may use the memory as long as one connection is
	 * left.
	 */
	if (attach_on(&other, connect_nic(), -1))
		die("ATTACH");
	furnish_attached(&other, 1);
	key = v.key;
	wanted(reg(&other, key, 0, MEM_BYTES), 0, "memory of another connection");
	detach(&v);
	wanted(reg(&other, key, 0, MEM_BYTES), 0, "memory of one that is closed");
	detach(&other);
	return 0;
}
