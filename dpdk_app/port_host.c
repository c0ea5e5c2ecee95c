/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host services for the firmware other than frames: unmapped process memory, interrupts, release of
 * pages, random numbers.
 *
 * Memory is accessed through the process's /proc/self/mem, which it sent when it attached
 * (client_mem.c). The descriptor refers to that address space: a reused pid or a program started by
 * exec cannot take its place, and it fails once the address space is gone. The process's worker
 * copies (hostcopy.c), so a core never waits for a page.
 *
 * Runs on the shard's core; calls irq.c and the kernel.
 */
#include "dpdk_app/port.h"

#include <errno.h>
#include <rte_ring.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/client/client.h"
#include "dpdk_app/client/hostcopy.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/mac_filter.h"
#include "dpdk_app/native.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/wire/wire.h"

/* Returns the worker of a client whose memory can still be accessed, otherwise NULL. */
static struct hostcopy *host_copy(struct shard *shard, uint32_t client, uint64_t addr,
				  uint32_t bytes)
{
	const struct client *c = client < HW_MAX_CLIENTS ? shard->client[client] : NULL;

	if (!c || !c->copy || atomic_load_explicit(&c->dead, memory_order_relaxed))
		return NULL;
	/* Beyond this, the offset of pread() would be negative; no user address is that large. */
	return addr > (uint64_t)INT64_MAX - bytes ? NULL : c->copy;
}

int port_host_read(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	struct shard *shard = ctx;
	struct hostcopy *copy = host_copy(shard, client, addr, bytes);
	int err = copy ? hostcopy_read(copy, dst, addr, bytes, &shard->stats.host) : -EFAULT;

	shard->stats.host_reads++;
	if (err == -EFAULT)
		shard->stats.host_faults++;
	return err;
}

static int port_host_write(void *ctx, uint32_t client, uint64_t addr, const void *src,
			   uint32_t bytes)
{
	struct shard *shard = ctx;
	struct hostcopy *copy = host_copy(shard, client, addr, bytes);
	int err = copy ? hostcopy_write(copy, addr, src, bytes, &shard->stats.host) : -EFAULT;

	shard->stats.host_writes++;
	if (err == -EFAULT)
		shard->stats.host_faults++;
	return err;
}

static int port_host_atomic(void *ctx, uint32_t client, uint64_t addr, const struct fw_atomic *op,
			    uint64_t *original)
{
	struct shard *shard = ctx;
	struct hostcopy *copy = host_copy(shard, client, addr, hw_atomic_bytes(op->type));
	int err = copy ? hostcopy_atomic(copy, addr, op, original, &shard->stats.host) : -EFAULT;

	shard->stats.host_atomics++;
	if (err == -EFAULT)
		shard->stats.host_faults++;
	return err;
}

static int port_host_atomic_over(void *ctx, uint32_t client, uint64_t *original)
{
	struct shard *shard = ctx;
	struct hostcopy *copy = host_copy(shard, client, 0, 0);
	int err = copy ? hostcopy_atomic_over(copy, original) : -EFAULT;

	if (err == -EFAULT)
		shard->stats.host_faults++;
	return err;
}

static uint64_t port_host_late(void *ctx, uint32_t client, uint64_t since)
{
	struct hostcopy *copy = host_copy(ctx, client, 0, 0);

	return copy ? hostcopy_late(copy, since) : 0;
}

static void port_irq(void *ctx, uint32_t client, uint32_t eq)
{
	struct shard *shard = ctx;
	struct client *c = client < HW_MAX_CLIENTS ? shard->client[client] : NULL;

	if (!c || eq >= HW_MAX_EQ_PER_CLIENT || c->eq_fd[eq] < 0)
		return;
	shard->stats.irqs++;
	shard->stats.irq_submits += irq_raise(&shard->core->irqs, &c->irqs, eq);
}

static void port_mem_unmap(void *ctx, uint32_t client, void *mapping)
{
	struct shard *shard = ctx;

	(void)client;
	/* The ring has room for a shard's maximum (client_cmd.c counts). */
	if (rte_ring_sp_enqueue(shard->unmap, mapping))
		log_error("a mapping of %s stays mapped: the unmap queue is full",
			  shard->nic->name);
	else
		app_wake_control(shard->nic->app);
}

static void port_native_free(void *ctx, void *native)
{
	(void)ctx;
	native_free(native);
}

static void port_arena_release(void *ctx, void *addr, size_t bytes)
{
	(void)ctx;
	/* On failure the pages stay, which is harmless. */
	(void)madvise(addr, bytes, MADV_DONTNEED);
}

/* EQ 0's memory was taken before the core knew the client: client_cmd.c. */
static bool port_bar_take(void *ctx, uint32_t client, uint64_t bytes, struct hw_resp_quota *quota)
{
	struct shard *shard = ctx;
	struct client *c = client < HW_MAX_CLIENTS ? shard->client[client] : NULL;

	if (!c)
		return true;
	if (user_take(c->account, HW_SHARE_BYTES, bytes, quota))
		return false;
	c->bar_taken_bytes += bytes;
	return true;
}

/*
 * One record suffices: the control thread reads it when the command comes back, and a command
 * creates at most one. A lost record only costs page faults.
 */
static void port_bar_ahead(void *ctx, uint32_t client, uint64_t offset, uint64_t bytes)
{
	struct shard *shard = ctx;
	struct client *c = client < HW_MAX_CLIENTS ? shard->client[client] : NULL;

	/* During ATTACH the core does not know the client yet. */
	if (!c)
		c = shard->attaching;
	if (!c || offset % HOSTMEM_PAGE_BYTES || bytes / HOSTMEM_PAGE_BYTES >= HOSTMEM_PAGE_BYTES)
		return;
	atomic_store_explicit(&c->bar_ahead, offset | bytes / HOSTMEM_PAGE_BYTES,
			      memory_order_release);
}

/* Makes no system call, because cores draw one for each new region. */
static uint64_t port_random64(void *ctx)
{
	struct shard *shard = ctx;

	return random_next(&shard->random);
}

static int port_tcp_port(void *ctx, uint16_t port, bool in)
{
	const struct shard *shard = ctx;
	struct wire *wire = shard->nic->wire;

	return wire->ops->tcp_port ? wire->ops->tcp_port(wire, port, in) : 0;
}

static uint64_t port_clock_ns(void *ctx)
{
	(void)ctx;
	return app_clock_ns();
}

/* The owner of the core, which calls. */
static uint32_t port_poll_cpu(void *ctx)
{
	const struct shard *shard = ctx;
	const struct core *core = shard->core;
	uint32_t owner =
	    atomic_load_explicit(&core->owner, memory_order_relaxed) & ~(uint32_t)RUNNER_LOOK;

	return owner ? 1 + (uint32_t)core->runner[owner - 1].cpu : 0;
}

int port_init(struct shard *shard, struct fw_port *port)
{
	int err = random_init(&shard->random);

	if (err)
		return err;
	*port = (struct fw_port){
	    .ctx = shard,
	    .rx_burst = port_rx_burst,
	    .rx_free = port_rx_free,
	    .rx_release = port_rx_release,
	    .rx_copy = port_rx_copy,
	    .place = port_place,
	    .tx_burst = port_tx_burst,
	    .tx_settle = port_tx_settle,
	    .tx_settle_mem = port_tx_settle_mem,
	    .tx_run = port_tx_run,
	    .tx_room = shard->nic->conf->wire == CONF_WIRE_PCI ? port_tx_room : NULL,
	    .host_read = port_host_read,
	    .host_write = port_host_write,
	    .host_atomic = port_host_atomic,
	    .host_atomic_over = port_host_atomic_over,
	    .host_late = port_host_late,
	    .irq = port_irq,
	    .cmd_done = msg_cmd_done,
	    .detached = msg_detached,
	    .mem_unmap = port_mem_unmap,
	    .native_free = port_native_free,
	    .mac_filter = mac_filter_set,
	    .cm_ports = shard->nic->cm_ports,
	    .tcp_port = port_tcp_port,
	    .arena_release = port_arena_release,
	    .bar_take = port_bar_take,
	    .bar_ahead = port_bar_ahead,
	    .clock_ns = port_clock_ns,
	    .poll_cpu = port_poll_cpu,
	    .random64 = port_random64,
	    .crc32c = accel_crc32c,
	    .copy_crc32c = accel_copy_crc32c,
	};
	return 0;
}
