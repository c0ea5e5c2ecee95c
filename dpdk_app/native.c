/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places for the machine code of users' operations, and requests to the compiler.
 *
 * Control thread, but for native_free(), which cores call. A program is verified before the
 * compiler sees it: DPDK's own verifier follows each path, and a hostile program has 2^500 of them.
 */
#include "dpdk_app/native.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/log.h"

struct slot {
	atomic_bool used;
	uid_t uid;
};

static int native_fd = -1;
static const uint8_t *native_code;
static struct slot slots[NATIVE_SLOTS];

void native_init(int fd, const uint8_t *code)
{
	native_fd = fd;
	native_code = code;
}

/* A user has at most three quarters of the places. */
static struct slot *take_slot(uid_t uid)
{
	struct slot *found = NULL;
	uint32_t held = 0;

	for (uint32_t i = 0; i < NATIVE_SLOTS; i++) {
		if (!atomic_load_explicit(&slots[i].used, memory_order_acquire))
			found = &slots[i];
		else
			held += slots[i].uid == uid;
	}
	if (!found || held >= NATIVE_SLOTS / 4 * 3)
		return NULL;
	found->uid = uid;
	atomic_store_explicit(&found->used, true, memory_order_relaxed);
	return found;
}

void native_free(void *native)
{
	struct slot *slot = native;

	if (slot)
		atomic_store_explicit(&slot->used, false, memory_order_release);
}

uint32_t native_count(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NATIVE_SLOTS; i++)
		count += atomic_load_explicit(&slots[i].used, memory_order_relaxed);
	return count;
}

/*
 * Instructions that the compiler of DPDK 22.11 for x86-64 translates wrongly in some cases
 * (tests/dpdk_app/native_ut.c finds them): shifts by a register and divisions, which need fixed
 * registers of the processor, and JSET. A program with one of them is interpreted.
 */
static bool is_mistranslated(const struct goal_op_insn *in)
{
	uint8_t class = in->code & GOAL_BPF_CLASS, op = in->code & GOAL_BPF_OP;

	if (class == GOAL_BPF_JMP)
		return op == GOAL_BPF_JSET;
	if (class != GOAL_BPF_ALU32 && class != GOAL_BPF_ALU64)
		return false;
	if (op == GOAL_BPF_DIV || op == GOAL_BPF_MOD)
		return true;
	return in->code & GOAL_BPF_X &&
	       (op == GOAL_BPF_LSH || op == GOAL_BPF_RSH || op == GOAL_BPF_ARSH);
}

static bool can_compile(const struct goal_op_prog *prog)
{
	for (uint32_t i = 0; i < prog->num_insns; i++) {
		if (prog->insns[i].code == GOAL_BPF_LD_IMM64)
			i++;
		else if (is_mistranslated(&prog->insns[i]))
			return false;
	}
	return true;
}

static void give_up(const char *why)
{
	log_error("the compiler of users' operations %s: they are interpreted from now on", why);
	close(native_fd);
	native_fd = -1;
}

/* Returns the bytes of machine code; 0: none. */
static uint32_t compile(const struct goal_op_prog *prog, uint32_t slot)
{
	static struct native_request request;
	size_t bytes = offsetof(struct native_request, insn) +
		       (size_t)prog->num_insns * sizeof(request.insn[0]);
	struct pollfd wait = {.fd = native_fd, .events = POLLIN};
	uint32_t code_bytes = 0;

	request = (struct native_request){.slot = slot,
					  .num_insns = prog->num_insns,
					  .elem_bytes = prog->elem_bytes,
					  .block = prog->block};
	memcpy(request.insn, prog->insns, (size_t)prog->num_insns * sizeof(request.insn[0]));
	if (send(native_fd, &request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) {
		give_up("has ended");
		return 0;
	}
	if (poll(&wait, 1, NATIVE_TIMEOUT_MS) != 1) {
		give_up("does not answer");
		return 0;
	}
	if (recv(native_fd, &code_bytes, sizeof(code_bytes), MSG_DONTWAIT) != sizeof(code_bytes)) {
		give_up("has ended");
		return 0;
	}
	return code_bytes <= NATIVE_SLOT_BYTES ? code_bytes : 0;
}

void native_new(const struct goal_op_prog *prog, uid_t uid, struct fw_cmd_aux *aux)
{
	static struct goal_op_check check;
	struct goal_op_verdict verdict;
	const uint8_t *code;
	struct slot *slot;
	uint32_t bytes;

	if (native_fd < 0 || !goal_op_verify(&check, prog, &verdict) || !can_compile(prog))
		return;
	slot = take_slot(uid);
	if (!slot)
		return;
	bytes = compile(prog, (uint32_t)(slot - slots));
	if (!bytes) {
		native_free(slot);
		return;
	}
	code = native_code + (size_t)(slot - slots) * NATIVE_SLOT_BYTES;
	/* For processors whose instruction caches do not follow stores by themselves. */
	__builtin___clear_cache((char *)(uintptr_t)code, (char *)(uintptr_t)(code + bytes));
	aux->native = (uint64_t(*)(void *))(uintptr_t)code;
	aux->native_handle = slot;
}
