/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that compiles users' operations (helper.h).
 *
 * Reads verified programs from a socket, compiles each by librte_bpf, copies the machine code to
 * its place in shared memory, and answers with its length. A program that librte_bpf does not take
 * is answered with 0. The machine code calls helpers by their addresses and is otherwise
 * independent of its own.
 */
#include <errno.h>
#include <rte_bpf.h>
#include <string.h>
#include <sys/socket.h>

#include "dpdk_app/helper.h"
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

static void serve(int fd, uint8_t *code, const uint8_t *executed)
{
	static struct native_request request;
	uint32_t bytes;
	ssize_t n;

	(void)executed;
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

void native_start(bool filter)
{
	static const struct helper compiler = {"weftd-compiler", CODE_BYTES, sandbox_compiler,
					       serve};
	const uint8_t *code;
	int fd = helper_start(&compiler, filter, &code);

	if (fd >= 0)
		native_init(fd, code);
	else
		log_verbose("users' operations are interpreted: %s", strerror(errno));
}
