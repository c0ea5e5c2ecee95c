/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that writes random bytes over all memory that it shares with its NIC, while it rings:
 * header, doorbell ring, records, requests, producer indices, the NIC's own words. Run by
 * hostile.sh while other clients work. Exit status 0: the NIC still answered every command.
 */
#include "tests/int/hostile.h"

static void ring_entry(struct victim *v, uint32_t entry)
{
	struct hw_bar_header *header = (struct hw_bar_header *)v->bar;
	uint32_t *ring = (uint32_t *)(v->bar + HW_BAR_DB_RING);
	uint32_t tail = __atomic_fetch_add(&header->db_tail, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&ring[tail % HW_DB_RING_ENTRIES], entry, __ATOMIC_RELEASE);
}

/* Writes a request that is nearly valid, which random bytes would never produce. */
static void wild_wqe(struct victim *v, uint32_t i, uint32_t slot)
{
	struct hw_sq_wqe wqe;
	struct hw_sge sge[4];
	uint8_t *sq = v->bar + v->qp[i].sq_offset;
	uint32_t others = (uint32_t)rnd();

	rnd_bytes(&wqe, sizeof(wqe));
	wqe.opcode = (uint8_t)(rnd() % (HW_WQE_OPCODES + 1));
	wqe.flags = (uint8_t)(rnd() % 16);
	wqe.slots = (uint8_t)(rnd() % 4 ? 2 : rnd());
	wqe.num_sge = (uint8_t)(rnd() % 4 ? rnd() % 5 : rnd());
	wqe.inline_bytes = (uint32_t)(rnd() % 4 ? rnd() % 80 : rnd());
	wqe.ah = v->ah;
	wqe.dst_qpn = rnd() % 2 ? v->qp[rnd() % NUM_QPS].qpn : others;
	wqe.qkey = rnd() % 4 ? QKEY : others;
	wqe.rkey = rnd() % 2 ? v->stag : v->stag ^ (1u << rnd() % 32);
	wqe.remote_addr = (uintptr_t)v->mem + rnd() % (2 * MEM_BYTES);
	for (uint32_t k = 0; k < 4; k++) {
		sge[k].addr = (uintptr_t)v->mem + rnd() % MEM_BYTES - rnd() % 16;
		sge[k].bytes = (uint32_t)(rnd() % 8 ? rnd() % 20000 : rnd());
		sge[k].lkey = rnd() % 4 ? v->stag : v->stag ^ (1u << rnd() % 32);
	}
	memcpy(sq + (uint64_t)(slot % SQ_SLOTS) * HW_SQ_SLOT_BYTES, &wqe, sizeof(wqe));
	memcpy(sq + (uint64_t)((slot + 1) % SQ_SLOTS) * HW_SQ_SLOT_BYTES, sge, sizeof(sge));
}

/* Sets producer indices: a little ahead, far ahead, behind. */
static void wild_index(struct victim *v, uint32_t i)
{
	struct hw_qp_record *rec = (struct hw_qp_record *)(v->bar + v->qp[i].record_offset);
	uint32_t prod = __atomic_load_n(&rec->sq_prod, __ATOMIC_RELAXED);

	switch (rnd() % 8) {
	case 0:
		prod = (uint32_t)rnd();
		break;
	case 1:
		prod -= (uint32_t)(rnd() % SQ_SLOTS);
		break;
	case 2:
		prod += SQ_SLOTS + (uint32_t)(rnd() % SQ_SLOTS);
		break;
	default:
		for (uint32_t k = 0; k < 8; k++)
			wild_wqe(v, i, prod + 2 * k);
		prod += 16;
	}
	__atomic_store_n(&rec->sq_prod, prod, __ATOMIC_RELEASE);
	__atomic_store_n(&rec->rq_prod, (uint32_t)(rnd() % 4 ? rnd() % 32 : rnd()),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&rec->rung, (uint32_t)(rnd() % 3), __ATOMIC_RELEASE);
}

/* Writes random bytes over a part of the BAR; sometimes over all that is in use. */
static void scribble(struct victim *v)
{
	uint64_t at = rnd() % v->used_bytes, bytes = 1 + rnd() % 4096;

	switch (rnd() % 16) {
	case 0:
		rnd_bytes(v->bar, v->used_bytes);
		return;
	case 1:
		rnd_bytes(v->bar, HW_BAR_DYNAMIC);
		return;
	case 2:
		memset(v->bar, (int)(rnd() % 2 ? 0 : 0xff), v->used_bytes);
		return;
	case 3: /* an address where nothing lies */
		at = rnd() % v->bar_bytes;
		break;
	case 4:
	case 5:
	case 6: /* records and rings */
		at = HW_BAR_DYNAMIC + rnd() % (v->used_bytes - HW_BAR_DYNAMIC);
		break;
	default:
		break;
	}
	if (at + bytes > v->bar_bytes)
		bytes = v->bar_bytes - at;
	rnd_bytes(v->bar + at, bytes);
}

/* Rings for existing and absent objects of every kind. */
static void ring(struct victim *v)
{
	for (uint32_t k = 0; k < 64; k++) {
		switch (rnd() % 5) {
		case 0:
			ring_entry(v, HW_DB_ENTRY(HW_DB_CQ_ARM,
						  rnd() % 2 ? v->cq : (uint32_t)rnd() & 0xffffff));
			break;
		case 1:
			ring_entry(v, (uint32_t)rnd());
			break;
		case 2:
			ring_entry(v, HW_DB_ENTRY(HW_DB_EQ, rnd() % 4));
			break;
		default:
			ring_entry(v, HW_DB_ENTRY(HW_DB_SQ, v->qp[rnd() % NUM_QPS].qpn));
		}
	}
	if (eventfd_write(v->fd[1], 1))
		die("eventfd: %s", strerror(errno));
}

static void run_scribble(uint32_t rounds)
{
	struct hw_cmd cmd;
	struct hw_cmd_resp resp;
	struct victim v;

	for (uint32_t life = 0; life < 1 + rounds / 50; life++) {
		furnish(&v, 1 + life % 2);
		for (uint32_t i = 0; i < 50; i++) {
			for (uint32_t k = 0; k < NUM_QPS; k++)
				wild_index(&v, k);
			ring(&v);
			scribble(&v);
			ring(&v);
			/* The NIC still answers commands, and broken QPs are reset. */
			cmd = (struct hw_cmd){.op = HW_CMD_QUERY_QP,
					      .u.obj.handle = v.qp[i % NUM_QPS].qpn};
			must(&v, &cmd, &resp);
			if (resp.u.query_qp.attr.state == HW_QPS_ERR || rnd() % 8 == 0) {
				uint32_t qpn = v.qp[i % NUM_QPS].qpn;

				to_state(&v, qpn, HW_QPS_RESET, 0);
				to_state(&v, qpn, HW_QPS_INIT,
					 HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY |
					     HW_QP_ACCESS_FLAGS);
				to_state(&v, qpn, HW_QPS_RTR, 0);
				to_state(&v, qpn, HW_QPS_RTS, HW_QP_SQ_PSN);
			}
		}
		/* Some clients end in the middle, others free their objects. */
		if (life % 2) {
			for (uint32_t k = 0; k < NUM_QPS; k++) {
				cmd = (struct hw_cmd){.op = HW_CMD_DESTROY_QP,
						      .u.obj.handle = v.qp[k].qpn};
				must(&v, &cmd, &resp);
			}
		}
		detach(&v);
	}
}

int main(int argc, char **argv)
{
	run_scribble(hostile_args(argc, argv));
	return 0;
}
