/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run records, and commands for collectives.
 *
 * Calls weft_ctx.c for commands, weft_db.h to start a run, weft_eq.c to wait. A record is in the
 * process's free list, or belongs to the caller from weft_goal_start() to weft_goal_finish(). The
 * NIC may write to it until done equals serial (pair G1). docs/host-interface.md, "Collectives".
 */
#include "host_driver/weft_goal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_eq.h"
#include "host_driver/weft_mem.h"
#include "lib/clock.h"
#include "shared_defs/hw_goal.h"

enum {
	/* a waiting thread polls for this time before it requests an event. */
	BLOCK_AFTER_NS = 200000,
	STAGE_BYTES = 1 << 16, /* code and bindings of most schedules */
};

struct weft_goal {
	struct weft_ctx *ctx;
	struct weft_comp_channel *channel;
	struct hw_goal_run *records;
	uint32_t runs;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t over;  /* an event arrived, or the leader stopped waiting */
	bool leader;          /* a thread waits for events on behalf of all */
	/* The waiter by descriptor (NULL: none), and how often it asked to be. */
	const void *listener;
	uint32_t listens;
	int note_fd;    /* eventfd: the leader has taken events; -1: nobody has ever listened */
	uint32_t *free; /* unused records */
	uint32_t num_free;
	uint32_t serial;
	/* Registered memory from which schedules are loaded, kept, so that a load is one command.
	 */
	pthread_mutex_t stage_lock;
	struct weft_mr *stage; /* NULL: not made yet */
	struct weft_pd *stage_pd;
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
	self->ip = goal->ctx->device.ip;
	self->client = header->client;
}

/* ---- communicators -------------------------------------------------------------------------- */

int weft_goal_comm_create(struct weft_goal *goal, const struct weft_goal_comm_attr *attr,
			  uint32_t *comm)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_CREATE};
	struct hw_cmd_resp resp;
	struct weft_mr *mr;
	size_t bytes;
	void *table;
	int rc;

	_Static_assert(sizeof(struct weft_goal_peer) == sizeof(struct hw_goal_peer), "");
	if (!attr->num_ranks || attr->num_ranks > HW_MAX_GOAL_RANKS || !attr->pd)
		return -EINVAL;
	bytes = attr->num_ranks * sizeof(struct hw_goal_peer);
	table = weft_alloc(&goal->ctx->pub, bytes);
	if (!table)
		return -ENOMEM;
	memcpy(table, attr->peers, bytes);
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

/* ---- runs ----------------------------------------------------------------------------------- */

int weft_goal_start(struct weft_goal *goal, const struct weft_goal_run_attr *attr, uint32_t *run)
{
	uint32_t flags = attr->memory_gone ? HW_GOAL_RUN_F_MEMORY : 0;
	struct hw_goal_run *record;
	uint32_t i;

	_Static_assert((int)WEFT_GOAL_RUN_BINDS == (int)HW_GOAL_RUN_BUFFERS, "");
	if (attr->num_binds > WEFT_GOAL_RUN_BINDS)
		return -EINVAL;
	if (weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE)
		return -EIO;
	if (attr->binds)
		flags |= HW_GOAL_RUN_F_BUFFERS;
	pthread_mutex_lock(&goal->lock);
	if (!goal->num_free) {
		pthread_mutex_unlock(&goal->lock);
		return -EAGAIN;
	}
	*run = goal->free[--goal->num_free];
	record = &goal->records[*run];
	if (!++goal->serial)
		goal->serial++;
	record->serial = goal->serial;
	record->schedule = attr->schedule;
	record->timeout_ns = attr->timeout_ns;
	record->trace_addr = (uintptr_t)attr->trace;
	record->trace_stag = attr->trace_mr ? attr->trace_mr->lkey : 0;
	record->trace_entries = attr->trace_mr ? attr->trace_entries : 0;
	for (i = 0; i < attr->num_binds; i++) {
		record->buf_addr[i] = (uintptr_t)attr->binds[i].addr;
		record->buf_stag[i] = attr->binds[i].mr ? attr->binds[i].mr->lkey : 0;
	}
	__atomic_store_n(&record->flags, flags, __ATOMIC_RELAXED);
	/* Under the lock, so that doorbells have the order of runs. */
	weft_db_ring(goal->ctx, &record->rung, HW_DB_ENTRY(HW_DB_GOAL_RUN, *run));
	pthread_mutex_unlock(&goal->lock);
	return 0;
}

bool weft_goal_test(const struct weft_goal *goal, uint32_t run)
{
	const struct hw_goal_run *record = &goal->records[run];

	/* Pair G1: everything the NIC wrote before done is visible once done is. */
	return __atomic_load_n(&record->done, __ATOMIC_ACQUIRE) == record->serial;
}

bool weft_goal_gone(const struct weft_goal *goal)
{
	weft_ctx_look(goal->ctx, false);
	return weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE;
}

/* Takes all events; true: there were some. */
static bool take_events(struct weft_goal *goal)
{
	struct weft_channel_obj *channel =
	    weft_container_of(goal->channel, struct weft_channel_obj, pub);
	struct hw_eqe eqe;
	bool any;

	pthread_mutex_lock(&channel->eq.lock);
	any = weft_eq_take(&channel->eq, &eqe);
	while (any && weft_eq_take(&channel->eq, &eqe))
		;
	pthread_mutex_unlock(&channel->eq.lock);
	return any;
}

/* Checks the event queue once on behalf of all waiting threads. Blocks until an event arrives. */
static int lead(struct weft_goal *goal)
{
	const struct weft_channel_obj *channel =
	    weft_container_of(goal->channel, struct weft_channel_obj, pub);

	return take_events(goal) ? 0 : weft_eq_wait(goal->ctx, &channel->eq);
}

/* The leader may have taken an event of a run that others wait for. Under the lock. */
static void tell_listener(const struct weft_goal *goal)
{
	uint64_t one = 1;
	ssize_t n = 0;

	if (goal->listener)
		n = write(goal->note_fd, &one, sizeof(one));
	/* A counter that is full is readable. */
	(void)n;
}

bool weft_goal_request(struct weft_goal *goal, uint32_t run)
{
	/*
	 * The other flags stay: the NIC may not have taken the doorbell yet. Pair G2: store the
	 * flag, then load done; the NIC stores done, then loads the flag.
	 */
	(void)__atomic_fetch_or(&goal->records[run].flags, HW_GOAL_RUN_F_EVENT, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return weft_goal_test(goal, run);
}

static int block(struct weft_goal *goal, uint32_t run)
{
	int rc = 0;

	(void)weft_goal_request(goal, run);
	pthread_mutex_lock(&goal->lock);
	while (!weft_goal_test(goal, run) && rc == 0) {
		if (weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE) {
			rc = -EIO;
		} else if (goal->leader) {
			pthread_cond_wait(&goal->over, &goal->lock);
		} else {
			goal->leader = true;
			pthread_mutex_unlock(&goal->lock);
			rc = lead(goal);
			pthread_mutex_lock(&goal->lock);
			goal->leader = false;
			tell_listener(goal);
			pthread_cond_broadcast(&goal->over);
		}
	}
	pthread_mutex_unlock(&goal->lock);
	return rc;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Polls a few times; returns true if the run is done. */
static bool spin(const struct weft_goal *goal, uint32_t run, bool first)
{
	uint32_t looks = weft_poll_spins(first);

	while (looks--) {
		if (weft_goal_test(goal, run))
			return true;
		pause_cpu();
	}
	return false;
}

/*
 * Ranks that share a CPU wait for each other. A waiting rank yields the CPU at once, so that the
 * next rank can start its part. When it runs again it polls for a short time, because all ranks
 * have had a turn by then and the NIC is about to finish. For longer waits it requests an event.
 */
int weft_goal_wait(struct weft_goal *goal, uint32_t run, uint64_t timeout_ns)
{
	uint64_t start_ns = 0, waited_ns;
	bool first;

	for (first = true;; first = false) {
		if (spin(goal, run, first))
			return 0;
		if (!start_ns)
			start_ns = clock_now_ns();
		weft_poll_yield();
		weft_ctx_look(goal->ctx, false);
		if (weft_goal_test(goal, run))
			return 0;
		if (weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE)
			return -EIO;
		waited_ns = clock_now_ns() - start_ns;
		if (waited_ns >= timeout_ns)
			return -ETIMEDOUT;
		if (waited_ns >= BLOCK_AFTER_NS && timeout_ns == UINT64_MAX)
			return block(goal, run);
	}
}

void weft_goal_finish(struct weft_goal *goal, uint32_t run, struct weft_goal_result *result)
{
	const struct hw_goal_run *record = &goal->records[run];

	_Static_assert((int)WEFT_GOAL_WAITS == (int)HW_GOAL_WAITS &&
			   (int)WEFT_GOAL_WAITS_COUNTED == (int)HW_GOAL_WAITS_COUNTED,
		       "");
	if (result)
		*result = (struct weft_goal_result){
		    .status = record->status,
		    .rank = record->rank,
		    .op = record->op,
		    .ops = record->ops,
		    .instance = record->instance,
		    .traced = record->traced,
		    .trace_lost = record->trace_lost,
		    .start_ns = record->start_ns,
		    .finish_ns = record->finish_ns,
		};
	if (result && result->status != HW_GOAL_OK) {
		result->message_bytes = record->message_bytes;
		result->room_bytes = record->room_bytes;
		result->num_waits = record->num_waits;
		memcpy(result->waits, record->waits, sizeof(result->waits));
	}
	pthread_mutex_lock(&goal->lock);
	goal->free[goal->num_free++] = run;
	pthread_mutex_unlock(&goal->lock);
}

/* ---- waiting by descriptor ------------------------------------------------------------------ */

int weft_goal_listen(struct weft_goal *goal, const void *listener, int fd[2])
{
	int rc = 0;

	if (goal->channel->fd < 0)
		return -ENOSYS;
	pthread_mutex_lock(&goal->lock);
	if (goal->listener && goal->listener != listener)
		rc = -EBUSY;
	if (!rc && goal->note_fd < 0)
		goal->note_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!rc && goal->note_fd < 0)
		rc = -errno;
	if (!rc) {
		goal->listener = listener;
		goal->listens++;
		fd[0] = goal->channel->fd;
		fd[1] = goal->note_fd;
	}
	pthread_mutex_unlock(&goal->lock);
	return rc;
}

void weft_goal_unlisten(struct weft_goal *goal)
{
	pthread_mutex_lock(&goal->lock);
	if (--goal->listens == 0)
		goal->listener = NULL;
	pthread_mutex_unlock(&goal->lock);
}

void weft_goal_heard(struct weft_goal *goal)
{
	uint64_t count;
	ssize_t n;

	pthread_mutex_lock(&goal->lock);
	n = read(goal->note_fd, &count, sizeof(count));
	(void)n; /* it may be empty */
	/* A leader takes them, and tells. */
	if (!goal->leader)
		(void)take_events(goal);
	pthread_mutex_unlock(&goal->lock);
}

int weft_goal_cancel(struct weft_goal *goal, uint32_t run)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_CANCEL};
	struct hw_cmd_resp resp;

	cmd.u.goal_load.run = run;
	cmd.u.goal_load.serial = goal->records[run].serial;
	return weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
}
