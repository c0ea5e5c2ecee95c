/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics on memory that is not mapped: each is carried out once, however often it is requested.
 *
 * A page of such memory may come late, and no core waits for it. The port then goes on with the
 * operation by itself (fw_port.host_atomic()), and the request counts as lost on the wire: its
 * sender repeats it, in the order of its flow, until the result is there. A record identifies the
 * request meanwhile, so a repetition gets the result of the first. One operation of a process is
 * under way at a time; others of it, on that word and elsewhere, are not begun and come again. All
 * functions are the core's alone, and none blocks. docs/security.md "Stalls". Calls mem.h.
 */
#ifndef WEFT_FW_SLOW_ATOMIC_H
#define WEFT_FW_SLOW_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/fw_port.h"
#include "shared_defs/hw_limits.h"

struct fw_mem;
struct fw_nic;
struct fw_qp;

enum {
	SLOW_ATOMICS_PER_CLIENT = 32, /* records; their flows at most */
	SLOW_ATOMICS_MAX = SLOW_ATOMICS_PER_CLIENT * HW_MAX_CLIENTS,
};

/* A sender repeats its request more often, or has given it up. */
#define SLOW_ATOMIC_IDLE_NS UINT64_C(60000000000)

/* A request of a peer: its flow, and its number there. */
struct slow_atomic_key {
	struct fw_qp *qp; /* NULL: it has ended, the result is dropped */
	uint32_t src_ip;
	uint32_t src_qpn;
	uint32_t ssn;
	uint32_t life; /* of the session (recv_peer), or 0 */
};

struct slow_atomic {
	struct fw_list client_node; /* fw_client.atomics: of the process whose memory it is */
	struct fw_list qp_node;     /* fw_qp.atomics */
	struct slow_atomic_key key;
	uint32_t client;
	bool under_way; /* fw_client.atomic_now; otherwise the result is: */
	int err;        /* 0, -FW_EFAULT */
	uint64_t original;
	uint64_t asked_ns; /* when the peer last requested it */
};

/* Returns the request's record in the domain of the peer's queue pair; NULL: it is new. */
struct slow_atomic *slow_atomic_find(struct fw_nic *nic, uint32_t pd,
				     const struct slow_atomic_key *key);
/*
 * Begins a new request's operation on checked, aligned memory. Returns its record, whose result may
 * be there already; NULL: it was not begun.
 */
struct slow_atomic *slow_atomic_begin(struct fw_nic *nic, const struct slow_atomic_key *key,
				      const struct fw_mem *mem, const struct fw_atomic *op);
/* True if the result is in the record. */
bool slow_atomic_is_over(struct fw_nic *nic, struct slow_atomic *atomic);
/* The request has its answer. */
void slow_atomic_free(struct fw_nic *nic, struct slow_atomic *atomic);

/* The queue pair leaves its working states: forgets its requests. True: none is left. */
bool slow_atomic_flush_step(struct fw_nic *nic, struct fw_qp *qp);
/* The process has ended. */
void slow_atomic_leave(struct fw_nic *nic, uint32_t client);

#endif /* WEFT_FW_SLOW_ATOMIC_H */
