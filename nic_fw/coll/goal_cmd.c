/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on collectives: the run table, communicators, their pools, schedules.
 *
 * Calls goal_comm.c, goal_load.c and goal_run.c. A load is answered turns later, when the schedule
 * has been verified; each of its steps checks the client's memory anew. docs/host-interface.md
 * "Collectives".
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

/* ---- the run table --------------------------------------------------------------------------- */

static void free_records(struct fw_nic *nic, uint32_t client)
{
	struct fw_client *owner = &nic->host.clients[client];

	goal_heap_free(nic, client, owner->goal_active);
	goal_heap_free(nic, client, owner->goal_endings);
	owner->goal_active = NULL;
	owner->goal_endings = NULL;
}

static bool alloc_records(struct fw_nic *nic, uint32_t client, uint32_t runs)
{
	struct fw_client *owner = &nic->host.clients[client];

	owner->goal_active = goal_heap_alloc_zero(nic, client, runs * sizeof(uint32_t));
	owner->goal_endings =
	    goal_heap_alloc_zero(nic, client, runs * sizeof(*owner->goal_endings));
	if (owner->goal_active && owner->goal_endings)
		return true;
	free_records(nic, client);
	return false;
}

int cmd_goal_open(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_goal_open *arg = &cmd->u.goal_open;
	struct fw_client *owner = &nic->host.clients[client];
	uint64_t offset;

	(void)aux;
	if (owner->goal_num_runs)
		return FW_EBUSY;
	if (!arg->runs || arg->runs > HW_MAX_GOAL_RUNS || arg->runs & (arg->runs - 1))
		return FW_EINVAL;
	if (arg->eq != HW_EQ_NONE && !eq_own(nic, client, arg->eq))
		return FW_EINVAL;
	if (!alloc_records(nic, client, arg->runs))
		return FW_ENOMEM;
	if (bar_alloc(nic, client, arg->runs * sizeof(struct hw_goal_run), &offset)) {
		free_records(nic, client);
		return FW_ENOMEM;
	}
	if (arg->eq != HW_EQ_NONE)
		eq_own(nic, client, arg->eq)->refs++;
	owner->goal_eq = arg->eq;
	owner->goal_runs_offset = offset;
	owner->goal_num_runs = arg->runs;
	resp->u.goal_open.runs_offset = offset;
	resp->u.goal_open.runs = arg->runs;
	resp->u.goal_open.eager_bytes = GOAL_EAGER_BYTES;
	resp->u.goal_open.max_schedule_bytes = owner->share->process->limit[HW_SHARE_GOAL];
	return 0;
}

int cmd_goal_cancel(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		    const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_goal_load *arg = &cmd->u.goal_load;
	struct fw_client *owner = &nic->host.clients[client];
	const struct goal_ending *ending;
	struct goal_run *run;

	(void)aux;
	(void)resp;
	if (arg->run >= owner->goal_num_runs)
		return FW_EINVAL;
	/* A doorbell that was rung before this command is handled first. */
	if (!nic->slices.resume)
		(void)db_poll(nic);
	nic->slices.resume = 1;
	ending = goal_ending_of(owner, arg->run);
	if (!ending && owner->goal_active[arg->run]) {
		run = fw_pool_at(&nic->goal.runs, owner->goal_active[arg->run] - 1);
		if (run->serial == arg->serial)
			goal_run_fail(nic, run, HW_GOAL_CANCELED, run->comm->rank, FW_NONE);
		ending = goal_ending_of(owner, arg->run);
	}
	/* The command is answered when the record is written. */
	return ending && ending->serial == arg->serial ? CMD_LATER : 0;
}

/* ---- communicators -------------------------------------------------------------------------- */

struct goal_comm *goal_comm_own(struct fw_nic *nic, uint32_t client, uint32_t handle)
{
	struct goal_comm *comm;

	if (handle >= nic->goal.comm_ids.high)
		return NULL;
	comm = &nic->goal.comms[handle];
	return comm->used && !comm->closing && comm->client == client ? comm : NULL;
}

/* Reads memory of the client that a command names. */
static bool read_arg(struct fw_nic *nic, uint32_t pd, uint32_t stag, uint64_t addr, void *dst,
		     uint32_t bytes)
{
	struct fw_mem mem;

	nic->host.mem_busy = false;
	return mem_check(nic, pd, 0, stag, addr, bytes, 0, &mem) == HW_VENDOR_ERR_NONE &&
	       mem_read(nic, &mem, 0, dst, bytes);
}

/* Returns the status of a command whose argument could not be read: a page of it may come later. */
static int not_read(const struct fw_nic *nic)
{
	return nic->host.mem_busy ? CMD_LATER : FW_EFAULT;
}

static int create_comm(struct fw_nic *nic, uint32_t client, const struct hw_cmd_goal_comm *arg,
		       struct hw_cmd_resp *resp)
{
	struct goal_comm *comm;
	uint32_t handle;
	int status;

	if (!nic->host.clients[client].goal_num_runs || !pd_own(nic, client, arg->pd) ||
	    !arg->num_ranks || arg->num_ranks > HW_MAX_GOAL_RANKS || arg->rank >= arg->num_ranks ||
	    arg->reserved || arg->comm || arg->pool_bytes ||
	    arg->eager_bytes > HW_MAX_GOAL_EAGER_BYTES)
		return FW_EINVAL;
	comm = goal_comm_find(nic, arg->key, arg->key2, arg->rank);
	if (comm && comm->client != FW_CLIENT_ORPHANS)
		return FW_EBUSY;
	/* The process is back before its former communicator was drained. */
	if (comm) {
		goal_comm_destroy(nic, comm, true);
		/* Its group may take turns to end; until then the key is in use. */
		if (!comm->ungrouped)
			return CMD_LATER;
	}
	if (!share_may(nic, client, HW_SHARE_COMM, 1))
		return FW_EDQUOT;
	status = goal_list_read(nic, client, arg);
	if (status)
		return status;
	handle = fw_ids_get(&nic->goal.comm_ids);
	if (handle == FW_NONE)
		return FW_ENOMEM;
	comm = &nic->goal.comms[handle];
	goal_comm_init(comm);
	comm->client = (uint16_t)client;
	comm->pd = arg->pd;
	comm->key = arg->key;
	comm->key2 = arg->key2;
	comm->rank = arg->rank;
	comm->num_ranks = arg->num_ranks;
	comm->eager_bytes = arg->eager_bytes ? arg->eager_bytes : GOAL_EAGER_BYTES;
	goal_list_give(nic, client, comm);
	status = mgrp_join(nic, comm);
	if (status) {
		goal_heap_free(nic, client, comm->peers);
		goal_heap_free(nic, client, comm->links);
		fw_ids_put(&nic->goal.comm_ids, handle);
		return status;
	}
	nic->host.pds[arg->pd].refs++;
	comm->used = true;
	share_take(nic, client, HW_SHARE_COMM, 1);
	fw_list_add_tail(&nic->host.clients[client].goal_comms, &comm->node);
	resp->u.handle = handle;
	return 0;
}

int cmd_goal_comm_create(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
			 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	int status = create_comm(nic, client, &cmd->u.goal_comm, resp);

	(void)aux;
	if (status != CMD_LATER)
		goal_list_forget(nic, client, false);
	return status;
}

int cmd_goal_comm_destroy(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
			  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct goal_comm *comm = goal_comm_own(nic, client, cmd->u.goal_comm.comm);
	uint32_t i;

	(void)aux;
	(void)resp;
	if (!comm)
		return FW_EINVAL;
	if (!fw_list_empty(&comm->runs) || !fw_list_empty(&comm->endings))
		return FW_EBUSY;
	for (i = 0; i < GOAL_MAX_LOADS; i++)
		if (nic->goal.loads[i].used &&
		    &nic->goal.comms[nic->goal.loads[i].load.schedule->comm] == comm)
			return FW_EBUSY;
	if (!goal_comm_empty(nic, comm, false))
		return CMD_LATER;
	goal_comm_destroy(nic, comm, false);
	return 0;
}

int cmd_goal_pool(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_goal_comm *arg = &cmd->u.goal_comm;
	struct goal_comm *comm = goal_comm_own(nic, client, arg->comm);
	struct goal_pool_region *region;
	struct buddy_block *blocks;
	struct fw_mem mem;
	uint64_t count = arg->pool_bytes / BUDDY_MIN_BYTES;

	(void)aux;
	(void)resp;
	if (!comm || !count || arg->pool_bytes > GOAL_HEAP_BYTES)
		return FW_EINVAL;
	if (comm->num_regions == GOAL_POOL_REGIONS)
		return FW_ENOSPC;
	if (mem_check(nic, comm->pd, 0, arg->pool_stag, arg->pool_addr, arg->pool_bytes,
		      HW_ACCESS_LOCAL_WRITE, &mem) != HW_VENDOR_ERR_NONE)
		return FW_EFAULT;
	blocks = goal_heap_alloc_zero(nic, client, count * sizeof(*blocks));
	if (!blocks)
		return FW_ENOSPC;
	region = &comm->regions[comm->num_regions];
	region->stag = arg->pool_stag;
	region->addr = arg->pool_addr;
	buddy_init(&region->buddy, blocks, arg->pool_bytes);
	comm->num_regions++;
	goal_comm_unblock(nic, comm);
	return 0;
}

/* ---- schedules ------------------------------------------------------------------------------ */

struct goal_schedule *goal_schedule_own(struct fw_nic *nic, uint32_t client, uint32_t handle)
{
	struct goal_schedule *schedule;

	if (handle >= nic->goal.schedule_ids.high)
		return NULL;
	schedule = &nic->goal.schedules[handle];
	return schedule->used && !schedule->unloading && schedule->client == client ? schedule
										    : NULL;
}

/* Frees its number and its place in the client's share. */
static void put_schedule(struct fw_nic *nic, const struct goal_schedule *schedule)
{
	share_give(nic, schedule->client, HW_SHARE_SCHEDULE, 1);
	fw_ids_put(&nic->goal.schedule_ids, (uint32_t)(schedule - nic->goal.schedules));
}

static void free_schedule(struct fw_nic *nic, struct goal_schedule *schedule)
{
	goal_schedule_free(nic, schedule);
	schedule->used = false;
	fw_list_del(&schedule->node);
	put_schedule(nic, schedule);
}

void goal_schedule_put(struct fw_nic *nic, struct goal_schedule *schedule)
{
	assert(schedule->refs);
	if (!--schedule->refs && schedule->unloading)
		free_schedule(nic, schedule);
}

void goal_schedule_destroy(struct fw_nic *nic, struct goal_schedule *schedule)
{
	if (schedule->refs)
		schedule->unloading = true;
	else
		free_schedule(nic, schedule);
}

static void goal_cmd_answer(struct hw_resp_goal_load *resp, const struct goal_fault *fault)
{
	size_t i;

	resp->op = fault->op;
	for (i = 0; fault->why && fault->why[i] && i < sizeof(resp->why) - 1; i++)
		resp->why[i] = fault->why[i];
	resp->why[i] = '\0';
}

/* Binds each slot to as much registered memory as it needs. */
static const char *bind_slots(struct fw_nic *nic, struct goal_schedule *schedule,
			      const struct hw_cmd_goal_load *arg)
{
	uint32_t count = schedule->header.num_slots, i;

	nic->host.mem_busy = false;
	schedule->unmapped = false;
	schedule->unbound = !arg->binds_addr && !arg->binds_stag && count;
	if (!count)
		return NULL;
	if (schedule->unbound)
		return count <= HW_GOAL_RUN_BUFFERS ? NULL : "too many slots for buffers of runs";
	schedule->binds =
	    goal_heap_alloc(nic, schedule->client, (uint64_t)count * sizeof(*schedule->binds));
	if (!schedule->binds)
		return "the process's share of the NIC's memory is used up";
	if (!read_arg(nic, schedule->pd, arg->binds_stag, arg->binds_addr, schedule->binds,
		      count * (uint32_t)sizeof(*schedule->binds)))
		return "the table of buffers is not registered memory";
	for (i = 0; i < count; i++) {
		const struct hw_goal_bind *bind = &schedule->binds[i];
		struct fw_mem mem;

		if (mem_check(nic, schedule->pd, 0, bind->stag, bind->addr, bind->bytes, 0, &mem) !=
		    HW_VENDOR_ERR_NONE)
			return "a buffer is not registered memory";
		if (bind->bytes && !mem.ptr)
			schedule->unmapped = true;
	}
	return NULL;
}

static struct goal_schedule *new_schedule(struct fw_nic *nic, uint32_t client,
					  const struct goal_comm *comm)
{
	struct goal_schedule *schedule;
	uint32_t handle;

	if (!share_may(nic, client, HW_SHARE_SCHEDULE, 1))
		return NULL;
	handle = fw_ids_get(&nic->goal.schedule_ids);
	if (handle == FW_NONE)
		return NULL;
	share_take(nic, client, HW_SHARE_SCHEDULE, 1);
	schedule = &nic->goal.schedules[handle];
	memset(schedule, 0, sizeof(*schedule));
	schedule->client = (uint16_t)client;
	schedule->comm = (uint32_t)(comm - nic->goal.comms);
	schedule->pd = comm->pd;
	schedule->user_ops = comm;
	fw_list_init(&schedule->node);
	return schedule;
}

/* Finds a free place for a load. NULL: none is free, or the client's user has its share of them. */
static struct goal_loading *free_loading(struct fw_nic *nic, uint32_t client)
{
	const struct fw_account *user = nic->host.clients[client].share->user;
	struct goal_loading *found = NULL;
	uint32_t i, held = 0;

	for (i = 0; i < GOAL_MAX_LOADS; i++) {
		struct goal_loading *loading = &nic->goal.loads[i];

		if (!loading->used)
			found = loading;
		else
			held += nic->host.clients[loading->client].share->user == user;
	}
	return held < GOAL_MAX_LOADS - GOAL_MAX_LOADS / SHARE_POOL_PARTS ? found : NULL;
}

/* Answers a load that failed with status and reason. A refusal is an answer, not a bad command. */
static int refused(struct fw_nic *nic, struct goal_schedule *schedule, int status,
		   const struct goal_fault *fault, struct hw_cmd_resp *resp)
{
	resp->u.goal_load.schedule = FW_NONE;
	goal_cmd_answer(&resp->u.goal_load, fault);
	goal_schedule_free(nic, schedule);
	put_schedule(nic, schedule);
	resp->status = status;
	return CMD_REFUSED;
}

int cmd_goal_load(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_goal_load *arg = &cmd->u.goal_load;
	struct goal_comm *comm = goal_comm_own(nic, client, arg->comm);
	struct goal_loading *loading = free_loading(nic, client);
	struct goal_schedule *schedule;
	struct goal_header header;
	struct goal_fault fault = {FW_NONE, NULL};

	(void)aux;
	if (!comm || arg->bytes < sizeof(header) || arg->schedule || arg->run || arg->serial)
		return FW_EINVAL;
	if (!loading)
		return FW_EAGAIN;
	if (!read_arg(nic, comm->pd, arg->stag, arg->addr, &header, sizeof(header)))
		return not_read(nic);
	schedule = new_schedule(nic, client, comm);
	if (!schedule)
		return FW_ENOSPC;
	if (header.total_bytes != arg->bytes) {
		fault.why = "the schedule's length is not what its header says";
		return refused(nic, schedule, FW_EINVAL, &fault, resp);
	}
	if (!goal_load_begin(nic, &loading->load, schedule, &header, comm->rank, comm->num_ranks))
		return refused(nic, schedule, loading->load.status, &loading->load.fault, resp);
	fault.why = bind_slots(nic, schedule, arg);
	if (fault.why) {
		goal_load_cancel(nic, &loading->load);
		if (nic->host.mem_busy) {
			put_schedule(nic, schedule);
			return CMD_LATER;
		}
		return refused(nic, schedule, FW_EFAULT, &fault, resp);
	}
	loading->used = true;
	loading->client = (uint16_t)client;
	loading->tag = cmd->tag;
	loading->stag = arg->stag;
	loading->addr = arg->addr;
	nic->goal.loads_active++;
	return CMD_PENDING;
}

static void load_over(struct fw_nic *nic, struct goal_loading *loading)
{
	struct goal_schedule *schedule = loading->load.schedule;
	struct hw_cmd_resp resp = {.op = HW_CMD_GOAL_LOAD, .tag = loading->tag};

	if (loading->load.phase == GOAL_LOAD_DONE) {
		schedule->used = true;
		fw_list_add_tail(&nic->goal.comms[schedule->comm].schedules, &schedule->node);
		resp.u.goal_load.schedule = (uint32_t)(schedule - nic->goal.schedules);
		resp.u.goal_load.op = FW_NONE;
	} else {
		(void)refused(nic, schedule, loading->load.status, &loading->load.fault, &resp);
	}
	loading->used = false;
	nic->goal.loads_active--;
	nic->port.cmd_done(nic->port.ctx, loading->client, &resp);
}

static const char *check_binds(const struct goal_schedule *schedule)
{
	uint32_t i;

	for (i = 0; !schedule->unbound && i < schedule->header.num_slots; i++)
		if (schedule->binds[i].bytes < schedule->slots[i].bytes)
			return "a buffer is shorter than the schedule says";
	return NULL;
}

static void load_step(struct fw_nic *nic, struct goal_loading *loading)
{
	struct goal_load *load = &loading->load;
	struct fw_mem mem = {.ptr = NULL};
	const char *why = NULL;

	if (load->phase == GOAL_LOAD_COPY &&
	    mem_check(nic, load->schedule->pd, 0, loading->stag, loading->addr, load->bytes, 0,
		      &mem) != HW_VENDOR_ERR_NONE)
		why = "the schedule's memory was deregistered";
	else if (load->phase == GOAL_LOAD_OPS && !load->at)
		why = check_binds(load->schedule);
	if (why) {
		goal_load_cancel(nic, load);
		load->phase = GOAL_LOAD_FAILED;
		load->status = FW_EINVAL;
		load->fault = (struct goal_fault){FW_NONE, why};
		load_over(nic, loading);
	} else if (load->phase == GOAL_LOAD_DONE || goal_load_step(nic, load, &mem)) {
		/* The messages that came before can match it, too. */
		if (load->phase != GOAL_LOAD_DONE || !load->schedule->wildcards ||
		    goal_wild_index(nic, &nic->goal.comms[load->schedule->comm]))
			load_over(nic, loading);
	}
}

uint32_t goal_load_poll(struct fw_nic *nic)
{
	uint32_t i;

	if (!nic->goal.loads_active)
		return 0;
	/* One load makes a step in each turn, in rotation. */
	for (i = 0; i < GOAL_MAX_LOADS; i++) {
		nic->goal.load_hand = (nic->goal.load_hand + 1) % GOAL_MAX_LOADS;
		if (!nic->goal.loads[nic->goal.load_hand].used)
			continue;
		load_step(nic, &nic->goal.loads[nic->goal.load_hand]);
		return 1;
	}
	return 0;
}

void goal_load_forget_client(struct fw_nic *nic, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < GOAL_MAX_LOADS; i++) {
		struct goal_loading *loading = &nic->goal.loads[i];
		struct goal_schedule *schedule = loading->load.schedule;

		if (!loading->used || loading->client != client)
			continue;
		goal_load_cancel(nic, &loading->load);
		put_schedule(nic, schedule);
		loading->used = false;
		nic->goal.loads_active--;
	}
}

int cmd_goal_unload(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		    const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct goal_schedule *schedule = goal_schedule_own(nic, client, cmd->u.goal_load.schedule);

	(void)aux;
	(void)resp;
	if (!schedule)
		return FW_EINVAL;
	goal_schedule_destroy(nic, schedule);
	return 0;
}
