/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire that loses one frame in a hundred: the kernel's side of the file transfer of make run.
 *
 * tools/run/kernel.sh attaches it to both ends of a veth. XDP is used since many kernels have no
 * netem. Frames of several buffers (xdp.frags) let the MTU be that of weft's switch.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp.frags")
int lossy(struct xdp_md *frame)
{
	(void)frame;
	return bpf_get_prandom_u32() % 100 ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
