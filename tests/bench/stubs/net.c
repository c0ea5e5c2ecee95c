/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shard, the recorders and the frames of net.h.
 */
#include "tests/bench/stubs/net.h"

struct net net;

const uint8_t net_mac[6] = {0x02, 0, 0, 0, 0, 0x01};
const uint8_t net_peer_mac[6] = {0x02, 0, 0, 0, 0, 0x02};
const uint8_t net_broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static void capture(struct bench_port *port, struct bench_frame *frame)
{
	struct frame *out = &net.sent[net.num_sent++];

	(void)port;
	CU_ASSERT_FATAL(net.num_sent <= NET_CAPTURE);
	out->n = 0;
	out->flags = frame->flags;
	frame_add(out, frame->b, frame->n);
	free(frame->b);
}

static uint64_t always_the_same(void *ctx)
{
	(void)ctx;
	return UINT64_C(0x0123456789abcdef);
}

/* ---- recorders in place of the layers above -------------------------------------------- */

void rd_rx(struct fw_nic *nic, struct rdmap_seg *pkt, const struct wire_rd *rd)
{
	(void)nic;
	net.rd_calls++;
	net.rd_pkt = *pkt;
	net.rd_dgram = *pkt->hdr;
	net.rd_hdr = *rd;
}

void rd_hello_rx(struct fw_nic *nic, const struct rdmap_seg *pkt, const struct wire_rd_hello *hello)
{
	(void)nic;
	net.hello_calls++;
	net.rd_pkt = *pkt;
	net.rd_dgram = *pkt->hdr;
	net.hello = *hello;
}

void ah_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)nic;
	net.ah_done = (struct net_neigh_done){net.ah_done.calls + 1, ip, ok};
}

void rd_session_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)nic;
	net.session_done = (struct net_neigh_done){net.session_done.calls + 1, ip, ok};
}

void cm_rd_rx(struct fw_nic *nic, const struct rdmap_seg *pkt)
{
	(void)nic;
	net.cm_calls++;
	net.rd_pkt = *pkt;
	net.rd_dgram = *pkt->hdr;
}

void cm_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)nic;
	net.cm_done = (struct net_neigh_done){net.cm_done.calls + 1, ip, ok};
}

/* No connections here. */
void tcp_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)nic;
	(void)ip;
	(void)ok;
}

void tcp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info)
{
	(void)frame;
	net.tcp_calls++;
	net.tcp_src_ip = info->src_ip;
	(void)nic;
}

void tcp_rx_icmp(struct fw_nic *nic, const struct ip_rx_info *info, uint8_t type, uint8_t code,
		 uint16_t mtu, const uint8_t *original, uint32_t original_bytes)
{
	(void)nic;
	(void)info;
	(void)original;
	net.tcp_icmp_calls++;
	net.tcp_icmp_type = type;
	net.tcp_icmp_code = code;
	net.tcp_icmp_mtu = mtu;
	net.tcp_icmp_bytes = original_bytes;
}

/* No collectives here: no QP is in a reliable group. */
void mgrp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t bytes)
{
	(void)nic;
	(void)frame;
	(void)bytes;
	CU_FAIL("a frame of a reliable group");
}

bool mgrp_wants(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	(void)nic;
	(void)frame;
	return false;
}

/* A frame of EDP may be one whose payload goes to memory that is not mapped. */
static void take_edp(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	if (net.edp_copy_bytes)
		fw_dear_copy(nic, net.edp_copy_bytes);
	edp_rx(nic, frame);
}

const struct net_up net_up = {
    .edp = take_edp,
    .tcp = tcp_rx,
    .tcp_icmp = tcp_rx_icmp,
    .dgram = dgram_rx,
};

const neigh_done_fn neigh_users[] = {
    ah_neigh_done, rd_session_neigh_done, cm_neigh_done, tcp_neigh_done, NULL,
};

const neigh_look_fn neigh_lookers[NEIGH_WAIT_KINDS];

const struct stream_up stream_up = {
    .group_wants = mgrp_wants,
    .group_rx = mgrp_rx,
};

const struct dgram_up dgram_up = {
    .cm = cm_rd_rx,
};

/* Unreliable connections have no QP here: tests/sim/uc_ut.c. */
void uc_rx(struct fw_nic *nic, struct rdmap_seg *pkt)
{
	(void)nic;
	(void)pkt;
	net.uc_calls++;
}

struct fw_qp *qp_find(struct fw_nic *nic, uint32_t qpn)
{
	(void)nic;
	return qpn == net.qp.qpn ? &net.qp : NULL;
}

void qp_error(struct fw_nic *nic, struct fw_qp *qp, enum hw_event_type event)
{
	CU_ASSERT_EQUAL(event, HW_EVENT_QP_FATAL);
	net.qp_errors++;
	qp->state = HW_QPS_ERR;
	(void)ud_flush_step(nic, qp);
}

/* As many units as requested. */
bool slice_take(struct fw_nic *nic, uint32_t units)
{
	(void)nic;
	(void)units;
	return true;
}

void rq_prefetch(const struct fw_nic *nic, const struct fw_qp *qp)
{
	(void)nic;
	(void)qp;
}

enum rq_result rq_look(struct fw_nic *nic, struct fw_qp *qp, struct fw_recv *recv)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(qp, &net.qp);
	if (net.rq_result == RQ_EMPTY)
		return RQ_EMPTY;
	memset(recv, 0, sizeof(*recv));
	recv->wr_id = 1000 + net.recvs_taken;
	recv->bytes = net.recv_bytes;
	recv->num_sge = 1;
	recv->pd = 7;
	return net.rq_result;
}

void rq_taken(struct fw_nic *nic, struct fw_qp *qp)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(qp, &net.qp);
	net.recvs_taken++;
}

enum hw_vendor_err ddp_place_sges(struct fw_nic *nic, uint32_t pd, const struct hw_sge *sge,
				  uint32_t num_sge, uint64_t offset, struct eth_cursor *cursor)
{
	uint32_t n = cursor->left;

	(void)nic;
	(void)sge;
	CU_ASSERT_EQUAL(pd, 7);
	CU_ASSERT_EQUAL(num_sge, 1);
	CU_ASSERT_FATAL(offset + n <= net.recv_bytes);
	if (net.place_err == HW_VENDOR_ERR_NONE)
		eth_cursor_copy(cursor, net.recv_buf + offset, n);
	return net.place_err;
}

enum hw_vendor_err guess_mem_check(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt, uint32_t stag, uint64_t to,
				   uint64_t bytes, uint32_t need, struct fw_mem *mem)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(qp, &net.qp);
	CU_ASSERT_EQUAL(pkt->stag, stag);
	CU_ASSERT_EQUAL(need, HW_ACCESS_REMOTE_WRITE);
	if (net.mem_err != HW_VENDOR_ERR_NONE)
		return net.mem_err;
	if (!bytes)
		return HW_VENDOR_ERR_NONE;
	if (stag != NET_STAG)
		return HW_VENDOR_ERR_LKEY;
	if (to < NET_TO || to - NET_TO > net.region_bytes ||
	    bytes > net.region_bytes - (to - NET_TO))
		return HW_VENDOR_ERR_BOUNDS;
	*mem = (struct fw_mem){.ptr = net.region + (to - NET_TO), .client = NET_CLIENT};
	return HW_VENDOR_ERR_NONE;
}

bool ddp_place_mem(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		   struct eth_cursor *cursor)
{
	(void)nic;
	if (net.mem_fault)
		return false;
	eth_cursor_copy(cursor, mem->ptr + offset, cursor->left);
	return true;
}

bool ddp_place_segment(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		       const struct rdmap_seg *pkt)
{
	struct eth_cursor cursor;

	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	return ddp_place_mem(nic, mem, offset, &cursor);
}

bool cq_post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(cq, &net.cq);
	CU_ASSERT_FATAL(net.num_cqe < NET_CQES);
	if (net.cq_full)
		return false;
	net.cqe[net.num_cqe++] = *cqe;
	return true;
}

void eq_post(struct fw_nic *nic, uint32_t client, uint32_t eq, const struct hw_eqe *eqe)
{
	(void)nic;
	net.num_eqe++;
	net.eqe = *eqe;
	net.eqe_client = client;
	net.eqe_eq = eq;
}

uint32_t rdmap_tx_header(const struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			 uint32_t bytes, uint8_t *dst)
{
	uint8_t last = offset + bytes == msg->bytes ? WIRE_DDP_LAST : 0;
	struct wire_ddp_untagged untagged = {
	    .ddp_ctrl = last | WIRE_DDP_VERSION,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | msg->rdmap_opcode,
	    .msn = be32_put(msg->msn),
	    .mo = be32_put(offset),
	};
	struct wire_ddp_tagged tagged = {
	    .ddp_ctrl = WIRE_DDP_TAGGED | last | WIRE_DDP_VERSION,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_WRITE,
	    .stag = be32_put(msg->rkey),
	    .to = be64_put(msg->remote_addr + offset),
	};

	(void)nic;
	if (msg->rdmap_opcode == WIRE_RDMAP_WRITE) {
		memcpy(dst, &tagged, sizeof(tagged));
		return sizeof(tagged);
	}
	memcpy(dst, &untagged, sizeof(untagged));
	return sizeof(untagged);
}

enum hw_vendor_err wqe_gather(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t offset,
			      uint32_t bytes, struct fw_tx_frame *frame, bool *host)
{
	(void)nic;
	CU_ASSERT_FATAL(offset + bytes <= wqe->bytes);
	if (net.gather_err != HW_VENDOR_ERR_NONE)
		return net.gather_err;
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = net.payload_host ? NULL : net.payload + offset,
	    .addr = (uintptr_t)(net.payload + offset),
	    .bytes = bytes,
	    .client = NET_CLIENT,
	    .kind = net.payload_host ? FW_TX_HOST : FW_TX_MEM,
	};
	if (net.payload_host)
		*host = true;
	return HW_VENDOR_ERR_NONE;
}

void wqe_complete(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
		  enum hw_vendor_err vendor_err)
{
	(void)nic;
	(void)wqe;
	net.completed++;
	net.status = status;
	net.vendor_err = vendor_err;
}

void wqe_complete_in_order(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
			   enum hw_vendor_err vendor_err)
{
	CU_ASSERT_NOT_EQUAL(status, HW_STATUS_SUCCESS);
	wqe_complete(nic, wqe, status, vendor_err);
}

/* ---- setting up ---------------------------------------------------------------------- */

void *net_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	return p;
}

void net_fill(uint8_t *p, uint32_t bytes, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < bytes; i++) {
		seed = seed * 1103515245u + 12345u;
		p[i] = (uint8_t)(seed >> 16);
	}
}

static void init_qp(void)
{
	fw_list_init(&net.qp.recv_msgs);
	fw_list_init(&net.qp.mcasts);
	net.qp.used = true;
	net.qp.qpn = NET_QPN;
	net.qp.pd = 7;
	net.qp.client = NET_CLIENT;
	net.qp.type = HW_QPT_UD;
	net.qp.state = HW_QPS_RTS;
	net.qp.qkey = NET_QKEY;
	net.qp.access = HW_ACCESS_REMOTE_WRITE;
	net.qp.recv_cq = &net.cq;
	net.recv_bytes = 4096;
	net.region_bytes = 65536;
	net.rq_result = RQ_OK;
}

void net_init(uint8_t shard)
{
	struct fw_nic *nic = net_alloc(sizeof(*nic));

	memset(&net, 0, sizeof(net));
	net.nic = nic;
	nic->host.clients = net_alloc((NET_CLIENT + 1) * sizeof(*nic->host.clients));
	nic->share.holders = net_alloc((NET_CLIENT + 1) * sizeof(*nic->share.holders));
	nic->share.holders[NET_CLIENT].user = &net.user;
	nic->host.clients[NET_CLIENT].share = &nic->share.holders[NET_CLIENT];
	bench_port_init(&net.port);
	net.port.sent = capture;
	net.sent = net_alloc(NET_CAPTURE * sizeof(*net.sent));
	nic->port = bench_port_table(&net.port);
	nic->port.random64 = always_the_same;
	memcpy(nic->config.mac, net_mac, sizeof(net_mac));
	nic->config.ip = NET_IP;
	nic->config.gateway = NET_GATEWAY;
	nic->config.ip_prefix = 24;
	nic->config.mtu = NET_MTU;
	nic->config.shard = shard;
	nic->config.num_shards = 8;
	fw_hash_key_init(&nic->hash_key, (const uint64_t[2])BENCH_HASH_SECRET);
	nic->now_ns = UINT64_C(1000000000);
	nic->net.tx_allow = UINT32_MAX;
	nic->net.tx = net_alloc(FW_TX_STAGE * sizeof(*nic->net.tx));
	nic->net.rx = net_alloc(FW_BURST * sizeof(*nic->net.rx));
	nic->scratch = net_alloc(FW_SCRATCH_BYTES);
	nic->net.neigh = net_alloc(HW_MAX_NEIGH * sizeof(*nic->net.neigh));
	nic->net.neigh_hash = net_alloc(HW_MAX_NEIGH * sizeof(uint32_t));
	nic->ud.hash = net_alloc(FW_HASH_SIZE * sizeof(uint32_t));
	fw_timers_init(&nic->timers, net_alloc(NET_TIMERS * sizeof(struct fw_timer *)), NET_TIMERS);
	fw_list_init(&nic->net.mcast_groups);
	fw_pool_init(&nic->net.mcast_group_pool, net_alloc(NET_GROUPS * sizeof(struct mcast_group)),
		     sizeof(struct mcast_group), NET_GROUPS);
	fw_pool_init(&nic->net.mac_filters, net_alloc(MAC_FILTER_MAX * sizeof(struct mac_filter)),
		     sizeof(struct mac_filter), MAC_FILTER_MAX);
	fw_pool_init(&nic->ud.reasms, net_alloc(UD_REASM_MAX * sizeof(struct ud_reasm)),
		     sizeof(struct ud_reasm), UD_REASM_MAX);
	fw_pool_init(&nic->ud.buffers, net_alloc((size_t)UD_REASM_MAX * HW_MAX_UD_MSG_BYTES),
		     HW_MAX_UD_MSG_BYTES, UD_REASM_MAX);
	init_qp();
}

void net_end(void)
{
	struct fw_nic *nic = net.nic;

	free(nic->share.holders);
	free(nic->host.clients);
	free(nic->net.tx);
	free(nic->net.rx);
	free(nic->scratch);
	free(nic->net.neigh);
	free(nic->net.neigh_hash);
	free(nic->ud.hash);
	free(nic->timers.heap);
	free(nic->net.mcast_group_pool.base);
	free(nic->net.mac_filters.base);
	free(nic->ud.reasms.base);
	free(nic->ud.buffers.base);
	free(nic);
	free(net.sent);
	bench_port_free(&net.port);
}

void net_advance(uint64_t ns)
{
	net.nic->now_ns += ns;
	fw_timers_run(net.nic, &net.nic->timers, net.nic->now_ns, UINT32_MAX);
}

void net_flush(void)
{
	eth_tx_flush(net.nic);
}

uint64_t net_drops(void)
{
	const uint64_t *words = (const uint64_t *)&net.nic->counters;
	uint64_t sum = 0;
	size_t i;

	for (i = offsetof(struct fw_counters, drop_too_short) / sizeof(uint64_t);
	     i < sizeof(struct fw_counters) / sizeof(uint64_t); i++)
		sum += words[i];
	return sum;
}

/* ---- frames of the peer -------------------------------------------------------------- */

void net_put_eth(struct frame *f, const uint8_t *dst, uint16_t type)
{
	memset(f, 0, sizeof(*f));
	(void)frame_eth(f, dst, net_peer_mac, type);
}

void net_put_ip(struct frame *f, uint8_t proto)
{
	net_put_eth(f, net_mac, WIRE_ETHERTYPE_IPV4);
	(void)frame_ip(f, proto, NET_PEER_IP, NET_IP);
}

void net_put_udp(struct frame *f)
{
	net_put_ip(f, WIRE_IPPROTO_UDP);
	(void)frame_udp(f, WIRE_DGRAM_PORT, (uint16_t)(WIRE_DGRAM_PORT + net.nic->config.shard));
}

struct wire_dgram *net_put_dgram(struct frame *f, uint8_t type)
{
	struct wire_dgram *d;

	net_put_udp(f);
	d = frame_dgram(f, type);
	if (type == WIRE_DGRAM_UD || type == WIRE_DGRAM_RD) {
		d->dst_qpn = be32_put(NET_QPN);
		d->src_qpn = be32_put(NET_PEER_QPN);
		d->qkey = be32_put(NET_QKEY);
		d->ssn = be32_put(1);
	}
	return d;
}

struct wire_ddp_untagged *net_put_send(struct frame *f, const uint8_t *data, uint32_t mo,
				       uint32_t bytes, uint32_t msg_bytes)
{
	struct wire_ddp_untagged *ddp;

	net_put_dgram(f, WIRE_DGRAM_UD)->msg_bytes = be32_put(msg_bytes);
	ddp = frame_untagged(f, WIRE_RDMAP_SEND, mo + bytes == msg_bytes, 1, mo);
	frame_add(f, data + mo, bytes);
	return ddp;
}

struct wire_ddp_tagged *net_put_record(struct frame *f, const uint8_t *data, uint64_t to,
				       uint32_t mo, uint32_t bytes, uint32_t msg_bytes)
{
	struct wire_dgram *d = net_put_dgram(f, WIRE_DGRAM_UD);
	struct wire_ddp_tagged *ddp;

	d->flags = WIRE_DGRAM_F_RECORD;
	d->imm = be32_put(mo);
	d->msg_bytes = be32_put(msg_bytes);
	ddp = frame_tagged(f, WIRE_RDMAP_WRITE, mo + bytes == msg_bytes, NET_STAG, to + mo);
	frame_add(f, data + mo, bytes);
	return ddp;
}

void net_put_arp(struct frame *f, uint16_t op, uint32_t sender_ip, const uint8_t *sender_mac,
		 uint32_t target_ip)
{
	struct wire_arp *arp;

	net_put_eth(f, op == WIRE_ARP_REQUEST ? net_broadcast : net_mac, WIRE_ETHERTYPE_ARP);
	arp = frame_arp(f, op, sender_mac, sender_ip, target_ip);
	if (op == WIRE_ARP_REPLY)
		memcpy(arp->target_mac, net_mac, sizeof(arp->target_mac));
}

/* ---- receiving them ------------------------------------------------------------------ */

void net_queue(const struct frame *f, uint32_t piece)
{
	net.port.piece = piece;
	bench_port_put(&net.port, f->b, f->n, 0);
}

void net_rx_pieces(const struct frame *f, uint32_t piece)
{
	bench_port_clear(&net.port);
	net_queue(f, piece);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, FW_BURST), 1);
}

void net_rx(const struct frame *f)
{
	net_rx_pieces(f, 0);
}

void net_learn_peer(void)
{
	uint32_t staged = net.nic->net.tx_count;
	uint64_t asked = CNT(arp_tx);
	uint8_t mac[WIRE_MAC_BYTES];
	struct frame f;

	(void)neigh_lookup(net.nic, NET_PEER_IP, mac);
	net.nic->net.tx_count = staged;
	CNT(arp_tx) = asked;
	net_put_arp(&f, WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	net_rx(&f);
}

/*
 * Timers of the files under test alone: a weak name does not bring a file in that nothing
 * else needs.
 */
#pragma weak neigh_fire
#pragma weak igmp_timer_fire
#pragma weak ud_reasm_timer_fire
const fw_timer_fn fw_timer_fires[FW_TIMER_KINDS] = {
    [FW_TIMER_NEIGH] = neigh_fire,
    [FW_TIMER_IGMP] = igmp_timer_fire,
    [FW_TIMER_UD_REASM] = ud_reasm_timer_fire,
};
