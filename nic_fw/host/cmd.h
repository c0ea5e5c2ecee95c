/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control commands: fw_cmd() checks and dispatches; one function per command.
 *
 * cmd.c	fw_cmd()
 * cmd_query.c	QUERY_DEVICE, STATS, LIST
 * mem_cmd.c	PDs, regions, windows
 * cq_cmd.c	CQs, EQs
 * moder_cmd.c	interrupt moderation
 * srq.c	SRQs
 * qp_cmd.c	QPs
 * xrc.c	XRC domains, QPs of other processes
 * ah.c		address handles
 * mcast_cmd.c	groups
 * cm_cmd.c	connections
 * goal_cmd.c	collectives
 *
 * Each takes a command that is a copy (the process cannot change it any more), the client's
 * number, and fills resp->u; returns 0, a positive errno, or CMD_PENDING when the answer
 * will be given with port->cmd_done(). Nothing a client names is used before it was found
 * to be the client's own.
 */
#ifndef WEFT_FW_CMD_H
#define WEFT_FW_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/err.h"
#include "nic_fw/fw.h"
#include "shared_defs/hw_cmd.h"

#define CMD_PENDING (-1)
#define CMD_REFUSED (-2) /* resp->status is set, and resp->u says more */
#define CMD_LATER   (-3) /* a part is done: carried out anew in a later turn (slice.h) */

/* slice_job.run of commands that returned CMD_LATER: one of them, once more. */
void cmd_slice(struct fw_nic *nic);

typedef int (*cmd_fn)(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		      const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp);

struct cmd_entry {
	cmd_fn fn;
	uint32_t arg_bytes; /* of hw_cmd.u that the command may use */
	bool tool;          /* a tool may send it */
};

extern const struct cmd_entry cmd_table[HW_CMD_OPS];

#define CMD_DECLARE(name)                                                                          \
	int name(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,                    \
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)

CMD_DECLARE(cmd_query_device);
CMD_DECLARE(cmd_stats);
CMD_DECLARE(cmd_list);
CMD_DECLARE(cmd_alloc_pd);
CMD_DECLARE(cmd_dealloc_pd);
CMD_DECLARE(cmd_reg_mr);
CMD_DECLARE(cmd_dereg_mr);
CMD_DECLARE(cmd_alloc_mw);
CMD_DECLARE(cmd_dealloc_mw);
CMD_DECLARE(cmd_modify_mr);
CMD_DECLARE(cmd_create_eq);
CMD_DECLARE(cmd_destroy_eq);
CMD_DECLARE(cmd_create_cq);
CMD_DECLARE(cmd_destroy_cq);
CMD_DECLARE(cmd_resize_cq);
CMD_DECLARE(cmd_modify_cq);
CMD_DECLARE(cmd_coalesce);
CMD_DECLARE(cmd_vector);
CMD_DECLARE(cmd_create_srq);
CMD_DECLARE(cmd_destroy_srq);
CMD_DECLARE(cmd_modify_srq);
CMD_DECLARE(cmd_query_srq);
CMD_DECLARE(cmd_create_qp);
CMD_DECLARE(cmd_destroy_qp);
CMD_DECLARE(cmd_modify_qp);
CMD_DECLARE(cmd_query_qp);
CMD_DECLARE(cmd_open_xrcd);
CMD_DECLARE(cmd_close_xrcd);
CMD_DECLARE(cmd_open_qp);
CMD_DECLARE(cmd_create_ah);
CMD_DECLARE(cmd_destroy_ah);
CMD_DECLARE(cmd_attach_mcast);
CMD_DECLARE(cmd_detach_mcast);
CMD_DECLARE(cmd_cm_create);
CMD_DECLARE(cmd_cm_destroy);
CMD_DECLARE(cmd_cm_bind);
CMD_DECLARE(cmd_cm_listen);
CMD_DECLARE(cmd_cm_resolve);
CMD_DECLARE(cmd_cm_data);
CMD_DECLARE(cmd_cm_connect);
CMD_DECLARE(cmd_cm_accept);
CMD_DECLARE(cmd_cm_reject);
CMD_DECLARE(cmd_cm_disconnect);
CMD_DECLARE(cmd_cm_move);
CMD_DECLARE(cmd_cm_event);
CMD_DECLARE(cmd_cm_rest);
CMD_DECLARE(cmd_goal_open);
CMD_DECLARE(cmd_goal_comm_create);
CMD_DECLARE(cmd_goal_comm_destroy);
CMD_DECLARE(cmd_goal_pool);
CMD_DECLARE(cmd_goal_load);
CMD_DECLARE(cmd_goal_unload);
CMD_DECLARE(cmd_goal_cancel);

/* ah.c: address handles that wait for ARP; called by neigh.c. */
void ah_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
void ah_forget_client(struct fw_nic *nic, uint32_t client);
/* An address vector as a process gave it: 0, or a positive errno. */
int ah_check_av(const struct fw_nic *nic, const struct hw_av *av);
/* Where a checked address vector leads for this QPN; 0: to no NIC that is known. */
uint32_t ah_av_ip(const struct fw_nic *nic, const struct hw_av *av, uint32_t dst_qpn);
/* Where a request goes: the AH's address, or by the QPN; 0: nowhere known. Network order. */
uint32_t ah_dst_ip(const struct fw_nic *nic, uint32_t client, uint32_t pd, uint32_t ah,
		   uint32_t dst_qpn, bool *found);

/* The time to live of what goes by this handle, which ah_dst_ip() found, to a group; not 0. */
uint8_t ah_hop_limit(const struct fw_nic *nic, uint32_t ah);

/* The smallest power of two that is at least n, which is at most 2^31. */
uint32_t fw_pow2_at_least(uint32_t n);

/* The client's own object with this number, NULL: no such object, or another's. */
struct fw_pd *pd_own(struct fw_nic *nic, uint32_t client, uint32_t handle);
struct fw_cq *cq_own(struct fw_nic *nic, uint32_t client, uint32_t number);
struct fw_eq *eq_own(struct fw_nic *nic, uint32_t client, uint32_t number);
struct fw_srq *srq_own(struct fw_nic *nic, uint32_t client, uint32_t number);
struct fw_qp *qp_own(struct fw_nic *nic, uint32_t client, uint32_t qpn);

/*
 * The client lets go of a QP, which ends with the last that has it. False: a part of it is done,
 * the units of the turn are used up, and the call is to be repeated.
 */
bool qp_let_go(struct fw_nic *nic, struct fw_qp *qp, uint32_t client);
/* For slice.c: a part of what a client that leaves has; off the list when nothing is left. */
void client_leave_slice(struct fw_nic *nic);
/* Frees one object with all it holds, for its command and for detach. */
void cq_destroy(struct fw_nic *nic, uint32_t index);
void srq_destroy(struct fw_nic *nic, uint32_t index);
void eq_destroy(struct fw_nic *nic, uint32_t index);
void mr_destroy(struct fw_nic *nic, uint32_t index);
void pd_destroy(struct fw_nic *nic, uint32_t index);
void ah_destroy(struct fw_nic *nic, uint32_t index);

#endif /* WEFT_FW_CMD_H */
