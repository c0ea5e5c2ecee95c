/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of payload: every cut of an SGE list, inline data across the ring's end, keys that were
 * invalidated, unmapped memory; the names of sinks.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;
static struct fw_tx_frame frame;
static struct fw_wqe *wqe;

#define A (&rp.end[0])

static void begin(void)
{
	rp_begin(&rp);
	wqe = wqe_alloc(A->nic, A->qp[0], FW_WQE_REQUEST);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wqe);
	rp_fill(A->mem, 65536, 1);
}

static void end(void)
{
	wqe_free(A->nic, wqe);
	rp_end(&rp);
}

/* Gathers the pieces and joins them. */
static enum hw_vendor_err gather(uint32_t offset, uint32_t bytes, uint8_t *out, bool *host)
{
	enum hw_vendor_err err;
	uint32_t i, at = 0;

	memset(&frame, 0, sizeof(frame));
	*host = false;
	err = wqe_gather(A->nic, wqe, offset, bytes, &frame, host);
	for (i = 0; i < frame.num_seg; i++) {
		const struct fw_tx_seg *seg = &frame.seg[i];

		CU_ASSERT_EQUAL(seg->client, A->client);
		CU_ASSERT_TRUE(seg->bytes > 0);
		if (seg->kind == FW_TX_MEM)
			memcpy(out + at, seg->mem, seg->bytes);
		else
			memcpy(out + at, (const void *)(uintptr_t)seg->addr, seg->bytes);
		at += seg->bytes;
	}
	if (err == HW_VENDOR_ERR_NONE) {
		CU_ASSERT_EQUAL(at, bytes);
		CU_ASSERT_EQUAL(frame.bytes, bytes);
	}
	return err;
}

/* Lists of 1 to 16 pieces, some of them empty; all begins and lengths. */
static void every_cut(void)
{
	static uint8_t want[1024], out[1024];
	uint32_t n;

	begin();
	for (n = 1; n <= HW_MAX_SGE; n++) {
		uint32_t i, total = 0, from, bytes;
		struct fw_wqe_ext *ext = NULL;
		bool host;

		if (n > FW_WQE_SGES && wqe->ext == FW_NONE) {
			ext = fw_pool_get(&A->nic->host.wqe_exts);
			CU_ASSERT_PTR_NOT_NULL_FATAL(ext);
			wqe->ext = fw_pool_index(&A->nic->host.wqe_exts, ext);
		}
		if (n > FW_WQE_SGES)
			ext = fw_pool_at(&A->nic->host.wqe_exts, wqe->ext);
		for (i = 0; i < n; i++) {
			struct hw_sge sge = {(uintptr_t)A->mem + 100 * i, (i * 5 + n) % 7, A->stag};

			if (i < FW_WQE_SGES)
				wqe->sge[i] = sge;
			else
				ext->sge[i - FW_WQE_SGES] = sge;
			memcpy(want + total, A->mem + 100 * i, sge.bytes);
			total += sge.bytes;
		}
		wqe->num_sge = (uint8_t)n;
		wqe->bytes = total;
		for (from = 0; from <= total; from++)
			for (bytes = 0; bytes <= total - from; bytes++) {
				CU_ASSERT_EQUAL(gather(from, bytes, out, &host),
						HW_VENDOR_ERR_NONE);
				CU_ASSERT_FALSE(host);
				CU_ASSERT_EQUAL(memcmp(out, want + from, bytes), 0);
			}
		/* More bytes than the list has: nothing is read beyond it. */
		CU_ASSERT_EQUAL(gather(0, total + 1, out, &host), HW_VENDOR_ERR_BOUNDS);
		CU_ASSERT_EQUAL(gather(total, 1, out, &host), HW_VENDOR_ERR_BOUNDS);
	}
	end();
}

/* Inline data after its control slot, at any place of the ring. */
static void inline_wraps(void)
{
	static uint8_t out[512];
	uint32_t slot, slots, i;
	bool host;

	begin();
	slots = A->qp[0]->sq_mask + 1;
	for (i = 0; i < slots * HW_SQ_SLOT_BYTES; i++)
		A->qp[0]->sq_ring[i] = (uint8_t)(i * 31 + i / 256);
	wqe->flags = HW_WQE_F_INLINE;
	wqe->bytes = 256;
	for (slot = slots - 6; slot < slots + 3; slot++) {
		uint32_t offset;

		wqe->sq_slot = slot;
		for (offset = 0; offset < 256; offset += 17) {
			CU_ASSERT_EQUAL(gather(offset, 256 - offset, out, &host),
					HW_VENDOR_ERR_NONE);
			for (i = 0; i < 256 - offset; i++) {
				uint32_t at = ((slot + 1) * 64 + offset + i) % (slots * 64);

				CU_ASSERT_EQUAL(out[i], A->qp[0]->sq_ring[at]);
			}
			CU_ASSERT_TRUE(frame.num_seg <= 2);
		}
	}
	memset(A->qp[0]->sq_ring, 0, slots * HW_SQ_SLOT_BYTES);
	end();
}

/* Data that may be copied at once: those of a request in one piece of memory that is mapped. */
static void data_in_one_piece(void)
{
	uint8_t *at;
	uint32_t unmapped;

	begin();
	at = A->mem + 100;
	unmapped = rp_reg(&rp, 0, A->mem, 4096, RP_ALL_ACCESS, false);
	wqe->num_sge = 1;
	wqe->sge[0] = (struct hw_sge){.addr = (uintptr_t)at, .bytes = 50, .lkey = A->stag};
	CU_ASSERT_PTR_EQUAL(wqe_data(A->nic, wqe, 50), at);
	CU_ASSERT_PTR_EQUAL(wqe_data(A->nic, wqe, 1), at);
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 51));
	wqe->kind = FW_WQE_READ_RESPONSE;
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 50));
	wqe->kind = FW_WQE_REQUEST;
	wqe->flags = HW_WQE_F_INLINE;
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 50));
	wqe->flags = 0;
	wqe->num_sge = 2;
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 50));
	wqe->num_sge = 0;
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 50));
	wqe->num_sge = 1;
	wqe->sge[0].lkey ^= 0x100;
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 50));
	wqe->sge[0].lkey = unmapped;
	CU_ASSERT_PTR_NULL(wqe_data(A->nic, wqe, 50));
	end();
}

/* Keys are checked for each packet. A response needs the right of remote reading. */
static void keys(void)
{
	static uint8_t out[64];
	uint32_t stag;
	bool host;

	begin();
	stag = rp_reg(&rp, 0, A->mem, 4096, HW_ACCESS_LOCAL_WRITE, false);
	wqe->num_sge = 2;
	wqe->bytes = 64;
	wqe->sge[0] = (struct hw_sge){(uintptr_t)A->mem, 32, A->stag};
	wqe->sge[1] = (struct hw_sge){(uintptr_t)A->mem + 32, 32, stag};
	CU_ASSERT_EQUAL(gather(0, 64, out, &host), HW_VENDOR_ERR_NONE);
	CU_ASSERT_TRUE(host);
	CU_ASSERT_EQUAL(memcmp(out, A->mem, 64), 0);
	CU_ASSERT_EQUAL(gather(0, 32, out, &host), HW_VENDOR_ERR_NONE);
	CU_ASSERT_FALSE(host);
	wqe->kind = FW_WQE_READ_RESPONSE;
	A->qp[0]->responder_slots++;
	CU_ASSERT_EQUAL(gather(0, 32, out, &host), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(gather(0, 64, out, &host), HW_VENDOR_ERR_ACCESS);
	wqe->kind = FW_WQE_REQUEST;
	A->qp[0]->responder_slots--;
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag), 0);
	CU_ASSERT_EQUAL(gather(0, 64, out, &host), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(gather(0, 32, out, &host), HW_VENDOR_ERR_NONE);
	wqe->sge[1] = (struct hw_sge){(uintptr_t)A->mem + RP_MEM_BYTES - 16, 32, A->stag};
	CU_ASSERT_EQUAL(gather(0, 48, out, &host), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(gather(0, 49, out, &host), HW_VENDOR_ERR_BOUNDS);
	end();
}

static uint32_t asked_ip, asked_qpn; /* the peer of wqe; a free context is not read */

/*
 * Finds the request that a response with that STag and number answers, as sent by the peer of wqe.
 */
static struct fw_wqe *from_sink(struct fw_qp *qp, uint32_t stag, uint32_t ssn)
{
	const struct rdmap_seg pkt = {
	    .ssn = ssn, .src_ip = asked_ip, .src_qpn = asked_qpn, .stag = stag};

	return wqe_from_sink(A->nic, qp, &pkt, stag);
}

/* Its queue pair is being flushed, or no context has had its number yet. */
static void sink_is_gone(uint32_t stag, uint32_t ssn)
{
	uint32_t high = A->nic->host.wqes.high;

	A->qp[0]->flushing = true;
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
	A->qp[0]->flushing = false;
	A->nic->host.wqes.high = fw_pool_index(&A->nic->host.wqes, wqe);
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
	A->nic->host.wqes.high = high;
}

/* The name of a sink is valid for its request alone, while that waits. */
static void sinks(void)
{
	const uint32_t ssn = UINT32_MAX;
	struct rd_flow flow;
	uint32_t stag, i;

	begin();
	wqe->opcode = HW_WQE_READ;
	wqe->ssn = ssn;
	asked_ip = wqe->dst_ip;
	asked_qpn = wqe->dst_qpn;
	stag = wqe_sink_stag(A->nic, wqe);
	CU_ASSERT_TRUE(stag & STAG_SINK_FLAG);
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn)); /* in no flow */
	wqe->flow = &flow;
	CU_ASSERT_PTR_EQUAL(from_sink(A->qp[0], stag, ssn), wqe);
	CU_ASSERT_PTR_NULL(from_sink(A->qp[1], stag, ssn));
	/* A reused STag, and the answer to the former request. */
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn - 1));
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn + 1));
	for (i = 0; i < 32; i++)
		CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag ^ 1u << i, ssn));
	for (i = 0; i < 1u << 24; i += 997)
		CU_ASSERT_TRUE(i == (stag & 0xffffff) ||
			       !from_sink(A->qp[0], (stag & 0xff000000) | i, ssn));
	/* Another peer of the queue pair answers. */
	if (A->qp[0]->type == HW_QPT_RD) {
		struct rdmap_seg pkt = {
		    .ssn = ssn, .src_ip = ~wqe->dst_ip, .src_qpn = wqe->dst_qpn};

		CU_ASSERT_PTR_NULL(wqe_from_sink(A->nic, A->qp[0], &pkt, stag));
		pkt.src_ip = wqe->dst_ip;
		pkt.src_qpn++;
		CU_ASSERT_PTR_NULL(wqe_from_sink(A->nic, A->qp[0], &pkt, stag));
	}
	sink_is_gone(stag, ssn);
	CU_ASSERT_PTR_EQUAL(from_sink(A->qp[0], stag, ssn), wqe);
	wqe->answered = true;
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
	wqe->answered = false;
	wqe->state = FW_WQE_DONE;
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
	wqe->state = FW_WQE_QUEUED;
	wqe->kind = FW_WQE_TERMINATE;
	CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
	wqe->kind = FW_WQE_REQUEST;
	wqe->flow = NULL;
	/* The next request in the same context has another name than the one before. */
	for (i = 1; i < 128; i++) {
		struct fw_wqe *old = wqe;

		wqe_free(A->nic, wqe);
		CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
		wqe = wqe_alloc(A->nic, A->qp[0], FW_WQE_REQUEST);
		CU_ASSERT_PTR_EQUAL(wqe, old);
		stag = wqe_sink_stag(A->nic, wqe);
		wqe_sink_draw(A->nic, wqe);
		CU_ASSERT_NOT_EQUAL(wqe_sink_stag(A->nic, wqe), stag);
		asked_ip = wqe->dst_ip;
		asked_qpn = wqe->dst_qpn;
		wqe->flow = &flow;
		wqe->ssn = ssn;
		CU_ASSERT_PTR_NULL(from_sink(A->qp[0], stag, ssn));
		wqe->flow = NULL;
	}
	end();
}

static uint32_t drawn;

static uint64_t draw(void *ctx)
{
	(void)ctx;
	return (uint64_t)drawn << 32;
}

/* So it is with each number that is drawn. */
static void next_sinks(void)
{
	uint64_t (*was)(void *);
	uint32_t before;

	begin();
	was = A->nic->port.random64;
	A->nic->port.random64 = draw;
	for (drawn = 0; drawn < 1 << 16; drawn++) {
		before = wqe_sink_stag(A->nic, wqe);
		wqe_sink_draw(A->nic, wqe);
		if (wqe_sink_stag(A->nic, wqe) == before)
			break;
	}
	CU_ASSERT_EQUAL(drawn, 1 << 16);
	A->nic->port.random64 = was;
	end();
}

UT_MAIN("pair/wqe_gather", UT(every_cut), UT(inline_wraps), UT(data_in_one_piece), UT(keys),
	UT(sinks), UT(next_sinks))
