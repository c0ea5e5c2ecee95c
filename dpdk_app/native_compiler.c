/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that compiles users' operations: forked from weftd before it has threads, so that the
 * helpers are at the same addresses in both.
 *
 * Reads verified programs from a socket, compiles each by librte_bpf, copies the machine code to
 * its place in shared memory, and answers with its length. A program that librte_bpf does not take
 * is answered with 0. The machine code calls helpers by their addresses and is otherwise
 * independent of its own. Ends with weftd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <rte_bpf.h>
#include <rte_log.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/native.h"
#include "dpdk_app/sandbox.h"

#define CODE_BYTES ((size_t)NATIVE_SLOTS * NATIVE_SLOT_BYTES)

static_assert(sizeof(struct ebpf_insn) == sizeof(struct goal_op_insn), "the same instructions");

/* Describes a helper to librte_bpf: pointers to whole blocks, or numbers. */
static struct rte_bpf_xsym describe(uint32_t helper, size_t block_bytes)
{
	const struct rte_bpf_arg view = {.type = RTE_BPF_ARG_PTR,
					 .size = sizeof(struct goal_op_view)};
	const struct rte_bpf_arg number = {.type = RTE_BPF_ARG_RAW, .size = sizeof(uint64_t)};
	const struct rte_bpf_arg block = {.type = RTE_BPF_ARG_PTR, .size = block_bytes};
	struct rte_bpf_xsym sym = {.name = "helper", .type = RTE_BPF_XTYPE_FUNC};

	/* Number 0 is none; the verifier has refused it. */
	sym.func.val = goal_op_helpers[helper ? helper : GOAL_OP_HELPER_A];
	sym.func.args[0] = view;
	sym.func.nb_args = 1;
	sym.func.ret = block;
	if (helper == GOAL_OP_HELPER_FLOATS) {
		for (sym.func.nb_args = 1; sym.func.nb_args < 5; sym.func.nb_args++)
			sym.func.args[sym.func.nb_args] = number;
		sym.func.ret = number;
	}
	return sym;
}

static uint32_t compile(const struct native_request *request, uint8_t *code)
{
	struct rte_bpf_xsym sym[GOAL_OP_HELPERS];
	const struct rte_bpf_prm prm = {
	    .ins = (const struct ebpf_insn *)request->insn,
	    .nb_ins = request->num_insns,
	    .xsym = sym,
	    .nb_xsym = GOAL_OP_HELPERS,
	    .prog_arg = {.type = RTE_BPF_ARG_PTR, .size = sizeof(struct goal_op_view)},
	};
	struct rte_bpf_jit jit = {NULL, 0};
	uint32_t bytes = 0;
	struct rte_bpf *bpf;

	for (uint32_t i = 0; i < GOAL_OP_HELPERS; i++)
		sym[i] = describe(i, (size_t)request->elem_bytes * request->block);
	bpf = rte_bpf_load(&prm);
	if (!bpf)
		return 0;
	if (!rte_bpf_get_jit(bpf, &jit) && jit.func && jit.sz <= NATIVE_SLOT_BYTES) {
		bytes = (uint32_t)jit.sz;
		memcpy(code + (size_t)request->slot * NATIVE_SLOT_BYTES,
		       (const void *)(uintptr_t)jit.func, bytes);
	}
	rte_bpf_destroy(bpf);
	return bytes;
}

static void serve(int fd, uint8_t *code)
{
	static struct native_request request;
	uint32_t bytes;
	ssize_t n;

	for (;;) {
		n = recv(fd, &request, sizeof(request), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		bytes = request.slot < NATIVE_SLOTS ? compile(&request, code) : 0;
		if (send(fd, &bytes, sizeof(bytes), MSG_NOSIGNAL) != sizeof(bytes))
			return;
	}
}

/* It needs no rights at all. */
static bool give_up_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_capset, &header, none);
}

/* In the new process; does not return. */
static void compiler_main(int fd, int memory, pid_t parent, bool filter)
{
	uint8_t *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	int kept;

	/* Signals from the terminal are for weftd, and this process ends with it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (code == MAP_FAILED || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "weftd-compiler");
	prctl(PR_SET_DUMPABLE, 0);
	rte_log_set_global_level(RTE_LOG_EMERG);
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (kept < 0 || dup2(kept, 3) < 0 || close_range(4, ~0U, 0))
		_exit(1);
	if (!give_up_rights() || (filter && sandbox_compiler()))
		_exit(1);
	serve(3, code);
	_exit(0);
}

/* Forks; returns the socket to the compiler, or -1. */
static int start(int memory, bool filter)
{
	pid_t parent = getpid(), child;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	child = fork();
	if (!child)
		compiler_main(pair[1], memory, parent, filter);
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return -1;
	}
	return pair[0];
}

void native_start(bool filter)
{
	int memory = memfd_create("native-ops", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const uint8_t *code = MAP_FAILED;
	int fd = -1;

	if (memory >= 0 && !ftruncate(memory, (off_t)CODE_BYTES) &&
	    !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, memory, 0);
	if (code != MAP_FAILED)
		fd = start(memory, filter);
	if (memory >= 0)
		close(memory);
	if (fd >= 0)
		native_init(fd, code);
	else
		log_verbose("users' operations are interpreted: %s", strerror(errno));
}
