/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages the XDP program dpdk_app/xdp/weft_xdp.bpf.c. Its object file is embedded in weftd as a
 * skeleton, so there is no file to install. Until xdp_start() writes the address, the program takes
 * no frames.
 *
 * The program is attached through a link (bpf_link), a descriptor of this process: the kernel
 * detaches it when the process ends, even by SIGKILL. Kernels before 5.9 have no such links for
 * XDP. There the interface itself holds the program, and xdp_clean() removes the program of a
 * killed weftd.
 *
 * Calls libbpf and tcp_ports.c.
 */
#include "dpdk_app/wire/xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/control/stats.h"
#include "dpdk_app/wire/tcp_ports.h"
#include "dpdk_app/xdp/weft_xdp.h"
#include "weft_xdp.skel.h"

struct xdp {
	int ifindex;
	struct weft_xdp *skel;
	struct tcp_ports *ports;
	uint32_t ip;
	int link_fd;      /* link of the program; -1: attached to the interface, or not attached */
	uint32_t prog_id; /* 0: not attached */
	bool generic;
	int num_cpus;
	struct weft_xdp_counts *counts; /* one per CPU */
};

static const char xdp_prog_name[] = "weft_xdp";

/* The program attached to an interface. */
struct xdp_found {
	uint32_t id;   /* 0: none */
	uint32_t mode; /* XDP_FLAGS_*_MODE, needed for detaching */
	char name[BPF_OBJ_NAME_LEN];
};

static int xdp_find(int ifindex, struct xdp_found *found)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int err, fd;

	memset(found, 0, sizeof(*found));
	err = bpf_xdp_query(ifindex, 0, &query);
	if (err || !query.attach_mode)
		return err;
	found->id = query.prog_id;
	found->mode = XDP_FLAGS_DRV_MODE;
	if (query.attach_mode == XDP_ATTACHED_SKB)
		found->mode = XDP_FLAGS_SKB_MODE;
	if (query.attach_mode == XDP_ATTACHED_HW)
		found->mode = XDP_FLAGS_HW_MODE;
	if (query.attach_mode == XDP_ATTACHED_MULTI) {
		/* At most one is weftd's. */
		found->id = query.hw_prog_id ? query.hw_prog_id : query.drv_prog_id;
		found->mode = query.hw_prog_id ? XDP_FLAGS_HW_MODE : XDP_FLAGS_DRV_MODE;
	}
	fd = bpf_prog_get_fd_by_id(found->id);
	/*
	 * Its name is readable only with CAP_SYS_ADMIN; without it every program counts as foreign.
	 */
	if (fd == -EPERM) {
		strcpy(found->name, "?");
		return 0;
	}
	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &bytes);
	close(fd);
	memcpy(found->name, info.name, sizeof(found->name));
	return err;
}

int xdp_clean(int ifindex, const char *device, char *why, size_t why_bytes)
{
	const char *word = "xdpdrv";
	struct xdp_found found;
	int err = xdp_find(ifindex, &found);

	if (err || !found.id)
		return err;
	if (!strcmp(found.name, xdp_prog_name)) {
		err = bpf_xdp_detach(ifindex, found.mode, NULL);
		if (!err)
			log_info("%.15s: removed the XDP program of a killed weftd", device);
		if (err != -EBUSY)
			return err;
	}
	if (found.mode == XDP_FLAGS_SKB_MODE)
		word = "xdpgeneric";
	if (found.mode == XDP_FLAGS_HW_MODE)
		word = "xdpoffload";
	snprintf(why, why_bytes,
		 "another XDP program is attached, \"%s\" with id %u; end its owner, or run: ip "
		 "link set dev %.15s %s off",
		 found.name, found.id, device, word);
	return -EBUSY;
}

static int xdp_attach(struct xdp *xdp)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	int fd = bpf_program__fd(xdp->skel->progs.weft_xdp);
	uint32_t mode = xdp->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int err;

	opts.flags = mode;
	xdp->link_fd = bpf_link_create(fd, xdp->ifindex, BPF_XDP, &opts);
	err = xdp->link_fd < 0 ? xdp->link_fd : 0;
	if (err == -EINVAL)
		err = bpf_xdp_attach(xdp->ifindex, fd, XDP_FLAGS_UPDATE_IF_NOEXIST | mode, NULL);
	if (!err)
		err = bpf_obj_get_info_by_fd(fd, &info, &bytes);
	if (err)
		return err;
	xdp->prog_id = info.id;
	return 0;
}

struct xdp *xdp_open(int ifindex, bool generic)
{
	struct xdp *xdp = calloc(1, sizeof(*xdp));
	int err = 0;

	if (!xdp)
		return NULL;
	xdp->ifindex = ifindex;
	xdp->generic = generic;
	xdp->link_fd = -1;
	xdp->num_cpus = libbpf_num_possible_cpus();
	if (xdp->num_cpus > 0)
		xdp->counts = calloc((size_t)xdp->num_cpus, sizeof(*xdp->counts));
	xdp->skel = xdp->counts ? weft_xdp__open_and_load() : NULL;
	if (!xdp->skel)
		err = xdp->counts ? -errno : -ENOMEM;
	if (!err) {
		xdp->ports = tcp_ports_new(xdp->skel->bss->weft_tcp_ports);
		err = xdp->ports ? xdp_attach(xdp) : -ENOMEM;
	}
	if (!err)
		return xdp;
	xdp_close(xdp);
	errno = -err;
	return NULL;
}

int xdp_socket(struct xdp *xdp, uint32_t queue, int fd)
{
	return bpf_map__update_elem(xdp->skel->maps.xsks_map, &queue, sizeof(queue), &fd,
				    sizeof(fd), BPF_ANY);
}

void xdp_start(struct xdp *xdp, uint32_t ip, bool shared)
{
	xdp->ip = ip;
	xdp_share(xdp, shared);
	__atomic_store_n(&xdp->skel->bss->weft_conf.ip, ip, __ATOMIC_RELEASE);
}

bool xdp_generic(const struct xdp *xdp)
{
	return xdp->generic;
}

void xdp_close(struct xdp *xdp)
{
	struct xdp_found found;

	if (xdp->link_fd >= 0)
		close(xdp->link_fd);
	else if (xdp->prog_id && !xdp_find(xdp->ifindex, &found) && found.id == xdp->prog_id &&
		 bpf_xdp_detach(xdp->ifindex, found.mode, NULL))
		log_info("the XDP program stays on its interface until weftd starts again: this "
			 "kernel has no BPF links, and the privilege to detach it was dropped");
	if (xdp->ports)
		tcp_ports_free(xdp->ports);
	weft_xdp__destroy(xdp->skel);
	free(xdp->counts);
	free(xdp);
}

void xdp_group(struct xdp *xdp, uint32_t ip, bool in)
{
	const uint32_t one = 1;
	const struct bpf_map *groups = xdp->skel->maps.weft_groups;

	if (!in)
		(void)bpf_map__delete_elem(groups, &ip, sizeof(ip), BPF_ANY);
	else if (bpf_map__update_elem(groups, &ip, sizeof(ip), &one, sizeof(one), BPF_ANY))
		__atomic_store_n(&xdp->skel->bss->weft_conf.all_groups, 1, __ATOMIC_RELEASE);
}

void xdp_share(struct xdp *xdp, bool shared)
{
	struct weft_xdp_conf *conf = &xdp->skel->bss->weft_conf;
	uint32_t lost = tcp_ports_share(xdp->ports, shared ? xdp->ip : 0);

	if (lost)
		log_error("%u TCP ports of the NIC are used by programs of the kernel's stack at "
			  "the same address, or cannot be reserved: the NIC's listeners and "
			  "connections there get no more frames; move them to other ports",
			  lost);
	__atomic_store_n(&conf->shared, shared, __ATOMIC_RELEASE);
}

int xdp_tcp_port(struct xdp *xdp, uint16_t port, bool in)
{
	if (in)
		return tcp_ports_take(xdp->ports, port);
	tcp_ports_give(xdp->ports, port);
	return 0;
}

static const char *const xdp_names[WEFT_XDP_COUNTS] = {
    [WEFT_XDP_TAKEN_UDP] = "taken_udp",
    [WEFT_XDP_TAKEN_TCP] = "taken_tcp",
    [WEFT_XDP_TAKEN_ARP] = "taken_arp",
    [WEFT_XDP_TAKEN_ICMP] = "taken_icmp",
    [WEFT_XDP_TAKEN_ESP] = "taken_esp",
    [WEFT_XDP_TAKEN_GROUP] = "taken_group",
    [WEFT_XDP_PASSED_IDLE] = "passed_idle",
    [WEFT_XDP_PASSED_TYPE] = "passed_type",
    [WEFT_XDP_PASSED_SHORT] = "passed_short",
    [WEFT_XDP_PASSED_ARP] = "passed_arp",
    [WEFT_XDP_PASSED_ADDRESS] = "passed_address",
    [WEFT_XDP_PASSED_GROUP] = "passed_group",
    [WEFT_XDP_PASSED_PROTO] = "passed_proto",
    [WEFT_XDP_PASSED_PORT] = "passed_port",
    [WEFT_XDP_PASSED_FRAGMENT] = "passed_fragment",
    [WEFT_XDP_PASSED_HEADER] = "passed_header",
    [WEFT_XDP_DROPPED_FRAGMENT] = "dropped_fragment",
    [WEFT_XDP_DROPPED_HEADER] = "dropped_header",
    [WEFT_XDP_DROPPED_SHORT] = "dropped_short",
    [WEFT_XDP_DROPPED_NO_SOCKET] = "dropped_no_socket",
};

bool xdp_maps_open(const struct xdp *xdp)
{
	const uint32_t key = 0;

	return !bpf_map__lookup_elem(xdp->skel->maps.weft_count, &key, sizeof(key), xdp->counts,
				     (size_t)xdp->num_cpus * sizeof(*xdp->counts), 0);
}

uint32_t xdp_stats(const struct xdp *xdp, struct hw_stat *stat, uint32_t max)
{
	uint64_t sum[WEFT_XDP_COUNTS] = {0}, taken = 0, passed = 0, dropped = 0;
	struct tcp_ports_counts ports;
	const uint32_t key = 0;
	uint32_t n = 0;

	if (max < WEFT_XDP_COUNTS + 11)
		return 0;
	/* The first entry of an array always exists. */
	if (!bpf_map__lookup_elem(xdp->skel->maps.weft_count, &key, sizeof(key), xdp->counts,
				  (size_t)xdp->num_cpus * sizeof(*xdp->counts), 0)) {
		for (int cpu = 0; cpu < xdp->num_cpus; cpu++) {
			for (uint32_t i = 0; i < WEFT_XDP_COUNTS; i++)
				sum[i] += xdp->counts[cpu].n[i];
		}
	}
	for (uint32_t i = 0; i < WEFT_XDP_COUNTS; i++) {
		uint64_t *all = i < WEFT_XDP_PASSED_FIRST    ? &taken
				: i < WEFT_XDP_DROPPED_FIRST ? &passed
							     : &dropped;

		*all += sum[i];
	}
	tcp_ports_count(xdp->ports, &ports);
	stats_put(&stat[n++], "xdp_", "prog_id", xdp->prog_id);
	stats_put(&stat[n++], "xdp_", "generic", xdp->generic);
	stats_put(&stat[n++], "xdp_", "shared_address", xdp->skel->bss->weft_conf.shared);
	stats_put(&stat[n++], "xdp_", "tcp_ports", ports.taken);
	stats_put(&stat[n++], "xdp_", "tcp_ports_reserved", ports.reserved);
	stats_put(&stat[n++], "xdp_", "tcp_ports_lost", ports.lost);
	stats_put(&stat[n++], "xdp_", "tcp_ports_refused", ports.refused);
	stats_put(&stat[n++], "xdp_", "taken", taken);
	stats_put(&stat[n++], "xdp_", "passed", passed);
	stats_put(&stat[n++], "xdp_", "dropped", dropped);
	for (uint32_t i = 0; i < WEFT_XDP_COUNTS; i++)
		stats_put(&stat[n++], "xdp_", xdp_names[i], sum[i]);
	return n;
}
