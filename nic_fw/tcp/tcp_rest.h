/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small form of an idle connection: tcp_rest.c.
 */
#ifndef WEFT_FW_TCP_REST_H
#define WEFT_FW_TCP_REST_H

#include "nic_fw/base/timer.h"
#include "nic_fw/tcp/tcp_flow.h"
#include "shared_defs/wire_eth.h"

/* Silence after which a connection may rest: what was measured before counts no more then. */
#define TCP_REST_NS UINT64_C(10000000)

/*
 * All that a connection must know when it goes on. Of struct tcp_flow all other members have the
 * values of a new one while nothing is under way, or follow from these. One part lies in memory
 * that the layer above needs only for a connection that is awake (tcp_ops.rest).
 */
struct tcp_rest_lent {
	uint64_t rto_ns;
	uint64_t heard_ns, sent_ns, ts_recent_ns, answered_ns;
	uint64_t keep_ns;
	uint64_t probe_ns; /* 0: TCP_PROBE_NONE, else TCP_PROBE_WANTED */
	uint32_t snd_wnd, snd_wl1, snd_wnd_max;
	uint32_t rcv_adv, rcv_limit, rcv_high, rcv_alone, rcv_path_ns;
};
static_assert(sizeof(struct tcp_rest_lent) <= 88, "it fits into struct mpa_conn");

struct tcp_rest {
	struct tcp_rest_lent *lent;
	struct fw_timer timer; /* keep-alive */
	uint32_t hash_next;
	uint32_t peer_ip;
	uint16_t peer_port, local_port;
	uint32_t snd_nxt, rcv_nxt;
	uint32_t ts_recent;
	uint32_t cwnd, ssthresh, cubic_max, cubic_prior;
	uint32_t srtt_ns, rtt_var_ns, min_rtt_ns;
	uint16_t flags;
	uint16_t path_mtu, peer_mss;
	uint8_t mac[WIRE_MAC_BYTES];
	uint8_t user, snd_wscale, station, syn_tries;
	uint8_t reo_mult, reo_persist;
	bool reordering, fresh;
};
static_assert(sizeof(struct tcp_rest) <= 96, "an idle connection is small");

/* Finds a connection, and wakes it if it rests. NULL: there is none. */
struct tcp_flow *tcp_look_up(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			     uint16_t local_port);
/* True if a connection of the tuple rests. */
bool tcp_rests(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port);
/* A connection was made or woken. */
void tcp_rest_awake(struct fw_nic *nic, struct tcp_flow *flow);
/* An idle one is awake. */
void tcp_rest_ask(struct fw_nic *nic);
/*
 * Lets idle connections rest, after others were made or woken. Runs between the stages of a turn,
 * when no function holds a pointer to one.
 */
void tcp_rest_look(struct fw_nic *nic);
/* The keep-alive of a connection is due. */
void tcp_rest_fire(struct fw_nic *nic, struct fw_timer *timer);

/* tcp_grant.c */
/* True if the peer has no more to send; or is alone, and was silent for long. */
bool tcp_grant_over(const struct fw_nic *nic, const struct tcp_flow *flow);
/* The connection rests: its window counts for nothing until data comes. */
void tcp_grant_rest(struct fw_nic *nic, struct tcp_flow *flow);

#endif /* WEFT_FW_TCP_REST_H */
