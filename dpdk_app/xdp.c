/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handling of the XDP program dpdk_app/xdp/weft_xdp.bpf.c. Its object file is part of
 * weftd, so that there is no file to install or miss. Until xdp_start() writes the address it
 * takes nothing.
 *
 * Called by wire_netdev.c, wire_ethdev.c and xsk.c; calls libbpf.
 */
#include "dpdk_app/xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/stats.h"
#include "dpdk_app/xdp/weft_xdp.h"
#include "weft_xdp.skel.h"

struct xdp {
	int ifindex;
	struct bpf_object *object;
	uint32_t prog_id; /* 0: not attached */
	uint32_t mode;    /* XDP_FLAGS_SKB_MODE, or 0: the driver's */
	int conf_fd;
	int count_fd;
	int groups_fd;
	int xsks_fd;
	uint32_t ip;
	int num_cpus;
};

static const char xdp_prog_name[] = "weft_xdp";

/*
 * The id of the attached program; 0: none. *mode becomes what detaching it takes, *ours whether it
 * is weft's.
 */
static int xdp_attached(int ifindex, uint32_t *id, uint32_t *mode, bool *ours)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int err, fd;

	*ours = false;
	err = bpf_xdp_query(ifindex, 0, &query);
	*id = query.prog_id;
	*mode = query.attach_mode == XDP_ATTACHED_SKB ? XDP_FLAGS_SKB_MODE : 0;
	if (!err && query.attach_mode == XDP_ATTACHED_MULTI)
		return -EBUSY; /* one is ours at most */
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
	uint32_t id = 0, mode;
	bool ours;
	int err = xdp_attached(ifindex, &id, &mode, &ours);

	if (err || !id)
		return err;
	return ours ? bpf_xdp_detach(ifindex, mode, NULL) : -EBUSY;
}

static int xdp_load(struct xdp *xdp)
{
	size_t bytes;
	const void *elf = weft_xdp__elf_bytes(&bytes);
	int err;

	xdp->object = bpf_object__open_mem(elf, bytes, NULL);
	if (!xdp->object)
		return -errno;
	err = bpf_object__load(xdp->object);
	if (err)
		return err;
	xdp->conf_fd = bpf_object__find_map_fd_by_name(xdp->object, "weft_conf");
	xdp->count_fd = bpf_object__find_map_fd_by_name(xdp->object, "weft_count");
	xdp->groups_fd = bpf_object__find_map_fd_by_name(xdp->object, "weft_groups");
	xdp->xsks_fd = bpf_object__find_map_fd_by_name(xdp->object, "xsks_map");
	if (xdp->conf_fd < 0 || xdp->count_fd < 0 || xdp->groups_fd < 0 || xdp->xsks_fd < 0)
		return -ENOENT;
	return 0;
}

static int xdp_attach(struct xdp *xdp)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	int fd, err;

	fd = bpf_program__fd(bpf_object__find_program_by_name(xdp->object, xdp_prog_name));
	err = bpf_obj_get_info_by_fd(fd, &info, &bytes);
	if (!err)
		err =
		    bpf_xdp_attach(xdp->ifindex, fd, XDP_FLAGS_UPDATE_IF_NOEXIST | xdp->mode, NULL);
	if (!err)
		xdp->prog_id = info.id;
	return err;
}

struct xdp *xdp_open(int ifindex, bool generic)
{
	struct xdp *xdp = calloc(1, sizeof(*xdp));
	int err;

	if (!xdp)
		return NULL;
	xdp->ifindex = ifindex;
	xdp->mode = generic ? XDP_FLAGS_SKB_MODE : 0;
	xdp->num_cpus = libbpf_num_possible_cpus();
	err = xdp->num_cpus > 0 ? xdp_load(xdp) : -EIO;
	if (!err)
		err = xdp_attach(xdp);
	if (!err)
		return xdp;
	xdp_close(xdp);
	errno = -err;
	return NULL;
}

int xdp_socket(struct xdp *xdp, uint32_t queue, int fd)
{
	return bpf_map_update_elem(xdp->xsks_fd, &queue, &fd, BPF_ANY);
}

int xdp_start(struct xdp *xdp, uint32_t ip)
{
	const struct weft_xdp_conf conf = {.ip = ip};
	const uint32_t key = 0;

	xdp->ip = ip;
	return bpf_map_update_elem(xdp->conf_fd, &key, &conf, BPF_ANY);
}

void xdp_close(struct xdp *xdp)
{
	uint32_t id = 0, mode;
	bool ours;

	/* Not if it is another's by now. */
	if (xdp->prog_id && !xdp_attached(xdp->ifindex, &id, &mode, &ours) && id == xdp->prog_id)
		(void)bpf_xdp_detach(xdp->ifindex, mode, NULL);
	bpf_object__close(xdp->object);
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
	    [WEFT_XDP_TAKEN_UDP] = "taken_udp", [WEFT_XDP_TAKEN_TCP] = "taken_tcp",
	    [WEFT_XDP_TAKEN_ARP] = "taken_arp", [WEFT_XDP_TAKEN_ICMP] = "taken_icmp",
	    [WEFT_XDP_TAKEN_ESP] = "taken_esp", [WEFT_XDP_TAKEN_GROUP] = "taken_group",
	    [WEFT_XDP_PASSED] = "passed",
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
