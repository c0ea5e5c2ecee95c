/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handling of the XDP program dpdk_app/xdp/weft_xdp.bpf.c. Its object file is part of
 * weftd and handed to net_af_xdp as a memfd, so that there is no file to install or miss.
 * net_af_xdp attaches it and fills xsks_map; until xdp_open() writes the address it takes
 * nothing.
 *
 * Called by wire_netdev.c and wire_ethdev.c; calls libbpf.
 */
#include "dpdk_app/xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/stats.h"
#include "dpdk_app/xdp/weft_xdp.h"
#include "weft_xdp.skel.h"

struct xdp {
	int ifindex;
	uint32_t prog_id;
	int conf_fd;
	int count_fd;
	int groups_fd;
	uint32_t ip;
	int num_cpus;
};

enum {
	XDP_MAPS_MAX = 8,
};

static const char xdp_prog_name[] = "weft_xdp";

int xdp_object(char *path, int *fd)
{
	size_t bytes;
	const void *elf = weft_xdp__elf_bytes(&bytes);
	const uint8_t *from = elf;

	*fd = memfd_create("weft_xdp.bpf.o", MFD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	while (bytes) {
		ssize_t n = write(*fd, from, bytes);

		if (n <= 0) {
			close(*fd);
			return -EIO;
		}
		from += n;
		bytes -= (size_t)n;
	}
	snprintf(path, 40, "/proc/self/fd/%d", *fd);
	return 0;
}

/* The id of the attached program; 0: none. *ours tells whether it is weft's. */
static int xdp_attached(int ifindex, uint32_t *id, bool *ours)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int err, fd;

	*ours = false;
	err = bpf_xdp_query_id(ifindex, 0, id);
	if (err || !*id)
		return err;
	fd = bpf_prog_get_fd_by_id(*id);
	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &bytes);
	close(fd);
	*ours = !err && !strcmp(info.name, xdp_prog_name);
	return err;
}

int xdp_clean(int ifindex)
{
	uint32_t id = 0;
	bool ours;
	int err = xdp_attached(ifindex, &id, &ours);

	if (err || !id)
		return err;
	return ours ? bpf_xdp_detach(ifindex, 0, NULL) : -EBUSY;
}

static int xdp_find_maps(struct xdp *xdp)
{
	uint32_t map_id[XDP_MAPS_MAX];
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int prog_fd = bpf_prog_get_fd_by_id(xdp->prog_id);
	int err;

	if (prog_fd < 0)
		return prog_fd;
	info.map_ids = (uint64_t)(uintptr_t)map_id;
	info.nr_map_ids = XDP_MAPS_MAX;
	err = bpf_obj_get_info_by_fd(prog_fd, &info, &bytes);
	close(prog_fd);
	for (uint32_t i = 0; !err && i < info.nr_map_ids && i < XDP_MAPS_MAX; i++) {
		struct bpf_map_info map = {0};
		uint32_t map_bytes = sizeof(map);
		int fd = bpf_map_get_fd_by_id(map_id[i]);

		if (fd < 0)
			return fd;
		err = bpf_obj_get_info_by_fd(fd, &map, &map_bytes);
		if (!err && !strcmp(map.name, "weft_conf"))
			xdp->conf_fd = fd;
		else if (!err && !strcmp(map.name, "weft_count"))
			xdp->count_fd = fd;
		else if (!err && !strcmp(map.name, "weft_groups"))
			xdp->groups_fd = fd;
		else
			close(fd);
	}
	if (!err && (xdp->conf_fd < 0 || xdp->count_fd < 0 || xdp->groups_fd < 0))
		err = -ENOENT;
	return err;
}

struct xdp *xdp_open(int ifindex, uint32_t ip)
{
	const struct weft_xdp_conf conf = {.ip = ip};
	const uint32_t key = 0;
	struct xdp *xdp = calloc(1, sizeof(*xdp));
	bool ours;
	int err;

	if (!xdp)
		return NULL;
	xdp->ifindex = ifindex;
	xdp->ip = ip;
	xdp->conf_fd = xdp->count_fd = xdp->groups_fd = -1;
	xdp->num_cpus = libbpf_num_possible_cpus();
	err = xdp_attached(ifindex, &xdp->prog_id, &ours);
	if (!err && !ours)
		err = -ENOENT;
	if (!err)
		err = xdp_find_maps(xdp);
	if (!err)
		err = bpf_map_update_elem(xdp->conf_fd, &key, &conf, BPF_ANY);
	if (!err && xdp->num_cpus > 0)
		return xdp;
	xdp_close(xdp);
	errno = err ? -err : EIO;
	return NULL;
}

void xdp_close(struct xdp *xdp)
{
	uint32_t id = 0;
	bool ours;

	/* Not if it is another's by now. */
	if (!xdp_attached(xdp->ifindex, &id, &ours) && ours && id == xdp->prog_id)
		(void)bpf_xdp_detach(xdp->ifindex, 0, NULL);
	if (xdp->conf_fd >= 0)
		close(xdp->conf_fd);
	if (xdp->count_fd >= 0)
		close(xdp->count_fd);
	if (xdp->groups_fd >= 0)
		close(xdp->groups_fd);
	free(xdp);
}

void xdp_group(struct xdp *xdp, uint32_t ip, bool in)
{
	const struct weft_xdp_conf all = {.ip = xdp->ip, .all_groups = 1};
	const uint32_t key = 0, one = 1;

	if (!in)
		(void)bpf_map_delete_elem(xdp->groups_fd, &ip);
	else if (bpf_map_update_elem(xdp->groups_fd, &ip, &one, BPF_ANY))
		(void)bpf_map_update_elem(xdp->conf_fd, &key, &all, BPF_ANY);
}

uint32_t xdp_stats(const struct xdp *xdp, struct hw_stat *stat, uint32_t max)
{
	static const char *const names[WEFT_XDP_COUNTS] = {
	    [WEFT_XDP_TAKEN_UDP] = "taken_udp",     [WEFT_XDP_TAKEN_ARP] = "taken_arp",
	    [WEFT_XDP_TAKEN_ICMP] = "taken_icmp",   [WEFT_XDP_TAKEN_ESP] = "taken_esp",
	    [WEFT_XDP_TAKEN_GROUP] = "taken_group", [WEFT_XDP_PASSED] = "passed",
	};
	uint64_t *value = calloc((size_t)xdp->num_cpus, sizeof(*value));
	uint32_t n = 0;

	for (uint32_t i = 0; value && i < WEFT_XDP_COUNTS && n < max; i++) {
		uint64_t sum = 0;

		if (!bpf_map_lookup_elem(xdp->count_fd, &i, value)) {
			for (int cpu = 0; cpu < xdp->num_cpus; cpu++)
				sum += value[cpu];
		}
		stats_put(&stat[n++], "xdp_", names[i], sum);
	}
	free(value);
	return n;
}
