/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload rc_tcp: abrupt ends. Processes are killed and NICs restart (faults "kill" and
 * "restart"), an attacker between two NICs resets connections, and queue pairs and endpoints are
 * destroyed during traffic. sim_wl_tcp.c states the rules.
 *
 * A dead process is restarted after a while and listens on the same port as before; its peers may
 * not have noticed its death. The forger of a reset sees the frames: the reset names exactly the
 * next expected byte, as RFC 9293 3.10.7.4 requires, or a nearby one. Calls libweft and sim_host.c.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sim_harness/wl/sim_wl_tcp.h"

#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"

enum {
	TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	MAX_RESET_PPM = 4000,
};
#define REBORN_MIN_NS UINT64_C(20000)
#define REBORN_MAX_NS UINT64_C(4000000)

/* ---- resets ---------------------------------------------------------------------------------- */

/* Extracts the segment of a frame to which a reset can be forged; false: none. */
static bool take_segment(const uint8_t *frame, size_t bytes, struct wire_eth *eth,
			 struct wire_ip *ip, struct wire_tcp *tcp)
{
	if (bytes < TCP_AT + sizeof(*tcp))
		return false;
	memcpy(eth, frame, sizeof(*eth));
	memcpy(ip, frame + sizeof(*eth), sizeof(*ip));
	memcpy(tcp, frame + TCP_AT, sizeof(*tcp));
	return be16_get(eth->type) == WIRE_ETHERTYPE_IPV4 &&
	       ip->version_ihl == WIRE_IP_VERSION_IHL && ip->proto == WIRE_IPPROTO_TCP &&
	       (tcp->flags & (WIRE_TCP_ACK | WIRE_TCP_SYN | WIRE_TCP_RST)) == WIRE_TCP_ACK;
}

/* Returns the connection of a segment; NULL: it belongs to an earlier one. */
static struct wt_half *half_of(struct sim_run *run, const struct wire_ip *ip,
			       const struct wire_tcp *tcp)
{
	struct wt *wt = wt_of(run);
	uint32_t src, dst, i;

	memcpy(&src, &ip->src, sizeof(src));
	memcpy(&dst, &ip->dst, sizeof(dst));
	for (i = 0; i < wt->num_halves; i += 2) {
		struct wt_half *half = &wt->halves[i];
		uint32_t from = sim_nic_ip(sim_nic_at(run->sim, half->actor->index));
		uint32_t to = sim_nic_ip(sim_nic_at(run->sim, half->peer->actor->index));

		if (!half->port)
			continue;
		if ((src == from && dst == to && half->port == be16_get(tcp->src_port)) ||
		    (src == to && dst == from && half->port == be16_get(tcp->dst_port)))
			return half;
	}
	return NULL;
}

/* Injects a reset without data, as if from the peer of its receiver. */
static void inject_reset(struct sim_nic *to, const struct wire_eth *eth, const struct wire_ip *ip,
			 const struct wire_tcp *tcp)
{
	uint8_t frame[TCP_AT + sizeof(*tcp)];
	struct wire_ip head = *ip;
	struct wire_tcp rst = *tcp;
	struct wire_tcp_pseudo pseudo = {.proto = WIRE_IPPROTO_TCP, .bytes = be16_put(sizeof(rst))};
	uint32_t sum;

	head.total_bytes = be16_put(sizeof(head) + sizeof(rst));
	head.checksum = be16_put(0);
	head.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &head, sizeof(head))));
	rst.data_offset = sizeof(rst) / 4 << 4;
	rst.flags = WIRE_TCP_RST;
	rst.ack = be32_put(0);
	rst.checksum = be16_put(0);
	memcpy(&pseudo.src, &head.src, sizeof(pseudo.src));
	memcpy(&pseudo.dst, &head.dst, sizeof(pseudo.dst));
	sum = wire_sum_add(wire_sum_add(0, &pseudo, sizeof(pseudo)), &rst, sizeof(rst));
	rst.checksum = be16_put(wire_sum_fold(sum));
	memcpy(frame, eth, sizeof(*eth));
	memcpy(frame + sizeof(*eth), &head, sizeof(head));
	memcpy(frame + TCP_AT, &rst, sizeof(rst));
	sim_inject(to, frame, sizeof(frame));
}

/* Resets the sender of a segment: its acknowledgement number is the expected sequence number. */
static void reset_sender(struct sim_nic *from, const struct wire_eth *eth, const struct wire_ip *ip,
			 const struct wire_tcp *tcp)
{
	struct wire_eth back_eth = *eth;
	struct wire_ip back_ip = *ip;
	struct wire_tcp back = *tcp;

	memcpy(back_eth.dst, eth->src, sizeof(back_eth.dst));
	memcpy(back_eth.src, eth->dst, sizeof(back_eth.src));
	memcpy(&back_ip.src, &ip->dst, sizeof(back_ip.src));
	memcpy(&back_ip.dst, &ip->src, sizeof(back_ip.dst));
	back.src_port = tcp->dst_port;
	back.dst_port = tcp->src_port;
	back.seq = tcp->ack;
	inject_reset(from, &back_eth, &back_ip, &back);
}

static enum sim_verdict on_frame(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct sim_run *run = ctx;
	struct wt *wt = wt_of(run);
	struct wire_tcp tcp;
	struct wire_eth eth;
	struct wire_ip ip;
	struct wt_half *half;
	uint32_t dst;

	if (run->stopping || !take_segment(frame, bytes, &eth, &ip, &tcp) ||
	    !sim_prng_chance(&wt->chaos_prng, wt->reset_ppm))
		return SIM_PASS;
	half = half_of(run, &ip, &tcp);
	if (half)
		half->hit = half->peer->hit = true;
	wt->damage = true;
	memcpy(&dst, &ip.dst, sizeof(dst));
	if (sim_prng_below(&wt->chaos_prng, 3))
		reset_sender(from, &eth, &ip, &tcp);
	else if (half)
		inject_reset(
		    sim_nic_at(run->sim, dst == sim_nic_ip(sim_nic_at(run->sim, half->actor->index))
					     ? half->actor->index
					     : half->peer->actor->index),
		    &eth, &ip, &tcp);
	return SIM_PASS;
}

/* ---- ends during traffic --------------------------------------------------------------------- */

/* Ignores completions of its queue pair for requests posted so far. */
static void wt_forget(struct wt_half *half)
{
	half->forgotten = (uint64_t)half->attempt + 1;
	half->sends = half->recvs = 0;
	half->busy = 0;
}

static int set_state(struct wt_half *half, enum weft_qp_state state)
{
	struct weft_qp_attr attr = {.state = state};

	return weft_modify_qp(half->qp, &attr, WEFT_QP_STATE);
}

/* Ends a connection like a program that exits on an error. */
static int leave_rudely(struct wt_half *half)
{
	struct wt *wt = wt_of(half->actor->run);
	int rc = 0;

	wt->damage = true;
	switch (sim_prng_below(&wt->chaos_prng, 4)) {
	case 0:
		/* DISCONNECTED follows. */
		return set_state(half, WEFT_QPS_ERR);
	case 1:
		rc = set_state(half, WEFT_QPS_RESET);
		wt_forget(half);
		break;
	case 2:
		rc = weft_destroy_qp(half->qp);
		half->qp = NULL;
		wt_forget(half);
		break;
	default:
		rc = weft_cm_destroy(half->actor->end.context, half->ep);
		half->ep = (uint32_t)WT_NO_EP;
		break;
	}
	half->state = WT_OVER;
	return rc;
}

void wt_leave(struct wt_half *half)
{
	struct wt *wt = wt_of(half->actor->run);
	int rc;

	half->leaving = true;
	if (wt->chaos && sim_prng_below(&wt->chaos_prng, 2)) {
		rc = leave_rudely(half);
		if (rc)
			wt_failed(half, "ending it rudely", rc);
		return;
	}
	rc = weft_cm_disconnect(half->actor->end.context, half->ep);
	if (rc && half->peer->state == WT_UP)
		wt_failed(half, "ending it", rc);
}

/* ---- deaths ---------------------------------------------------------------------------------- */

/* Handled at the next step: a blocking call may be in progress now. */
static void on_fault(void *ctx, enum sim_fault_event event, struct sim_nic *nic)
{
	struct wt *wt = ctx;

	wt->doomed = nic;
	wt->doom = event;
}

static void bury_process(struct wt *wt, struct wt_actor *actor)
{
	uint32_t i;

	for (i = 0; i < WT_HALVES; i++) {
		struct wt_half *half = actor->half[i];

		if (!half || half->state == WT_NONE)
			continue;
		half->leaving = true;
		half->peer->widow = true;
		half->qp = NULL;
		wt_forget(half);
		half->state = WT_NONE;
	}
	sim_end_close(&actor->end);
	actor->channel = NULL;
	actor->dead = true;
	actor->reborn_ns = sim_now_ns(actor->run->sim) +
			   sim_prng_range(&wt->chaos_prng, REBORN_MIN_NS, REBORN_MAX_NS);
}

static void die(struct sim_run *run)
{
	struct wt *wt = wt_of(run);
	struct sim_nic *nic = wt->doomed;
	struct wt_actor *actor = &wt->actors[sim_nic_index(nic)];

	wt->doomed = NULL;
	wt->damage = true;
	if (wt->doom == SIM_FAULT_RESTART)
		sim_nic_restart(nic);
	else if (!actor->dead)
		sim_proc_kill(actor->end.proc);
	if (!actor->dead)
		bury_process(wt, actor);
}

static void bear(struct sim_run *run, struct wt_actor *actor)
{
	int rc = wt_actor_start(run, actor);

	/* The port stays with the dead process's shard until its connections have ended. */
	if (rc == -EADDRINUSE && sim_get_config(run->sim)->num_shards > 1) {
		sim_end_close(&actor->end);
		actor->reborn_ns += REBORN_MAX_NS;
		return;
	}
	if (rc)
		sim_run_fail(run, "death: weft%u: its next process: %s", actor->index,
			     strerror(-rc));
	actor->dead = false;
}

void wt_die_step(struct sim_run *run)
{
	struct wt *wt = wt_of(run);
	uint32_t i;

	if (wt->doomed && !run->stopping)
		die(run);
	for (i = 0; i < wt->num && !run->stopping && !run->failure[0]; i++) {
		struct wt_actor *actor = &wt->actors[i];

		if (actor->dead && sim_now_ns(run->sim) >= actor->reborn_ns)
			bear(run, actor);
	}
}

void wt_die_start(struct sim_run *run)
{
	struct wt *wt = wt_of(run);

	sim_prng_for(run->sim, &wt->chaos_prng, SIM_STREAM_WORKLOAD, wt->num + 1);
	sim_on_fault(run->sim, on_fault, wt);
	if (!wt->chaos || sim_prng_below(&wt->chaos_prng, 2))
		return;
	wt->reset_ppm = (uint32_t)sim_prng_range(&wt->chaos_prng, 1, MAX_RESET_PPM);
	sim_set_filter(run->sim, on_frame, run);
}
