/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is not mapped belongs to the process that sent the descriptor of it.
 *
 * own_memory SOCKET MODE, as root; the unprivileged part runs as another user. Modes:
 *
 *	wrong		descriptors of anything but the process's memory, and a missing one, are
 *			refused
 *	plain		memory that is not mapped is read and written
 *	namespace	the same from a user and PID namespace with its own procfs
 *	undumpable	PR_SET_DUMPABLE 0: mapped memory works, other memory is refused
 *	off		weftd --unmapped off: mapped memory works, other is EOPNOTSUPP
 *
 * All but "wrong" use libweft. Exit status 77: the kernel allows no such namespace.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "host_driver/weft.h"
#include "tests/int/hostile.h"

enum {
	NOBODY = 65534,
	BYTES = 8192,
};

/* Registers memory that must not be moved: 0, or the errno. */
static int register_unmoved(struct weft_pd *pd)
{
	uint8_t bytes[64];
	struct weft_mr *mr;
	int err;

	setenv("WEFT_MEM", "process_vm", 1);
	mr = weft_reg_mr(pd, bytes, sizeof(bytes), WEFT_ACCESS_LOCAL_WRITE);
	err = mr ? 0 : errno;

	if (mr && weft_dereg_mr(mr))
		die("dereg: %s", strerror(errno));
	return err;
}

/* A process of libweft: memory of weft_alloc() works, other memory gives the wanted result. */
static void by_libweft(int wanted)
{
	struct weft_context *context = weft_open_device(NULL);
	struct weft_pd *pd = context ? weft_alloc_pd(context) : NULL;
	struct weft_mr *mr;
	void *mem;
	int err;

	if (!pd)
		die("weft_open_device: %s", strerror(errno));
	mem = weft_alloc(context, BYTES);
	mr = mem ? weft_reg_mr(pd, mem, BYTES, WEFT_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr)
		die("mapped memory: %s", strerror(errno));
	err = register_unmoved(pd);
	if (err != wanted)
		die("memory that is not mapped: %s, wanted %s", strerror(err), strerror(wanted));
	if (weft_dereg_mr(mr) || weft_dealloc_pd(pd))
		die("at the end: %s", strerror(errno));
	weft_free(mem, BYTES);
	weft_close_device(context);
}

/* The NIC reads the memory for one Write, and writes it for another. */
static void by_hand(void)
{
	uint8_t *mem =
	    mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;
	struct victim v, swap;
	struct hw_cqe cqe;

	furnish(&v, 1);
	cmd.u.reg_mr =
	    (struct hw_cmd_reg_mr){.addr = (uintptr_t)mem,
				   .iova = (uintptr_t)mem,
				   .bytes = MEM_BYTES,
				   .pd = v.pd,
				   .access = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE};
	must(&v, &cmd, &resp);
	memset(mem, 0xa5, MEM_BYTES);
	post(&v, HW_WQE_WRITE, (uintptr_t)mem, BYTES, resp.u.mr.stag);
	cqe = completion(&v, 0);
	if (cqe.status || memcmp(mem, v.mem, BYTES))
		die("a Write from memory that is not mapped: status %u", cqe.status);
	/* The other direction: the mapped memory is the source, the other memory the sink. */
	memset(v.mem, 0x5a, BYTES);
	swap = v;
	v.mem = mem;
	v.stag = resp.u.mr.stag;
	post(&v, HW_WQE_WRITE, (uintptr_t)swap.mem, BYTES, swap.stag);
	cqe = completion(&v, 1);
	if (cqe.status || memcmp(mem, swap.mem, BYTES))
		die("a Write to memory that is not mapped: status %u", cqe.status);
	v.mem = swap.mem;
	detach(&v);
	munmap(mem, MEM_BYTES);
}

/* ---- descriptors that are refused */

static void refused_fd(const char *what, int fd)
{
	struct victim v;
	int status;

	if (fd < 0)
		die("%s: %s", what, strerror(errno));
	status = attach_on(&v, connect_nic(), fd);
	if (status != EPERM)
		die("%s: ATTACH answers %d (%s)", what, status, strerror(status));
	/* The connection is unchanged: it may attach without a descriptor. */
	if (attach_on(&v, v.sock, -1))
		die("%s: no second ATTACH", what);
	detach(&v);
	close(fd);
}

static void wrong(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	pid_t parent = getppid();
	struct victim v;
	char path[64];
	int pipe_fd[2];

	refused_fd("O_PATH", open("/proc/self/mem", O_PATH | O_CLOEXEC));
	refused_fd("O_RDONLY", open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
	refused_fd("/proc/self/maps", open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
	refused_fd("/dev/zero", open("/dev/zero", O_RDWR | O_CLOEXEC));
	refused_fd("a memfd", make_memfd(BYTES, 0));
	if (pipe2(pipe_fd, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	refused_fd("a pipe", pipe_fd[0]);
	close(pipe_fd[1]);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)parent);
	refused_fd("the parent's memory", open(path, O_RDWR | O_CLOEXEC));
	if (attach_on(&v, connect_nic(), -1))
		die("no ATTACH without memory");
	furnish_attached(&v, 1);
	cmd.u.reg_mr = (struct hw_cmd_reg_mr){
	    .addr = (uintptr_t)path, .iova = (uintptr_t)path, .bytes = sizeof(path), .pd = v.pd};
	refused(v.sock, &cmd, EPERM, "memory without a descriptor");
	detach(&v);
}

/* ---- other users, other namespaces */

static void drop_rights(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		die("no other user: %s", strerror(errno));
	if (prctl(PR_SET_DUMPABLE, 1))
		die("PR_SET_DUMPABLE: %s", strerror(errno));
}

/* Enters the namespaces, in a child that is their first process. Returns there only. */
static void contain(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS))
		_exit(77);
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL))
		_exit(77);
	if (getpid() != 1)
		die("not the first process of its namespace");
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[2] : "";

	if (argc != 3) {
		fprintf(stderr, "own_memory: say SOCKET MODE\n");
		return 2;
	}
	socket_path = argv[1];
	/*
	 * Tries root's memory first: this process is the parent, whose memory is not the child's.
	 */
	if (!strcmp(mode, "wrong")) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			wrong();
			return 0;
		}
		waitpid(pid, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	drop_rights();
	if (!strcmp(mode, "off")) {
		by_libweft(EOPNOTSUPP);
	} else if (!strcmp(mode, "undumpable")) {
		if (prctl(PR_SET_DUMPABLE, 0))
			die("PR_SET_DUMPABLE: %s", strerror(errno));
		by_libweft(EPERM);
	} else {
		if (!strcmp(mode, "namespace"))
			contain();
		by_libweft(0);
		by_hand();
	}
	/* LeakSanitizer cannot inspect an undumpable process, or the first one of a namespace. */
	_exit(0);
}
