/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each field of the headers of DDP and RDMAP, wrong on the wire: the Terminate that answers is
 * compared in full, with its quote. The rows of docs/terminate.md. nic_fw/mpa/mpa_ddp.c,
 * mpa_term.c, rdmap_rx.c, rdmap_resp.c.
 */
#include "tests/pair/mpa_pair.h"

#include "tests/golden.h"

static const struct mpa_params crc = {.crc = true};

enum {
	LEN = 2, /* of the FPDU's length field */
	STAG = LEN + 2,
	TO = LEN + 6,
	QN = LEN + 6,
	MSN = LEN + 10,
	MO = LEN + 14,
	READ = LEN + 18, /* a Read Request's own header */
	BYTES = 200,
};

/* A change of the n-th FPDU of an end, and the Terminate with which the other end answers. */
struct lie {
	uint32_t from, nth;
	uint8_t opcode;
	uint32_t at, bytes;
	uint64_t value; /* big-endian */
	uint32_t ulpdu; /* new length; 0: unchanged */
	uint8_t layer_etype, code, hdrct;
	uint32_t without; /* rights that the other end's queue pair lacks */
};

static const struct lie *lie;
static uint32_t lie_n;
static uint8_t fault[128]; /* the first bytes of the changed FPDU */

static void tell(struct mp_side *from, uint8_t *fpdu, uint32_t bytes)
{
	uint32_t i, n;
	struct be16 length;
	struct be32 sum;

	(void)bytes;
	if (from->e != lie->from || lie_n++ != lie->nth)
		return;
	for (i = 0; i < lie->bytes; i++)
		fpdu[lie->at + i] = (uint8_t)(lie->value >> 8 * (lie->bytes - 1 - i));
	if (lie->ulpdu) {
		length = be16_put((uint16_t)lie->ulpdu);
		memcpy(fpdu, &length, sizeof(length));
		n = mpa_plain_bytes(lie->ulpdu);
		memset(fpdu + LEN + lie->ulpdu, 0, n - LEN - lie->ulpdu);
		/* The FPDU on the wire grows or shrinks to the changed length. */
		from->seg[from->made - 1].end = from->wrote + n;
		from->wrote += n - bytes;
		bytes = n;
	}
	sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, fpdu, bytes - WIRE_MPA_CRC_BYTES));
	memcpy(fpdu + bytes - WIRE_MPA_CRC_BYTES, &sum, sizeof(sum));
	memcpy(fault, fpdu, bytes < sizeof(fault) ? bytes : sizeof(fault));
}

static void check_lie(uint32_t number)
{
	struct mp_side *victim;
	struct hw_cqe cqe;
	struct hw_qp_attr attr = {.access = RP_ALL_ACCESS & ~lie->without};

	mp_begin(&crc);
	victim = &mp.side[!lie->from];
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, victim->e, victim->qp, HW_QPS_RTS, HW_QP_ACCESS_FLAGS, &attr), 0);
	memset(MP_MEM(1) + MP_DST - 64, 0x22, 2 * BYTES + 128);
	rp_recv(&rp, 1, mp.side[1].qp, 50, 0, 2 * BYTES);
	mp.change = tell;
	mp.mss = BYTES; /* two segments */
	lie_n = 0;
	mp_req(0, lie->opcode, 1, lie->opcode == HW_WQE_FETCH_ADD ? 8 : 3 * BYTES / 2, 0);
	mp_run();
	CU_ASSERT_TRUE(lie_n > lie->nth);
	if (!mp_expect_terminate(victim, lie->layer_etype, lie->code, lie->hdrct, fault))
		printf("\n    lie %u", number);
	CU_ASSERT_EQUAL(victim->conn->state, MPA_TERM_SENT);
	CU_ASSERT_TRUE(victim->closed);
	CU_ASSERT_EQUAL(victim->qp->state, HW_QPS_ERR);
	/* The peer has received it. */
	CU_ASSERT_EQUAL(mp.side[lie->from].qp->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(rp.end[lie->from].nic->counters.mpa_terminates_rx, 1);
	CU_ASSERT_EQUAL(MP_MEM(1)[MP_DST - 1], 0x22);
	CU_ASSERT_EQUAL(MP_MEM(1)[MP_DST + 3 * BYTES / 2], 0x22);
	while (rp_scqe(&rp, 0, &cqe) || rp_rcqe(&rp, 1, &cqe))
		;
	mp_end();
}

#define MD    WIRE_TERM_HDRCT_M | WIRE_TERM_HDRCT_D
#define MDR   MD | WIRE_TERM_HDRCT_R
#define WRITE HW_WQE_WRITE
#define SEND  HW_WQE_SEND
#define RD_   HW_WQE_READ
#define ADD   HW_WQE_FETCH_ADD

static void lies(void)
{
	static const struct lie list[] = {
	    /* DDP: versions, queue, number, offset, length */
	    {0, 0, WRITE, LEN, 1, 0x82, 0, 0x11, 0x04, MD, 0},
	    {0, 0, SEND, LEN, 1, 0x03, 0, 0x12, 0x06, MD, 0},
	    {0, 0, SEND, QN, 4, 4, 0, 0x12, 0x01, MD, 0},
	    {0, 0, SEND, QN, 4, 0x80000000, 0, 0x12, 0x01, MD, 0},
	    {0, 0, SEND, MSN, 4, 0, 0, 0x12, 0x03, MD, 0},
	    {0, 0, SEND, MSN, 4, 2, 0, 0x12, 0x03, MD, 0},
	    {0, 0, SEND, MO, 4, 1, 0, 0x12, 0x04, MD, 0},
	    {0, 1, SEND, MO, 4, 0, 0, 0x12, 0x04, MD, 0},
	    {0, 1, SEND, MO, 4, 0xffffffff, 0, 0x12, 0x04, MD, 0},
	    {0, 1, SEND, LEN, 0, 0, 1000, 0x12, 0x05, MD, 0},
	    /* RDMAP: version, opcode, a queue of another opcode */
	    {0, 0, SEND, LEN + 1, 1, 0x83, 0, 0x02, 0x05, MD, 0},
	    {0, 0, SEND, LEN + 1, 1, 0x4c, 0, 0x02, 0x06, MD, 0},
	    {0, 0, SEND, LEN + 1, 1, 0x4f, 0, 0x02, 0x06, MD, 0},
	    {0, 0, SEND, LEN + 1, 1, 0x40, 0, 0x02, 0x06, MD, 0},
	    {0, 0, SEND, QN, 4, 1, 0, 0x02, 0x06, MD, 0},
	    {0, 0, WRITE, LEN + 1, 1, 0x43, 0, 0x02, 0x06, MD, 0},
	    /* Writes: STag, base and bounds, wrap */
	    {0, 0, WRITE, STAG, 4, 0x7fffff00, 0, 0x11, 0x00, MD, 0},
	    {0, 0, WRITE, TO, 8, 16, 0, 0x11, 0x01, MD, 0},
	    {0, 0, WRITE, TO, 8, UINT64_MAX - 3, 0, 0x11, 0x03, MD, 0},
	    {0, 0, WRITE, 0, 0, 0, 0, 0x01, 0x02, MD, HW_ACCESS_REMOTE_WRITE},
	    {0, 1, WRITE, STAG, 4, 0, 0, 0x11, 0x00, MD, 0},
	    /* Sends that invalidate a key which they may not */
	    {0, 1, SEND, LEN + 1, 1, 0x44, 0, 0x01, 0x09, MD, 0},
	    {0, 1, SEND, LEN + 1, 1, 0x46, 0, 0x01, 0x09, MD, 0},
	    /* Reads: the source, with the request quoted; lengths */
	    {0, 0, RD_, READ + 16, 4, 0x7fffff00, 0, 0x01, 0x00, MDR, 0},
	    {0, 0, RD_, READ + 20, 8, 16, 0, 0x01, 0x01, MDR, 0},
	    {0, 0, RD_, READ + 20, 8, UINT64_MAX - 3, 0, 0x01, 0x04, MDR, 0},
	    {0, 0, RD_, READ + 12, 4, 0xffffffff, 0, 0x01, 0x02, MDR, 0},
	    {0, 0, RD_, 0, 0, 0, 0, 0x01, 0x02, MDR, HW_ACCESS_REMOTE_READ},
	    {0, 0, RD_, MSN, 4, 7, 0, 0x12, 0x03, MD, 0},
	    {0, 0, RD_, MO, 4, 4, 0, 0x12, 0x04, MD, 0},
	    {0, 0, RD_, LEN, 1, 0x01, 0, 0x12, 0x05, MD, 0},
	    {0, 0, RD_, LEN, 0, 0, 18 + 29, 0x12, 0x05, MD, 0},
	    {0, 0, RD_, LEN, 0, 0, 18 + 27, 0x02, 0xff, MD, 0},
	    /* Atomics: unknown ones, and ones for other queue pairs */
	    {0, 0, ADD, READ, 4, 3, 0, 0x01, 0x02, MDR, 0},
	    {0, 0, ADD, READ + 8, 4, 0x7fffff00, 0, 0x01, 0x00, MDR, 0},
	    {0, 0, ADD, READ + 12, 8, 16, 0, 0x01, 0x01, MDR, 0},
	    {0, 0, ADD, READ + 12, 8, UINT64_MAX - 7, 0, 0x01, 0x01, MDR, 0},
	    {0, 0, ADD, READ + 19, 1, 4, 0, 0x01, 0xff, MDR, 0},
	    {0, 0, ADD, 0, 0, 0, 0, 0x01, 0x02, MDR, HW_ACCESS_REMOTE_ATOMIC},
	    {0, 0, ADD, LEN, 0, 0, 18 + 51, 0x02, 0xff, MD, 0},
	    {0, 0, ADD, LEN, 0, 0, 18 + 53, 0x12, 0x05, MD, 0},
	    /* Answers: to no request, elsewhere, too long, out of order */
	    {1, 0, RD_, STAG, 4, 1, 0, 0x11, 0x00, MD, 0},
	    {1, 0, RD_, TO, 8, 1, 0, 0x11, 0x01, MD, 0},
	    {1, 1, RD_, TO, 8, 0, 0, 0x11, 0x01, MD, 0},
	    {1, 1, RD_, LEN, 0, 0, 1000, 0x11, 0x01, MD, 0},
	    {1, 0, ADD, READ, 4, 1, 0, 0x02, 0xff, MD, 0},
	    {1, 0, ADD, MSN, 4, 2, 0, 0x12, 0x03, MD, 0},
	    {1, 0, ADD, LEN, 0, 0, 18 + 11, 0x02, 0xff, MD, 0},
	    /* an unrequested answer; a malformed Terminate */
	    {0, 0, WRITE, LEN + 1, 1, 0x42, 0, 0x11, 0x00, MD, 0},
	    {1, 0, ADD, LEN, 0, 0, 18 + 13, 0x12, 0x05, MD, 0},
	    /* no room for a header */
	    {0, 0, SEND, LEN, 0, 0, 17, 0x02, 0xff, 0, 0},
	    {0, 0, WRITE, LEN, 0, 0, 13, 0x02, 0xff, 0, 0},
	    {0, 0, WRITE, LEN, 0, 0, 1, 0x02, 0xff, 0, 0},
	};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		lie = &list[i];
		check_lie(i);
	}
}

/* ---- correct FPDUs at a wrong time ---------------------------------------------------------- */

/* Side 1 reports this for the last FPDU of side 0. */
static void expect_last(uint8_t layer_etype, uint8_t code)
{
	const struct mp_side *from = &mp.side[0];
	uint32_t begin = from->made > 1 ? from->seg[from->made - 2].end : 0;

	(void)mp_expect_terminate(&mp.side[1], layer_etype, code,
				  WIRE_TERM_HDRCT_M | WIRE_TERM_HDRCT_D, from->wire + begin);
}

static void no_receive(void)
{
	mp_begin(&crc);
	mp_req(0, HW_WQE_SEND, 1, 100, 0);
	mp.side[0].hold_acks = true; /* the Terminate may arrive first */
	mp_run();
	expect_last(0x12, 0x02);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RNR_RETRY_EXC_ERR);
	mp_end();

	mp_begin(&crc);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_WRITE_IMM, 1, 100, 0);
	mp_run();
	expect_last(0x12, 0x02);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RNR_RETRY_EXC_ERR);
	mp_end();
}

/* More concurrent reads than this end answers. */
static void too_many_reads(void)
{
	uint32_t i;

	mp_begin(&crc);
	mp.side[0].qp->attr.max_rd_atomic = 5;
	mp.side[1].hold_acks = true; /* answers are pending until they are acknowledged */
	for (i = 0; i < 5; i++)
		mp_req(0, HW_WQE_READ, i, 10, 0);
	mp_run();
	expect_last(0x12, 0x02);
	for (i = 0; i < 4; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
	rp_expect_send(&rp, 0, 4, HW_STATUS_RNR_RETRY_EXC_ERR);
	mp_end();
}

/* A Send longer than its receive fails the receive with its reason. */
static void too_long(void)
{
	mp_begin(&crc);
	rp_recv(&rp, 1, mp.side[1].qp, 50, 0, 99);
	rp_recv(&rp, 1, mp.side[1].qp, 51, 0, 99);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_SEND, 1, 100, 0);
	mp_run();
	expect_last(0x12, 0x05);
	(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_LOC_LEN_ERR);
	(void)rp_expect_recv(&rp, 1, 51, HW_STATUS_WR_FLUSH_ERR);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_INV_REQ_ERR);
	mp_end();
}

/* A wrong CRC of an FPDU that came in two frames, or byte for byte; likewise a right one. */
static void wrong_crc_of_a_collected_fpdu(void)
{
	uint8_t fpdu[256];
	uint32_t bytes = (uint32_t)golden_load("mpa_fpdu.hex", "write", fpdu, sizeof(fpdu)), at,
		 cut;

	for (cut = 1; cut < bytes; cut += cut < 3 ? 1 : bytes - 4) {
		for (uint32_t wrong = 0; wrong < 2; wrong++) {
			uint32_t n;

			mp_begin(&crc);
			fpdu[bytes / 2] ^= wrong;
			for (at = 0; at < bytes; at += n) {
				n = cut == 1 || !at ? cut : bytes - at;
				CU_ASSERT_EQUAL_FATAL(mp_receive(&mp.side[1], fpdu + at, n), n);
			}
			fpdu[bytes / 2] ^= wrong;
			CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_mpa_crc), wrong);
			CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rx_crc_checked), 1);
			CU_ASSERT_EQUAL(mp.side[1].conn->state, MPA_TERM_SENT);
			(void)mp_make(&mp.side[1]);
			if (wrong)
				mp_expect_terminate(&mp.side[1], 0x20, 0x02, 0, NULL);
			mp_end();
		}
	}
}

UT_MAIN("pair/mpa_wrong", UT(wrong_crc_of_a_collected_fpdu), UT(lies), UT(no_receive),
	UT(too_many_reads), UT(too_long))
