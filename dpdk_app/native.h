/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiled forms of users' operations (nic_fw/coll/goal_op.h).
 *
 * librte_bpf compiles them, in a process of its own (helper.h). Without that process, or when it is
 * gone or full, operations are interpreted. docs/user-ops.md, docs/security.md "Operations of
 * users".
 */
#ifndef WEFT_APP_NATIVE_H
#define WEFT_APP_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nic_fw/coll/goal_op.h"
#include "nic_fw/fw.h"

enum {
	NATIVE_SLOTS = 512,
	NATIVE_SLOT_BYTES = 32 << 10, /* machine code of a program */
	NATIVE_TIMEOUT_MS = 1000,     /* a compiler that takes longer is given up */
};

/* A request to the compiler; as many instructions follow. It answers with the bytes of code. */
struct native_request {
	uint32_t slot;
	uint32_t num_insns;
	uint32_t elem_bytes;
	uint32_t block;
	struct goal_op_insn insn[GOAL_OP_MAX_INSNS];
};

/* Starts the compiler: main thread, while it is the only one. filter: of its system calls. */
void native_start(bool filter);
/* Takes over what native_start() made: the socket to the compiler and the code, readable. */
void native_init(int fd, const uint8_t *code);

/*
 * Compiles a program for a user, if it passes goal_op_verify(); sets aux->native and
 * native_handle, or leaves both NULL. Control thread.
 */
void native_new(const struct goal_op_prog *prog, uid_t uid, struct fw_cmd_aux *aux);
/* The code is not used any more; NULL is ignored. Any thread. */
void native_free(void *native);
/* Number of programs that are compiled now. */
uint32_t native_count(void);

#endif /* WEFT_APP_NATIVE_H */
