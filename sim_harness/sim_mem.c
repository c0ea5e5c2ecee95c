/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the simulated processes, and the NICs' mappings of it.
 *
 * Addresses appear in frames (tagged offsets), so they must not depend on the machine: all process
 * memory comes from one window at a fixed address, in the order of the calls. Memory that a NIC may
 * map is in a memfd. Each registration gets its own mapping, which is unmapped when the firmware
 * releases it. A frame built from it afterwards then faults at once instead of reading stale bytes.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Unused by allocators and sanitizers on x86-64 and aarch64. */
#define WINDOW_BASE  UINT64_C(0x200000000000)
#define WINDOW_BYTES (UINT64_C(1) << 38)

enum {
	PAGE_BYTES = 4096,
	WINDOW_SLOTS = 16, /* simulations per process that can have a window at a time */
};

int sim_mem_init(struct sim *sim)
{
	uint64_t slot;

	sim->memfd = memfd_create("weft-sim", MFD_CLOEXEC);
	if (sim->memfd < 0)
		return -1;
	for (slot = 0; slot < WINDOW_SLOTS; slot++) {
		void *want = (void *)(uintptr_t)(WINDOW_BASE + slot * WINDOW_BYTES);
		void *got =
		    mmap(want, WINDOW_BYTES, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

		if (got == want) {
			sim->window = got;
			return 0;
		}
		if (got != MAP_FAILED)
			munmap(got, WINDOW_BYTES);
	}
	close(sim->memfd);
	return -1;
}

void sim_mem_close(struct sim *sim)
{
	munmap(sim->window, WINDOW_BYTES);
	close(sim->memfd);
}

/* Maps pages for a region of the window: from the memfd, or private. */
static bool back(struct sim *sim, struct sim_mem *mem)
{
	bool shared = mem->offset != UINT64_MAX;
	int flags = MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);

	mem->addr = mmap(mem->addr, mem->bytes, PROT_READ | PROT_WRITE, flags,
			 shared ? sim->memfd : -1, shared ? (off_t)mem->offset : 0);
	return mem->addr != MAP_FAILED;
}

/* Takes pages of the memfd. */
static bool take_shared(struct sim *sim, struct sim_mem *mem)
{
	if (ftruncate(sim->memfd, (off_t)(sim->memfd_bytes + mem->bytes)))
		return false;
	mem->offset = sim->memfd_bytes;
	sim->memfd_bytes += mem->bytes;
	return true;
}

bool sim_mem_move(struct sim_proc *proc, struct sim_mem *mem)
{
	struct sim *sim = proc->nic->sim;

	assert((uintptr_t)mem->addr % PAGE_BYTES == 0 && mem->bytes % PAGE_BYTES == 0);
	if (!take_shared(sim, mem) ||
	    pwrite(sim->memfd, mem->addr, mem->bytes, (off_t)mem->offset) != (ssize_t)mem->bytes)
		return false;
	return back(sim, mem);
}

void *sim_mem_alloc(struct sim_proc *proc, size_t bytes, bool mapped)
{
	struct sim *sim = proc->nic->sim;
	size_t whole = (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	struct sim_mem *mem;

	/* An inaccessible guard page follows each region. */
	if (!bytes || whole + PAGE_BYTES > WINDOW_BYTES - sim->window_used)
		return NULL;
	assert(proc->num_mem < SIM_MEM_REGIONS);
	mem = &proc->mem[proc->num_mem];
	mem->addr = sim->window + sim->window_used;
	mem->bytes = whole;
	mem->offset = UINT64_MAX;
	if (mapped && !sim->config.no_host_map && !take_shared(sim, mem))
		return NULL;
	if (!back(sim, mem))
		return NULL;
	sim->window_used += whole + PAGE_BYTES;
	proc->num_mem++;
	return mem->addr;
}

static void unmap(const struct sim_mem *mem)
{
	void *got = mmap(mem->addr, mem->bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	assert(got == mem->addr);
	(void)got;
}

void sim_mem_free(struct sim_proc *proc, void *addr)
{
	uint32_t i;

	for (i = 0; i < proc->num_mem; i++) {
		if (proc->mem[i].addr == addr) {
			unmap(&proc->mem[i]);
			proc->mem[i] = proc->mem[--proc->num_mem];
			return;
		}
	}
	assert(!"sim_mem_free of an address that sim_mem_alloc did not give");
}

void sim_mem_free_all(struct sim_proc *proc)
{
	while (proc->num_mem)
		unmap(&proc->mem[--proc->num_mem]);
}

struct sim_mem *sim_mem_find(struct sim_proc *proc, uint64_t addr, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < proc->num_mem; i++) {
		uint64_t start = (uintptr_t)proc->mem[i].addr;

		if (addr >= start && addr - start <= proc->mem[i].bytes &&
		    bytes <= proc->mem[i].bytes - (addr - start))
			return &proc->mem[i];
	}
	return NULL;
}

bool sim_mem_reach(struct sim_proc *proc, uint64_t addr, uint64_t bytes)
{
	return proc->any_memory || sim_mem_find(proc, addr, bytes);
}

void sim_proc_any_memory(struct sim_proc *proc)
{
	proc->any_memory = true;
}

void sim_proc_move_memory(struct sim_proc *proc)
{
	proc->any_memory = true;
	proc->moves = true;
}

void *sim_mem_map(struct sim_shard *shard, uint32_t client, const struct sim_mem *mem)
{
	struct sim_map *map;
	void *got;

	assert(mem->offset != UINT64_MAX);
	got = mmap(NULL, mem->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shard->nic->sim->memfd,
		   (off_t)mem->offset);
	if (got == MAP_FAILED)
		return NULL;
	map = calloc(1, sizeof(*map));
	assert(map);
	map->client = client;
	map->addr = got;
	map->bytes = mem->bytes;
	map->next = shard->maps;
	shard->maps = map;
	shard->nic->counts.maps++;
	return got;
}

bool sim_mem_unmap(struct sim_shard *shard, uint32_t client, void *mapping)
{
	struct sim_map **at, *map;

	for (at = &shard->maps; (map = *at); at = &map->next) {
		if (map->addr != mapping || map->client != client)
			continue;
		assert(!sim_loan_reaches(shard, map->addr, map->bytes) ||
		       !"a mapping is given back that a frame under way reads");
		*at = map->next;
		munmap(map->addr, map->bytes);
		free(map);
		shard->nic->counts.unmaps++;
		return true;
	}
	return false;
}
