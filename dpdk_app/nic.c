/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs: their parts are created and destroyed: packet pool, wire, rings, firmware instances.
 *
 * Calls frame_pool.c, wire_*.c, port_rx.c and fw_init().
 */
#include "dpdk_app/nic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/firmware.h"
#include "dpdk_app/frame_pool.h"
#include "dpdk_app/wire/faults.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/mac_filter.h"
#include "dpdk_app/borrow.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/port.h"
#include "dpdk_app/tsan.h"
#include "dpdk_app/wire/switch_hold.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_eth.h"

enum {
	NIC_POOL_CACHE = 256,
	NIC_POOL_SPARE = 2048,    /* held by the firmware or in transit */
	NIC_POOL_PORT = 8192,     /* descriptors of a port, and waiting frames */
	NIC_POOL_PER_SHARD = 256, /* a core's working set */
	/*
	 * A chunk of AF_XDP's memory is at most a page and holds a whole mempool object: its
	 * header, the mbuf, and a line with which DPDK spreads objects over memory channels.
	 */
	NIC_XDP_BUFFER = 4096 - 3 * 64 - 64,
	NIC_MEMORY_SPARE = 64 << 20,
	NIC_ADDED_BYTES = 96 << 20, /* pool of a NIC that is added later */
	NIC_SPARE_PART = 8,         /* of the machine's memory: for all of them */
	NIC_PAGE_BYTES = 4096,
	NIC_CARD_BUFFER = 2048,
	NIC_CARD_EXTRA = 32, /* tags, FCS, and what virtio puts before a frame */
};

void *app_alloc_apart(size_t bytes)
{
	size_t room = (bytes + APP_APART_BYTES - 1) / APP_APART_BYTES * APP_APART_BYTES;
	void *memory = aligned_alloc(APP_APART_BYTES, room);

	return memory ? memset(memory, 0, room) : NULL;
}

static uint32_t nic_buffer_bytes(const struct nic *nic)
{
	uint32_t frame = nic->mtu + (uint32_t)sizeof(struct wire_eth);

	if (nic->conf->wire == CONF_WIRE_NETDEV)
		return nic->mtu <= WIRE_XDP_MAX_MTU
			   ? NIC_XDP_BUFFER
			   : RTE_PKTMBUF_HEADROOM + WIRE_PACKET_FRAME_LARGE;
	/* Cards count buffers in KiB and leave room for tags; some want 1,646 bytes at least. */
	if (nic->conf->wire == CONF_WIRE_PCI)
		return RTE_PKTMBUF_HEADROOM + (frame + NIC_CARD_EXTRA <= NIC_CARD_BUFFER
						   ? NIC_CARD_BUFFER
						   : (frame + NIC_CARD_EXTRA + 1023) / 1024 * 1024);
	return RTE_PKTMBUF_HEADROOM + (frame + 4 + 63) / 64 * 64;
}

/*
 * The NICs of the switch come first and pass frames to each other, so those of the configuration
 * share one pool.
 */
static bool nic_shares_pool(const struct nic *nic)
{
	return nic->conf->wire == CONF_WIRE_SWITCH && nic->index > 0 && !nic->added;
}

/* Frames that a shard's lanes can hold, and its core's working set. */
static uint32_t nic_shard_frames(const struct nic *nic)
{
	uint32_t senders = (uint32_t)__builtin_popcountll(nic->senders);

	return NIC_POOL_PER_SHARD + (senders ? senders * lanes_slots(senders) : LANES_FRAMES);
}

/* Frames that the shards of a NIC of the switch can hold. */
static uint32_t nic_switch_frames(const struct nic *nic)
{
	bool faulty = conf_faulty(&nic->app->conf);

	return nic->num_shards * (nic_shard_frames(nic) + SWITCH_HOLD_TOTAL +
				  (faulty ? (uint32_t)IMPAIR_QUEUE_MAX : 0));
}

static uint32_t nic_pool_frames(const struct nic *nic)
{
	const struct app *app = nic->app;
	uint32_t n = NIC_POOL_SPARE + 2 * NIC_POOL_CACHE * app->num_cores;

	if (nic->conf->wire != CONF_WIRE_SWITCH)
		return n + NIC_POOL_PORT + nic_shard_frames(nic) * nic->num_shards;
	if (nic->added)
		return n + nic_switch_frames(nic);
	for (uint32_t i = 0; i < app->conf.num_switch_nics; i++)
		n += nic_switch_frames(&app->nic[i]);
	return n;
}

/*
 * Bytes of a buffer with its headers. DPDK lets no object cross a page unless it is larger than
 * one.
 */
static uint64_t nic_frame_bytes(const struct nic *nic)
{
	uint64_t bytes = nic_buffer_bytes(nic) + sizeof(struct rte_mbuf) + 2 * 64;

	if (bytes > NIC_PAGE_BYTES)
		return (bytes + NIC_PAGE_BYTES - 1) / NIC_PAGE_BYTES * NIC_PAGE_BYTES;
	return NIC_PAGE_BYTES / (NIC_PAGE_BYTES / bytes);
}

uint64_t nic_memory_bytes(const struct app *app)
{
	uint64_t bytes = NIC_MEMORY_SPARE + (uint64_t)app->num_cores * MSG_CORE_RING * 8;

	for (uint32_t i = 0; i < app->num_nics; i++) {
		const struct nic *nic = &app->nic[i];

		if (!nic_shares_pool(nic))
			bytes += nic_pool_frames(nic) * (nic_frame_bytes(nic) + 32);
		bytes += (uint64_t)nic->num_shards * HW_MAX_MR * 2 * 8;
	}
	return bytes;
}

uint64_t nic_spare_bytes(const struct app *app)
{
	uint64_t bytes = (uint64_t)app->conf.spare_nics * NIC_ADDED_BYTES;
	/* The kernel refuses a mapping that is larger than the machine's memory. */
	uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * NIC_PAGE_BYTES / NIC_SPARE_PART;

	return bytes < most ? bytes : most;
}

static void shard_ring_name(const struct shard *shard, const char *what,
			    char name[RTE_RING_NAMESIZE])
{
	snprintf(name, RTE_RING_NAMESIZE, "%s_%s_%u", what, shard->nic->name, shard->number);
}

static int shard_rings(struct shard *shard)
{
	char name[RTE_RING_NAMESIZE];
	int err;

	shard_ring_name(shard, "unmap", name);
	shard->unmap = rte_ring_create(name, HW_MAX_MR, SOCKET_ID_ANY,
				       RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (!shard->unmap)
		return -ENOMEM;
	err = lanes_init(&shard->loop, nic_cores(shard->nic));
	return err ? err : lanes_init(&shard->in, shard->nic->senders);
}

static int nic_wire(struct nic *nic)
{
	int err = -EINVAL;

	switch (nic->conf->wire) {
	case CONF_WIRE_SWITCH:
		err = wire_switch_open(nic);
		break;
	case CONF_WIRE_NETDEV:
		err = wire_netdev_open(nic);
		break;
	case CONF_WIRE_MEMIF:
		err = wire_memif_open(nic);
		break;
	case CONF_WIRE_TAP:
		err = wire_tap_open(nic);
		break;
	case CONF_WIRE_PCI:
		err = wire_pci_open(nic);
		break;
	case CONF_WIRE_NONE:
		break;
	}
	return err;
}

static uint64_t nic_cycles(void)
{
	return rte_rdtsc();
}

void *nic_arena(const struct nic *nic, size_t bytes)
{
	void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (arena != MAP_FAILED)
		return arena;
	log_error("%s needs %zu MiB of address space for the tables of each shard and uses little "
		  "of it: raise `ulimit -v`, or vm.overcommit_ratio if vm.overcommit_memory is 2",
		  nic->name, bytes >> 20);
	return NULL;
}

static int shard_firmware(struct shard *shard)
{
	struct nic *nic = shard->nic;
	struct app *app = nic->app;
	struct fw_config config = {
	    .ip_prefix = nic->conf->ip_prefix,
	    .nic_index = (uint8_t)nic->index,
	    .shard = (uint8_t)shard->number,
	    .num_shards = (uint8_t)nic->num_shards,
	    .num_coll_shards = (uint8_t)nic->num_coll,
	    .mtu = (uint16_t)nic->mtu,
	    .ip = nic->conf->ip,
	    .gateway = nic->conf->gateway,
	    .link_mbps = nic->link_mbps,
	    .switch_id = nic->wire->switch_id,
	    .cc_off = app->conf.no_cc,
	    .bundle = !app->conf.no_bundle,
	    .rd_awake = FW_RD_AWAKE,
	    .tcp_awake = FW_TCP_AWAKE,
	    .esp_burst = app->conf.esp_burst,
	    .esp_initial_burst = app->conf.esp_initial_burst,
	    .mpa = app->conf.mpa,
	};
	struct fw_port port;
	const char *name;
	uint64_t value;
	int err;

	coalesce_of_nic(&app->conf, nic->index, config.coalesce);
	memcpy(config.name, nic->name, sizeof(config.name));
	memcpy(config.mac, nic->mac, sizeof(config.mac));
	for (uint32_t i = 0; i < app->num_nics; i++)
		config.nic_ip[i] = app->nic[i].conf->ip;
	err = port_init(shard, &port);
	if (err)
		return err;
	config.hash_secret[0] = port.random64(port.ctx) | 1;
	config.hash_secret[1] = port.random64(port.ctx) | 1;
	shard->arena_bytes = fw_arena_bytes();
	shard->arena = nic_arena(nic, shard->arena_bytes);
	if (!shard->arena)
		return -ENOMEM;
	shard->fw = fw_init(&config, &port, shard->arena, shard->arena_bytes);
	if (!shard->fw)
		return -EINVAL;
	shard->ops = &firmware_current()->ops;
	/* weftd's own made it; another may run since an upgrade. */
	if (nic->added)
		shard->ops->adopt(shard->fw);
	shard->link_up = true; /* the firmware's initial assumption */
	shard->stages = nic->app->conf.stages;
	if (shard->stages)
		fw_set_clock(shard->fw, nic_cycles);
	while (fw_stat(shard->fw, shard->num_fw_stats, &name, &value))
		shard->num_fw_stats++;
	return 0;
}

/* The faults of the configuration. */
static int nic_first_faults(struct nic *nic)
{
	struct hw_fault fault;

	conf_fault_of(&nic->app->conf, nic->index, &fault);
	return fault_wanted(&fault) ? faults_set(nic, &fault, false) : 0;
}

/* A pool of the NIC's own; one that it had on the switch before, and that other NICs may use. */
static struct rte_mempool *nic_pool(struct nic *nic)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *kept = nic->switch_pool;
	bool on_switch = nic->conf->wire == CONF_WIRE_SWITCH;

	if (nic_shares_pool(nic))
		return nic->app->nic[0].pool;
	if (on_switch && kept && rte_pktmbuf_data_room_size(kept) >= nic_buffer_bytes(nic))
		return kept;
	if (on_switch && kept) {
		log_nic_error(nic->name,
			      "frames of this NIC's number were made for a smaller MTU: systemctl "
			      "restart weftd");
		return NULL;
	}
	snprintf(name, sizeof(name), "%s_%s", on_switch ? "pool" : "port", nic->name);
	kept = frame_pool_new(name, nic_pool_frames(nic), TSAN_POOL_CACHE(NIC_POOL_CACHE),
			      (uint16_t)nic_buffer_bytes(nic));
	if (!kept)
		log_nic_error(nic->name,
			      "no memory for %u frames; free some, or use a smaller --mtu",
			      nic_pool_frames(nic));
	if (on_switch)
		nic->switch_pool = kept;
	return kept;
}

int nic_open(struct nic *nic)
{
	int err = 0;

	nic->pool = nic_pool(nic);
	if (!nic->pool)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < nic->num_shards; i++)
		err = shard_rings(&nic->shard[i]);
	if (!err)
		err = mac_filter_init(nic);
	nic->cm_ports = calloc(FW_CM_PORT_WORDS, sizeof(*nic->cm_ports));
	if (!err && !nic->cm_ports)
		err = -ENOMEM;
	if (!err)
		err = nic_wire(nic);
	nic->ip_mtu = nic->mtu;
	for (uint32_t i = 0; !err && i < nic->num_shards; i++)
		err = shard_firmware(&nic->shard[i]);
	return err ? err : nic_first_faults(nic);
}

void nic_join(struct nic *nic)
{
	struct core *core = nic->shard[0].core;

	core->wire[core->num_wires++] = nic->wire;
	nic->on_switch = nic->conf->wire == CONF_WIRE_SWITCH;
}

int nic_open_all(struct app *app)
{
	int err = borrow_init();

	for (uint32_t i = 0; !err && i < app->num_nics; i++) {
		err = nic_open(&app->nic[i]);
		if (!err)
			nic_join(&app->nic[i]);
		else
			log_error("%s cannot be created: %s", app->nic[i].name, strerror(-err));
	}
	return err;
}

static void shard_close(struct shard *shard)
{
	borrow_drop(shard);
	if (shard->arena)
		munmap(shard->arena, shard->arena_bytes);
	lanes_free(&shard->in);
	lanes_free(&shard->loop);
	rte_pktmbuf_free_bulk(shard->rest, shard->num_rest);
	shard->num_rest = 0;
	rte_ring_free(shard->unmap);
	rte_pktmbuf_free_bulk(shard->backlog, shard->num_backlog);
	faults_free(shard);
}

void nic_close(struct nic *nic)
{
	if (nic->listen_fd >= 0) {
		(void)unlinkat(nic->app->run_fd, nic->name, 0);
		close(nic->listen_fd);
		nic->listen_fd = -1;
	}
	if (nic->wire)
		nic->wire->ops->close(nic->wire);
	nic->wire = NULL;
	for (uint32_t s = 0; s < nic->num_shards; s++)
		shard_close(&nic->shard[s]);
	mac_filter_free(nic);
	free(nic->cm_ports);
	nic->cm_ports = NULL;
}

void nic_free_pool(struct nic *nic)
{
	if (nic->conf->wire != CONF_WIRE_SWITCH)
		rte_mempool_free(nic->pool);
	nic->pool = NULL;
}

void nic_close_all(struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++)
		nic_close(&app->nic[i]);
	/* Frames move between NICs: free the pools only when no ring holds any. */
	for (uint32_t i = 0; i < app->num_nics; i++) {
		nic_free_pool(&app->nic[i]);
		rte_mempool_free(app->nic[i].switch_pool);
	}
}
