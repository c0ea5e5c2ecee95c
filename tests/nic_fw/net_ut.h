/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shard with nothing above its lower layers: what the tests of eth, ip, udp, neigh, dgram
 * and ud share.
 *
 * The layers under test are the real ones. The port is made of arrays; everything above
 * (QPs, receives, completions, memory, RD) is a recorder defined here, so that no
 * other object of the firmware is linked. Included once by each test program.
 */
#ifndef WEFT_TESTS_NET_UT_H
#define WEFT_TESTS_NET_UT_H

#include <stdlib.h>

#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	NET_MTU = 1500,
	NET_CAPTURE = 160,
	NET_FRAME_BYTES = 9300,
	NET_QPN = 0x000001,
	NET_PEER_QPN = 0x000107,
	NET_QKEY = 0x11111111,
	NET_STAG = 0x00000142,
	NET_CLIENT = 3,
	NET_TIMERS = 8192,
	NET_GROUPS = 512,
	NET_CQES = 128,
	NET_BUF_BYTES = 70000,
};
#define NET_TO UINT64_C(0x7f0000001000) /* tagged offset of byte 0 of the region */

struct net_frame {
	uint8_t b[NET_FRAME_BYTES];
	uint32_t n;
	uint32_t flags; /* as sent */
};

struct net_neigh_done {
	uint32_t calls;
	uint32_t ip;
	bool ok;
};

struct net {
	struct fw_nic *nic;
	/* the port */
	struct net_frame *sent; /* NET_CAPTURE */
	uint32_t num_sent;
	uint32_t tx_room; /* frames that tx_burst will take, all calls together */
	uint32_t tx_calls;
	uint32_t settles;     /* calls of tx_settle */
	uint32_t num_settled; /* num_sent at the last of them */
	bool host_fault;      /* FW_TX_HOST pieces are not there */
	struct fw_rx_frame rx[FW_BURST * 4];
	uint32_t rx_count, rx_next, rx_freed;
	uint32_t rx_flags; /* of frames to come */
	/* recorders */
	struct fw_qp qp;
	struct fw_cq cq;
	struct hw_cqe cqe[NET_CQES];
	uint32_t num_cqe;
	bool cq_full;
	struct hw_eqe eqe;
	uint32_t num_eqe, eqe_client, eqe_eq;
	struct fw_account user;
	uint32_t qp_errors;
	enum rq_result rq_result;
	uint64_t recv_bytes;
	uint32_t recvs_taken;
	enum hw_vendor_err place_err;
	uint8_t recv_buf[NET_BUF_BYTES];
	uint8_t region[NET_BUF_BYTES];
	uint64_t region_bytes;
	enum hw_vendor_err mem_err;
	bool mem_fault;
	uint8_t payload[NET_BUF_BYTES]; /* of requests to send */
	bool payload_host;
	enum hw_vendor_err gather_err;
	uint32_t completed;
	enum hw_status status;
	enum hw_vendor_err vendor_err;
	uint8_t filter_mac[6]; /* what mac_filter was last told */
	uint32_t filter_ip, filter_calls, filter_others;
	bool filter_in;
	uint32_t rd_calls, hello_calls, uc_calls, cm_calls;
	struct dgram_pkt rd_pkt;
	struct wire_rd rd_hdr;
	struct wire_rd_hello hello;
	struct net_neigh_done ah_done, session_done, cm_done;
	uint32_t tcp_calls, tcp_src_ip, tcp_icmp_calls, tcp_icmp_bytes;
	uint16_t tcp_icmp_mtu;
	uint8_t tcp_icmp_type, tcp_icmp_code;
};

static struct net net;

static const uint8_t net_mac[6] = {0x02, 0, 0, 0, 0, 0x01};
static const uint8_t net_peer_mac[6] = {0x02, 0, 0, 0, 0, 0x02};
static const uint8_t net_broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

#define CNT(name) (net.nic->counters.name)

/* An address in network byte order. */
static inline uint32_t net_ip(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct be32 v = be32_put(a << 24 | b << 16 | c << 8 | d);
	uint32_t ip;

	memcpy(&ip, &v, sizeof(ip));
	return ip;
}
#define NET_IP      net_ip(10, 77, 0, 1)
#define NET_PEER_IP net_ip(10, 77, 0, 2)
#define NET_GATEWAY net_ip(10, 77, 0, 254)

/* ---- the port ----------------------------------------------------------------------- */

static uint32_t net_rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < n && net.rx_next < net.rx_count; i++)
		frames[i] = net.rx[net.rx_next++];
	return i;
}

static void net_rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	uint32_t i, s;

	(void)ctx;
	for (i = 0; i < n; i++) {
		for (s = 0; s < frames[i].num_seg; s++)
			free((void *)(uintptr_t)frames[i].seg[s].data);
		net.rx_freed++;
	}
}

/* Puts a frame together as a DMA engine would; false: a piece of the process is not there. */
static bool net_assemble(const struct fw_tx_frame *tx, struct net_frame *out)
{
	uint32_t i, crc = 0;

	out->n = 0;
	out->flags = tx->flags;
	for (i = 0; i < tx->num_seg; i++) {
		const struct fw_tx_seg *seg = &tx->seg[i];
		const uint8_t *src = seg->kind == FW_TX_HDR ? tx->hdr + seg->addr : seg->mem;

		if (seg->kind == FW_TX_HOST) {
			if (net.host_fault)
				return false;
			src = (const uint8_t *)(uintptr_t)seg->addr;
		}
		if (seg->flags & FW_TX_F_CRC_BEGIN)
			crc = FW_CRC32C_INIT;
		memcpy(out->b + out->n, src, seg->bytes);
		crc = fw_crc32c(crc, src, seg->bytes);
		out->n += seg->bytes;
		if (seg->flags & FW_TX_F_CRC_END) {
			struct be32 wire = fw_crc32c_wire(crc);

			memcpy(out->b + out->n, &wire, sizeof(wire));
			out->n += (uint32_t)sizeof(wire);
		}
	}
	if (tx->csum_start)
		wire_sum_put(out->b, out->n, tx->csum_start, tx->csum_at);
	return true;
}

static uint32_t net_tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	uint32_t i;

	(void)ctx;
	net.tx_calls++;
	for (i = 0; i < n && net.tx_room; i++, net.tx_room--) {
		struct net_frame *out = &net.sent[net.num_sent];

		CU_ASSERT_FATAL(net.num_sent < NET_CAPTURE);
		frames[i].status = 0;
		if (!net_assemble(&frames[i], out)) {
			frames[i].status = -FW_EFAULT;
			continue;
		}
		CU_ASSERT_EQUAL(out->n, frames[i].bytes);
		net.num_sent++;
	}
	return i;
}

static void net_tx_settle(void *ctx)
{
	(void)ctx;
	net.settles++;
	net.num_settled = net.num_sent;
}

static uint32_t net_mac_filter(void *ctx, const uint8_t mac[6], uint32_t ip, bool in)
{
	(void)ctx;
	memcpy(net.filter_mac, mac, 6);
	net.filter_ip = ip;
	net.filter_in = in;
	net.filter_calls++;
	return net.filter_others;
}

static uint64_t net_random(void *ctx)
{
	(void)ctx;
	return UINT64_C(0x0123456789abcdef);
}

/* ---- recorders in place of the layers above -------------------------------------------- */

void rd_rx(struct fw_nic *nic, struct dgram_pkt *pkt, const struct wire_rd *rd)
{
	(void)nic;
	net.rd_calls++;
	net.rd_pkt = *pkt;
	net.rd_hdr = *rd;
}

void rd_hello_rx(struct fw_nic *nic, const struct dgram_pkt *pkt, const struct wire_rd_hello *hello)
{
	(void)nic;
	net.hello_calls++;
	net.rd_pkt = *pkt;
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

void cm_rd_rx(struct fw_nic *nic, const struct dgram_pkt *pkt)
{
	(void)nic;
	net.cm_calls++;
	net.rd_pkt = *pkt;
}

void cm_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)nic;
	net.cm_done = (struct net_neigh_done){net.cm_done.calls + 1, ip, ok};
}

/* No connections either. */
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

/* No collectives here: nobody is in a reliable group. */
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

/* Unreliable connections have no QP here: tests/sim/uc_ut.c. */
void uc_rx(struct fw_nic *nic, struct dgram_pkt *pkt)
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

/* As many units as anybody wants. */
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
				   const struct dgram_pkt *pkt, uint32_t stag, uint64_t to,
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

static inline void *net_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	return p;
}

static inline void net_fill(uint8_t *p, uint32_t bytes, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < bytes; i++) {
		seed = seed * 1103515245u + 12345u;
		p[i] = (uint8_t)(seed >> 16);
	}
}

static inline void net_init_qp(void)
{
	fw_list_init(&net.qp.recv_msgs);
	fw_list_init(&net.qp.opens);
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

static inline void net_init(uint8_t shard)
{
	struct fw_nic *nic = net_alloc(sizeof(*nic));

	memset(&net, 0, sizeof(net));
	net.nic = nic;
	nic->host.clients = net_alloc((NET_CLIENT + 1) * sizeof(*nic->host.clients));
	nic->host.clients[NET_CLIENT].user = &net.user;
	net.tx_room = UINT32_MAX;
	net.sent = net_alloc(NET_CAPTURE * sizeof(*net.sent));
	nic->port.rx_burst = net_rx_burst;
	nic->port.rx_free = net_rx_free;
	nic->port.tx_burst = net_tx_burst;
	nic->port.tx_settle = net_tx_settle;
	nic->port.mac_filter = net_mac_filter;
	nic->port.random64 = net_random;
	nic->port.crc32c = fw_crc32c;
	nic->port.copy_crc32c = fw_copy_crc32c;
	memcpy(nic->config.mac, net_mac, sizeof(net_mac));
	nic->config.ip = NET_IP;
	nic->config.gateway = NET_GATEWAY;
	nic->config.ip_prefix = 24;
	nic->config.mtu = NET_MTU;
	nic->config.shard = shard;
	nic->config.num_shards = 8;
	nic->now_ns = UINT64_C(1000000000);
	nic->net.tx_allow = UINT32_MAX;
	nic->net.tx = net_alloc(FW_TX_STAGE * sizeof(*nic->net.tx));
	nic->net.rx = net_alloc(FW_BURST * sizeof(*nic->net.rx));
	nic->scratch = net_alloc(FW_SCRATCH_BYTES);
	nic->net.neigh = net_alloc(HW_MAX_NEIGH * sizeof(*nic->net.neigh));
	nic->net.neigh_hash = net_alloc(FW_HASH_SIZE * sizeof(uint32_t));
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
	net_init_qp();
}

static inline void net_end(void)
{
	struct fw_nic *nic = net.nic;

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
}

/* Lets time pass and fires what is due. */
static inline void net_advance(uint64_t ns)
{
	net.nic->now_ns += ns;
	fw_timers_run(net.nic, &net.nic->timers, net.nic->now_ns, UINT32_MAX);
}

static inline void net_flush(void)
{
	eth_tx_flush(net.nic);
}

/* The sum of all drop counters: a frame that is not used is counted in exactly one. */
static inline uint64_t net_drops(void)
{
	const uint64_t *words = (const uint64_t *)&net.nic->counters;
	uint64_t sum = 0;
	size_t i;

	for (i = offsetof(struct fw_counters, drop_too_short) / sizeof(uint64_t);
	     i < sizeof(struct fw_counters) / sizeof(uint64_t); i++)
		sum += words[i];
	return sum;
}

#include "tests/nic_fw/net_frames.h"

#endif /* WEFT_TESTS_NET_UT_H */
