/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: the table of run records, commands for communicators, memory and schedules.
 * weft_goal_run.c starts runs. Calls weft_ctx.c. docs/host-interface.md, "Collectives".
 */
#include "host_driver/weft_goal_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/weft_eq.h"
#include "host_driver/weft_mem.h"
#include "shared_defs/hw_goal.h"

enum {
	STAGE_BYTES = 1 << 16, /* code and bindings of most schedules */
};

static struct weft_goal *fail(struct weft_goal *goal, int err)
{
	weft_goal_close(goal);
	errno = err;
	return NULL;
}

static int open_table(struct weft_goal *goal, uint32_t runs)
{
	const struct weft_channel_obj *channel =
	    weft_container_of(goal->channel, struct weft_channel_obj, pub);
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_OPEN};
	struct hw_cmd_resp resp;
	int rc;

	cmd.u.goal_open.runs = runs;
	cmd.u.goal_open.eq = channel->eq.number;
	rc = weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	goal->runs = resp.u.goal_open.runs;
	goal->records = weft_ctx_bar(goal->ctx, resp.u.goal_open.runs_offset,
				     (uint64_t)goal->runs * sizeof(*goal->records));
	if (!goal->records || goal->runs != runs)
		return -EPROTO;
	/* The memory may have been used by a ring. */
	memset(goal->records, 0, runs * sizeof(*goal->records));
	return 0;
}

struct weft_goal *weft_goal_open(struct weft_context *context, uint32_t runs)
{
	struct weft_goal *goal;
	uint32_t i;
	int rc;

	if (!runs || runs > HW_MAX_GOAL_RUNS || runs & (runs - 1)) {
		errno = EINVAL;
		return NULL;
	}
	goal = calloc(1, sizeof(*goal));
	if (!goal)
		return NULL;
	goal->ctx = weft_ctx_of(context);
	goal->note_fd = -1;
	weft_mutex_init(&goal->lock);
	weft_mutex_init(&goal->stage_lock);
	pthread_cond_init(&goal->over, NULL);
	goal->free = malloc(runs * sizeof(*goal->free));
	goal->channel = weft_create_comp_channel(context, 0);
	if (!goal->free || !goal->channel)
		return fail(goal, errno);
	rc = open_table(goal, runs);
	if (rc < 0)
		return fail(goal, -rc);
	for (i = 0; i < runs; i++)
		goal->free[i] = runs - 1 - i;
	goal->num_free = runs;
	return goal;
}

static void drop_stage(struct weft_goal *goal)
{
	void *mem = goal->stage ? goal->stage->addr : NULL;
	int rc = goal->stage ? weft_dereg_mr(goal->stage) : 0;

	/* A NIC that is gone holds no memory any more. */
	if (mem && (rc == 0 || rc == -EIO))
		weft_free(mem, STAGE_BYTES);
	goal->stage = NULL;
}

void weft_goal_close(struct weft_goal *goal)
{
	if (!goal)
		return;
	/* The NIC's table and its reference to the event queue last as long as the context. */
	drop_stage(goal);
	if (goal->note_fd >= 0)
		close(goal->note_fd);
	pthread_cond_destroy(&goal->over);
	pthread_mutex_destroy(&goal->stage_lock);
	pthread_mutex_destroy(&goal->lock);
	free(goal->free);
	free(goal);
}

void weft_goal_self(const struct weft_goal *goal, struct weft_goal_peer *self)
{
	const struct hw_bar_header *header = goal->ctx->bar;

	memset(self, 0, sizeof(*self));
	memcpy(self->mac, goal->ctx->device.mac, sizeof(self->mac));
	self->shard = (uint8_t)goal->ctx->device.shard;
	self->switch_id = goal->ctx->device.switch_id;
	self->ip = goal->ctx->device.ip;
	self->client = header->client;
}

void weft_goal_count(const struct weft_goal *goal, bool on_nic, uint64_t bytes)
{
	struct hw_bar_header *header = goal->ctx->bar;

	__atomic_fetch_add(on_nic ? &header->coll_nic_calls : &header->coll_left_calls, 1,
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(on_nic ? &header->coll_nic_bytes : &header->coll_left_bytes, bytes,
			   __ATOMIC_RELAXED);
}

/* ---- communicators -------------------------------------------------------------------------- */

int weft_goal_comm_create(struct weft_goal *goal, const struct weft_goal_comm_attr *attr,
			  uint32_t *comm)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_CREATE};
	struct hw_cmd_resp resp;
	struct weft_mr *mr;
	struct hw_goal_peer *table;
	size_t bytes;
	uint32_t i;
	int rc;

	_Static_assert(sizeof(struct weft_goal_peer) == sizeof(struct hw_goal_peer), "");
	if (!attr->num_ranks || attr->num_ranks > HW_MAX_GOAL_RANKS || !attr->pd)
		return -EINVAL;
	bytes = attr->num_ranks * sizeof(struct hw_goal_peer);
	table = weft_alloc(&goal->ctx->pub, bytes);
	if (!table)
		return -ENOMEM;
	memcpy(table, attr->peers, bytes);
	/* The switches of ranks are for their processes alone. */
	for (i = 0; i < attr->num_ranks; i++)
		table[i].reserved = 0;
	mr = weft_reg_mr(attr->pd, table, bytes, 0);
	if (!mr) {
		rc = -errno;
		weft_free(table, bytes);
		return rc;
	}
	cmd.u.goal_comm.key = attr->key[0];
	cmd.u.goal_comm.key2 = attr->key[1];
	cmd.u.goal_comm.rank = attr->rank;
	cmd.u.goal_comm.num_ranks = attr->num_ranks;
	cmd.u.goal_comm.pd = attr->pd->handle;
	cmd.u.goal_comm.peers_stag = mr->lkey;
	cmd.u.goal_comm.peers_addr = (uintptr_t)table;
	cmd.u.goal_comm.eager_bytes = attr->eager_bytes;
	rc = weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
	if (rc == 0)
		*comm = resp.u.handle;
	/* The NIC has copied it. */
	if (weft_dereg_mr(mr) < 0 && rc == 0)
		rc = -EIO;
	weft_free(table, bytes);
	return rc;
}

int weft_goal_comm_destroy(struct weft_goal *goal, uint32_t comm)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_DESTROY};
	struct hw_cmd_resp resp;

	cmd.u.goal_comm.comm = comm;
	return weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
}

int weft_goal_pool(struct weft_goal *goal, uint32_t comm, const struct weft_mr *mr)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_POOL};
	struct hw_cmd_resp resp;

	cmd.u.goal_comm.comm = comm;
	cmd.u.goal_comm.pool_stag = mr->lkey;
	cmd.u.goal_comm.pool_addr = (uintptr_t)mr->addr;
	cmd.u.goal_comm.pool_bytes = mr->bytes;
	return weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
}

int weft_goal_op(struct weft_goal *goal, uint32_t comm, const struct weft_goal_op_attr *attr,
		 uint32_t *number, char *why, uint32_t *insn)
{
	struct hw_cmd_pieces *packet;
	struct hw_cmd_resp resp = {.u.goal_op.insn = UINT32_MAX};
	int rc;

	why[0] = '\0';
	*insn = UINT32_MAX;
	if (attr->num_insns > GOAL_OP_MAX_INSNS || attr->args_bytes > GOAL_OP_ARGS_BYTES)
		return -EOVERFLOW;
	packet = calloc(1, sizeof(*packet));
	if (!packet)
		return -ENOMEM;
	packet->cmd.op = HW_CMD_GOAL_OP;
	packet->cmd.u.goal_op = (struct hw_cmd_goal_op){.comm = comm,
							.num_insns = attr->num_insns,
							.elem_bytes = attr->elem_bytes,
							.block = attr->block,
							.mark = attr->mark};
	if (attr->args_bytes)
		memcpy(packet->cmd.u.goal_op.args, attr->args, attr->args_bytes);
	memcpy(packet->insn, attr->insns, attr->num_insns * sizeof(packet->insn[0]));
	rc = weft_ctx_command(goal->ctx, &packet->cmd, -1, &resp, NULL);
	free(packet);
	if (rc == 0)
		*number = resp.u.goal_op.op;
	if (rc != -EINVAL)
		return rc;
	*insn = resp.u.goal_op.insn;
	memcpy(why, resp.u.goal_op.why, WEFT_GOAL_WHY_BYTES);
	why[WEFT_GOAL_WHY_BYTES - 1] = '\0';
	return rc;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* [next, end) remains to be checked. */
struct private_look {
	uint64_t next;
	uint64_t end;
};

static bool look_private(const struct weft_vma *vma, void *arg)
{
	struct private_look *look = arg;

	if (vma->end <= look->next)
		return true;
	/* Extents are shared only with the NIC: after fork the child has copies. */
	if (vma->start > look->next || (vma->shared && !weft_mem_of_vma(vma)))
		return false;
	look->next = vma->end;
	return look->next < look->end;
}

bool weft_goal_private(const void *addr, size_t bytes)
{
	struct private_look look = {(uintptr_t)addr, (uintptr_t)addr + bytes};

	int rc;

	weft_global_lock();
	rc = weft_maps_walk_from(look.next, look_private, &look);
	weft_global_unlock();
	return rc == 0 && look.next >= look.end;
}

/* ---- schedules ------------------------------------------------------------------------------ */

static void copy_binds(struct hw_goal_bind *table, const struct weft_goal_bind *binds,
		       uint32_t count)
{
	uint32_t i;

	for (i = 0; binds && i < count; i++)
		table[i] = (struct hw_goal_bind){
		    .addr = (uintptr_t)binds[i].addr,
		    .bytes = binds[i].bytes,
		    .stag = binds[i].mr ? binds[i].mr->lkey : 0,
		};
}

static int load(struct weft_goal *goal, uint32_t comm, const struct weft_mr *mr, size_t code_bytes,
		size_t binds_offset, uint32_t *schedule, char *why, uint32_t *op)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_LOAD};
	struct hw_cmd_resp resp = {.u.goal_load.op = UINT32_MAX};
	int rc;

	cmd.u.goal_load.addr = (uintptr_t)mr->addr;
	cmd.u.goal_load.bytes = code_bytes;
	cmd.u.goal_load.stag = mr->lkey;
	if (binds_offset) {
		cmd.u.goal_load.binds_addr = (uintptr_t)mr->addr + binds_offset;
		cmd.u.goal_load.binds_stag = mr->lkey;
	}
	cmd.u.goal_load.comm = comm;
	do {
		struct hw_cmd again = cmd;

		rc = weft_ctx_command(goal->ctx, &again, -1, &resp, NULL);
		/* Other loads are in progress; they take a few milliseconds at most. */
	} while (rc == -EAGAIN);
	if (rc == 0)
		*schedule = resp.u.goal_load.schedule;
	if (why) {
		memcpy(why, resp.u.goal_load.why, WEFT_GOAL_WHY_BYTES);
		why[WEFT_GOAL_WHY_BYTES - 1] = '\0';
	}
	*op = rc == -EINVAL ? resp.u.goal_load.op : UINT32_MAX;
	return rc;
}

int weft_goal_load(struct weft_goal *goal, uint32_t comm, struct weft_pd *pd, const void *code,
		   size_t bytes, const struct weft_goal_bind *binds, uint32_t num_binds,
		   uint32_t *schedule, char *why)
{
	uint32_t op;

	return weft_goal_load_op(goal, comm, pd, code, bytes, binds, num_binds, schedule, why, &op);
}

static struct weft_mr *new_copy(struct weft_goal *goal, struct weft_pd *pd, size_t bytes)
{
	void *mem = weft_alloc(&goal->ctx->pub, bytes);
	struct weft_mr *mr = mem ? weft_reg_mr(pd, mem, bytes, 0) : NULL;
	int err = errno;

	if (mem && !mr) {
		weft_free(mem, bytes);
		errno = err;
	}
	return mr;
}

/* Returns the memory that is kept for loads, for this thread alone; NULL: it is not to be had. */
static struct weft_mr *take_stage(struct weft_goal *goal, struct weft_pd *pd, size_t bytes)
{
	if (bytes > STAGE_BYTES || pthread_mutex_trylock(&goal->stage_lock) != 0)
		return NULL;
	if (!goal->stage) {
		goal->stage = new_copy(goal, pd, STAGE_BYTES);
		goal->stage_pd = pd;
	}
	if (goal->stage && goal->stage_pd == pd)
		return goal->stage;
	pthread_mutex_unlock(&goal->stage_lock);
	return NULL;
}

int weft_goal_load_op(struct weft_goal *goal, uint32_t comm, struct weft_pd *pd, const void *code,
		      size_t bytes, const struct weft_goal_bind *binds, uint32_t num_binds,
		      uint32_t *schedule, char *why, uint32_t *op)
{
	size_t binds_offset = (bytes + 63) & ~(size_t)63;
	size_t total = binds_offset + num_binds * sizeof(struct hw_goal_bind);
	struct weft_mr *stage = take_stage(goal, pd, total);
	struct weft_mr *mr = stage ? stage : new_copy(goal, pd, total);
	uint8_t *copy;
	int rc;

	if (why)
		why[0] = '\0';
	*op = UINT32_MAX;
	if (!mr)
		return -errno;
	copy = mr->addr;
	memcpy(copy, code, bytes);
	copy_binds((struct hw_goal_bind *)(void *)(copy + binds_offset), binds, num_binds);
	rc = load(goal, comm, mr, bytes, binds ? binds_offset : 0, schedule, why, op);
	if (stage) {
		pthread_mutex_unlock(&goal->stage_lock);
		return rc;
	}
	rc = weft_dereg_mr(mr) < 0 && rc == 0 ? -EIO : rc;
	weft_free(copy, total);
	return rc;
}

int weft_goal_unload(struct weft_goal *goal, uint32_t schedule)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_UNLOAD};
	struct hw_cmd_resp resp;

	cmd.u.goal_load.schedule = schedule;
	return weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
}
