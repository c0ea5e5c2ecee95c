/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control commands: fw_cmd() checks and dispatches; one function per command.
 *
 * 	cmd.c		fw_cmd()
 * 	cmd_slot.c	commands from slots of the BAR
 * 	cmd_query.c	QUERY_DEVICE, STATS, LIST
 * 	mem_cmd.c	PDs, regions, windows
 * 	cq_cmd.c	CQs, EQs
 * 	moder_cmd.c	interrupt moderation
 * 	srq.c		SRQs
 * 	qp_cmd.c	QPs
 * 	xrc.c		XRC domains, QPs of other processes
 * 	ah.c		address handles
 * 	mcast_cmd.c	groups
 * 	cm_cmd.c	connections
 * 	goal_cmd.c	collectives
 * 	goal_op.c	operations of users
 * 	tag_ep.c	tagged endpoints
 *
 * Each takes a copy of a command (the process cannot change it any more) and the client's number,
 * and fills resp->u. It returns 0, a positive errno, or CMD_PENDING when port->cmd_done() will give
 * the answer. An object that a client names is used only after a check that the client owns it.
 */
#ifndef WEFT_FW_CMD_H
#define WEFT_FW_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/err.h"
#include "nic_fw/fw.h"
#include "shared_defs/hw_cmd.h"

#define CMD_PENDING (-1)
#define CMD_REFUSED (-2) /* resp->status is set, and resp->u has details */
#define CMD_LATER   (-3) /* a part is done: repeated in a later turn (slice.h) */

/*
 * Carries out a command of a process, or goes on with one that returned CMD_LATER, at
 * nic->slices.resume. Returns its status; *answered: resp is its answer.
 */
int cmd_again(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	      struct hw_cmd_resp *resp, bool *answered);
/* slice_job.run of commands that returned CMD_LATER: repeats one of them. */
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
CMD_DECLARE(cmd_alloc_rings);
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
CMD_DECLARE(cmd_goal_op);
CMD_DECLARE(cmd_tag_open);
CMD_DECLARE(cmd_tag_query);

/* ah.c: address handles that wait for ARP. */
void ah_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
void ah_forget_client(struct fw_nic *nic, uint32_t client);
/* Checks an address vector of a process: 0, or a positive errno. */
int ah_check_av(const struct fw_nic *nic, const struct hw_av *av);
/* Returns the destination of a checked address vector for this QPN; 0: an unknown NIC. */
uint32_t ah_av_ip(const struct fw_nic *nic, const struct hw_av *av, uint32_t dst_qpn);
/* Returns a request's destination: the AH's address, or by the QPN; 0: unknown. Network order. */
uint32_t ah_dst_ip(const struct fw_nic *nic, uint32_t client, uint32_t pd, uint32_t ah,
		   uint32_t dst_qpn, bool *found);

/* Returns the time to live of packets to a group by this handle, which ah_dst_ip() found; not 0. */
uint8_t ah_hop_limit(const struct fw_nic *nic, uint32_t ah);

/* Returns the smallest power of two that is at least n, which is at most 2^31. */
uint32_t fw_pow2_at_least(uint32_t n);

/* Returns the client's own object with this number; NULL: no such object, or another's. */
struct fw_pd *pd_own(struct fw_nic *nic, uint32_t client, uint32_t handle);
struct fw_cq *cq_own(struct fw_nic *nic, uint32_t client, uint32_t number);
struct fw_eq *eq_own(struct fw_nic *nic, uint32_t client, uint32_t number);
struct fw_srq *srq_own(struct fw_nic *nic, uint32_t client, uint32_t number);
struct fw_qp *qp_own(struct fw_nic *nic, uint32_t client, uint32_t qpn);

/*
 * The client releases a QP, which ends with its last user. False: a part of it is done, the units
 * of the turn are used up, and the call is to be repeated.
 */
bool qp_let_go(struct fw_nic *nic, struct fw_qp *qp, uint32_t client);
/* slice_job.run: frees a part of the objects of a leaving client; unlinks it when none is left. */
void client_leave_slice(struct fw_nic *nic);
/* Frees one object with all it holds, for its command and for detach. */
void cq_destroy(struct fw_nic *nic, uint32_t index);
void srq_destroy(struct fw_nic *nic, uint32_t index);
void eq_destroy(struct fw_nic *nic, uint32_t index);
void mr_destroy(struct fw_nic *nic, uint32_t index);
void pd_destroy(struct fw_nic *nic, uint32_t index);
void ah_destroy(struct fw_nic *nic, uint32_t index);

#endif /* WEFT_FW_CMD_H */
