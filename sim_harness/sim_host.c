/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulated processes: libweft on one side of its channel interface, a firmware instance on the
 * other.
 *
 * A command goes directly to fw_cmd(). Waiting for a pending answer, or for events of event queues,
 * runs the simulation. Doorbells are libweft's own: it writes the ring in the BAR and, if the NIC
 * sleeps, calls wake(), which polls the shard after the doorbell's latency. A process's death is
 * fw_client_detach() at any moment.
 *
 * Calls fw_client_attach(), fw_cmd() and sim_mem.c.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/weft_chan.h"

/* Address space of a BAR; pages are committed on first access. */
#define BAR_BYTES (UINT64_C(256) << 20)

struct sim_proc *sim_shard_proc(struct sim_shard *shard, uint32_t client)
{
	return client < SIM_CLIENTS ? shard->procs[client] : NULL;
}

void sim_proc_irq(struct sim_proc *proc, uint32_t eq)
{
	if (eq < HW_MAX_EQ_PER_CLIENT)
		proc->irq_pending[eq] = 1;
	if (proc->on_irq && !proc->dead)
		proc->on_irq(proc->on_irq_ctx, proc, eq);
}

void sim_proc_answer(struct sim_proc *proc, const struct hw_cmd_resp *resp)
{
	struct sim_answer *answer = calloc(1, sizeof(*answer));

	assert(answer);
	assert(proc->pending || !"cmd_done() without a pending command");
	answer->resp = *resp;
	answer->next = proc->answers;
	proc->answers = answer;
	proc->pending--;
}

/* Condition of a wait. */
struct wait {
	struct sim_proc *proc;
	uint32_t eq;
	uint32_t tag;
};

static struct sim_answer **find_answer(struct sim_proc *proc, uint32_t tag)
{
	struct sim_answer **at;

	for (at = &proc->answers; *at && (*at)->resp.tag != tag; at = &(*at)->next)
		;
	return at;
}

static bool answered(void *ctx)
{
	struct wait *w = ctx;

	return w->proc->dead || *find_answer(w->proc, w->tag);
}

static bool interrupted(void *ctx)
{
	struct wait *w = ctx;

	return w->proc->dead || w->proc->irq_pending[w->eq];
}

static int chan_attach(struct sim_proc *proc, const struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct fw_client_params params = {
	    .bar_bytes = BAR_BYTES,
	    .pid = proc->number + 1,
	    .uid = proc->number + 1,
	    .tool = cmd->u.attach.flags & HW_ATTACH_F_TOOL,
	    .use = (uint8_t)((cmd->u.attach.flags & HW_ATTACH_USE_MASK) >> HW_ATTACH_USE_SHIFT)};
	int rc;

	proc->bar = mmap(NULL, BAR_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (proc->bar == MAP_FAILED) {
		proc->bar = NULL;
		return ENOMEM;
	}
	proc->bar_bytes = BAR_BYTES;
	params.bar = proc->bar;
	memcpy(params.name, proc->name, sizeof(params.name));
	fw_now(proc->shard->fw, sim_nic_clock_ns(proc->nic));
	rc = fw_client_attach(proc->shard->fw, &params, &proc->client, &resp->u.attach);
	if (rc)
		return rc;
	assert(proc->client < SIM_CLIENTS && !proc->shard->procs[proc->client]);
	proc->shard->procs[proc->client] = proc;
	proc->attached = true;
	proc->start = resp->u.attach;
	return 0;
}

/* REG_MR of memory that the NIC may map carries a mapping, like weftd's of a memfd. */
static void *map_for(struct sim_proc *proc, struct hw_cmd *cmd, struct fw_cmd_aux *aux)
{
	struct hw_cmd_reg_mr *reg = &cmd->u.reg_mr;
	struct sim_mem *mem = sim_mem_find(proc, reg->addr, reg->bytes);
	struct sim_mem moved = {.addr = (uint8_t *)(uintptr_t)reg->addr, .bytes = reg->bytes};

	if (!mem && proc->moves && sim_mem_move(proc, &moved))
		mem = &moved;
	if (!mem || mem->offset == UINT64_MAX)
		return NULL;
	aux->mapping = sim_mem_map(proc->shard, proc->client, mem);
	if (!aux->mapping)
		return NULL;
	aux->map_bytes = mem->bytes;
	aux->offset = reg->addr - (uintptr_t)mem->addr;
	reg->flags |= HW_REG_F_MAPPED;
	return aux->mapping;
}

/* Interrupt moderation concerns the whole NIC, as in weftd, not only the process's shard. */
static void chan_moder(struct sim_proc *proc, const struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct sim_nic *nic = proc->nic;
	uint32_t first = 0, last = nic->num_shards - 1;

	if (cmd->op == HW_CMD_VECTOR)
		first = last = cmd->u.obj.shard;
	else if (!cmd->u.coalesce.set)
		first = last = proc->shard->index;
	if (first >= nic->num_shards)
		resp->status = EINVAL;
	for (uint32_t s = first; s <= last && !resp->status; s++) {
		struct sim_shard *shard = &nic->shard[s];

		sim_shard_enter(shard);
		if (cmd->op == HW_CMD_VECTOR)
			resp->status = fw_vector(shard->fw, cmd->u.obj.handle, &resp->u.vector);
		else
			resp->status = fw_coalesce(shard->fw, &cmd->u.coalesce, &resp->u.coalesce);
		sim_shard_wake(shard, nic->sim->now_ns);
	}
}

static int chan_command(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
			int fds_out[WEFT_CHAN_FDS])
{
	struct sim_proc *proc = chan;
	struct sim_shard *shard = proc->shard;
	struct fw_cmd_aux aux = {0};
	struct wait w = {.proc = proc, .tag = ++proc->last_tag};
	struct sim_answer **at, *answer;
	enum fw_cmd_result result;
	void *mapping = NULL;
	int i;

	(void)fd_in;
	for (i = 0; i < WEFT_CHAN_FDS; i++)
		fds_out[i] = -1;
	assert(!shard->in_poll || !"a command from within fw_poll()");
	if (proc->dead || proc->nic->dead)
		return -EIO;
	memset(resp, 0, sizeof(*resp));
	cmd->tag = w.tag;
	resp->op = cmd->op;
	resp->tag = cmd->tag;
	sim_shard_enter(shard);
	if (cmd->op == HW_CMD_ATTACH) {
		resp->status = chan_attach(proc, cmd, resp);
		return 0;
	}
	if (cmd->op == HW_CMD_START) {
		resp->u.attach = proc->start;
		return 0;
	}
	if (cmd->op == HW_CMD_ALLOC_MEM || cmd->op == HW_CMD_CAPTURE || cmd->op == HW_CMD_CHANGE) {
		resp->status = EOPNOTSUPP;
		return 0;
	}
	if (cmd->op == HW_CMD_COALESCE || cmd->op == HW_CMD_VECTOR) {
		chan_moder(proc, cmd, resp);
		return 0;
	}
	sim_proc_settle(proc);
	if (cmd->op == HW_CMD_REG_MR)
		mapping = map_for(proc, cmd, &aux);
	/* Simulated NICs interpret users' operations. */
	if (cmd->op == HW_CMD_GOAL_OP && hw_cmd_bytes(cmd))
		aux.code = ((const struct hw_cmd_pieces *)cmd)->insn;
	/* The firmware may answer before fw_cmd() returns. */
	proc->pending++;
	fw_now(shard->fw, sim_nic_clock_ns(shard->nic));
	result = fw_cmd(shard->fw, proc->client, cmd, mapping || aux.code ? &aux : NULL, resp);
	if (result == FW_CMD_DONE) {
		proc->pending--;
	} else {
		sim_shard_wake(shard, shard->nic->sim->now_ns);
		sim_run_until(shard->nic->sim, answered, &w, shard->nic->sim->config.block_ns);
		at = find_answer(proc, w.tag);
		answer = *at;
		if (!answer)
			return -EIO;
		*at = answer->next;
		*resp = answer->resp;
		free(answer);
	}
	if (mapping && resp->status)
		sim_mem_unmap(shard, proc->client, mapping);
	sim_shard_wake(shard, shard->nic->sim->now_ns);
	return 0;
}

static void chan_wake(void *chan)
{
	struct sim_proc *proc = chan;
	struct sim *sim = proc->nic->sim;

	if (!proc->dead)
		sim_shard_wake(proc->shard, sim->now_ns + sim->config.doorbell_ns);
}

static int chan_wait(void *chan, uint32_t eq, int fd, int timeout_ms)
{
	struct sim_proc *proc = chan;
	struct sim *sim = proc->nic->sim;
	struct wait w = {.proc = proc, .eq = eq};
	uint64_t limit_ns = sim->config.block_ns;
	bool found;

	(void)fd;
	if (eq >= HW_MAX_EQ_PER_CLIENT)
		return -EINTR;
	if (proc->nonblocking)
		return -EAGAIN;
	if (timeout_ms >= 0 && (uint64_t)timeout_ms * 1000000 < limit_ns)
		limit_ns = (uint64_t)timeout_ms * 1000000;
	found = sim_run_until(sim, interrupted, &w, limit_ns);
	proc->irq_pending[eq] = 0;
	if (found)
		return 0;
	return timeout_ms >= 0 ? -ETIMEDOUT : -EINTR;
}

static bool chan_gone(void *chan)
{
	struct sim_proc *proc = chan;

	return proc->dead;
}

/*
 * A process that simulates thousands of others has a long list of mappings; it is not read for
 * memory known to be mapped.
 */
static bool chan_vouches(void *chan, uint64_t addr, uint64_t bytes)
{
	struct sim_proc *proc = chan;

	return proc->any_memory || sim_mem_find(proc, addr, bytes);
}

static void *chan_map_bar(void *chan, int fd, uint64_t bytes)
{
	struct sim_proc *proc = chan;

	(void)fd;
	assert(bytes <= proc->bar_bytes);
	(void)bytes;
	return proc->bar;
}

void sim_shard_detached(struct sim_shard *shard, uint32_t client)
{
	struct sim_leaving *leaving = &shard->leaving[client];
	struct sim_map *map;

	assert(leaving->leaving || !"detached() of a client that does not leave");
	for (map = shard->maps; map; map = map->next)
		assert(map->client != client || !"a client that left kept a mapping");
	if (leaving->bar)
		munmap(leaving->bar, leaving->bar_bytes);
	*leaving = (struct sim_leaving){0};
}

void sim_shard_forget_leaving(struct sim_shard *shard)
{
	uint32_t i;

	for (i = 0; i < SIM_CLIENTS; i++) {
		if (shard->leaving[i].bar)
			munmap(shard->leaving[i].bar, shard->leaving[i].bar_bytes);
		shard->leaving[i] = (struct sim_leaving){0};
	}
}

/* Detaches the process from the NIC, which may continue in later turns. */
static void detach(struct sim_proc *proc)
{
	if (!proc->attached)
		return;
	assert(!proc->shard->in_poll);
	proc->attached = false;
	proc->dead = true; /* nothing more is delivered to it */
	if (!proc->nic->dead) {
		fw_now(proc->shard->fw, sim_nic_clock_ns(proc->nic));
		proc->shard->leaving[proc->client] =
		    (struct sim_leaving){.proc = proc, .leaving = true};
		if (fw_client_detach(proc->shard->fw, proc->client) == FW_DETACH_DONE)
			sim_shard_detached(proc->shard, proc->client);
		sim_shard_wake(proc->shard, proc->nic->sim->now_ns);
	}
	proc->shard->procs[proc->client] = NULL;
}

/* The NIC has its own mapping, which lasts until it has released the client. */
static void unmap_bar(struct sim_proc *proc)
{
	struct sim_leaving *leaving = &proc->shard->leaving[proc->client];

	if (proc->bar && leaving->proc == proc) {
		leaving->bar = proc->bar;
		leaving->bar_bytes = proc->bar_bytes;
		leaving->proc = NULL;
	} else if (proc->bar) {
		munmap(proc->bar, proc->bar_bytes);
	}
	proc->bar = NULL;
}

static void chan_close(void *chan)
{
	struct sim_proc *proc = chan;

	detach(proc);
	unmap_bar(proc);
	proc->context = NULL;
	proc->dead = true;
}

static const struct weft_chan_ops chan_ops = {
    .flags = WEFT_CHAN_F_NO_MEMFD,
    .command = chan_command,
    .wake = chan_wake,
    .wait = chan_wait,
    .gone = chan_gone,
    .map_bar = chan_map_bar,
    .vouches = chan_vouches,
    .close = chan_close,
};

struct sim_proc *sim_proc_new(struct sim_nic *nic, const char *name)
{
	struct sim *sim = nic->sim;
	struct sim_proc *proc = calloc(1, sizeof(*proc));

	assert(proc);
	proc->nic = nic;
	proc->shard = &nic->shard[nic->next_shard++ % nic->num_shards];
	proc->number = sim->procs_made++;
	snprintf(proc->name, sizeof(proc->name), "%s", name);
	proc->next = sim->procs;
	sim->procs = proc;
	return proc;
}

struct weft_context *sim_open(struct sim_proc *proc)
{
	assert(!proc->opened || !"a process opens its NIC once");
	proc->opened = true;
	proc->context = weft_open_channel(&chan_ops, proc, proc->nic->name, 0);
	return proc->context;
}

void sim_proc_kill(struct sim_proc *proc)
{
	detach(proc);
	proc->dead = true;
	sim_proc_settle(proc);
	sim_mem_free_all(proc);
}

void sim_proc_free(struct sim_proc *proc)
{
	struct sim_answer *answer;

	detach(proc);
	free(proc->late_write.data);
	sim_mem_free_all(proc);
	while ((answer = proc->answers)) {
		proc->answers = answer->next;
		free(answer);
	}
	unmap_bar(proc);
	free(proc);
}

bool sim_proc_dead(const struct sim_proc *proc)
{
	return proc->dead;
}

struct sim_nic *sim_proc_nic(const struct sim_proc *proc)
{
	return proc->nic;
}

void *sim_proc_bar(const struct sim_proc *proc, uint64_t *bytes)
{
	if (bytes)
		*bytes = proc->bar_bytes;
	return proc->bar;
}

uint32_t sim_proc_shard(const struct sim_proc *proc)
{
	return proc->shard->index;
}

void sim_proc_on_irq(struct sim_proc *proc, sim_irq_fn fn, void *ctx)
{
	proc->on_irq = fn;
	proc->on_irq_ctx = ctx;
}

void sim_proc_set_nonblocking(struct sim_proc *proc, bool nonblocking)
{
	proc->nonblocking = nonblocking;
}
