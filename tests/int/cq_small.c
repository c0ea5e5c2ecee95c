/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose completion queue is too small: it posts more Sends than the queue has room for,
 *polls none, and waits for the event that says so.
 *
 *	cq_small NIC
 *
 * Prints "overrun". Run by tests/ops/prometheus.sh. Calls host_driver.
 */
#include "tests/int/host.h"

enum {
	SENDS = 1024,
	BYTES = 4096,
};

int main(int argc, char **argv)
{
	struct weft_sge sge = {.bytes = 8};
	struct weft_send_wr send = {.sg_list = &sge,
				    .num_sge = 1,
				    .opcode = WEFT_WR_SEND,
				    .flags = WEFT_SEND_SIGNALED,
				    .qkey = HOST_QKEY};
	struct weft_async_event event;
	struct host_end end;
	struct weft_cq *cq;
	struct weft_qp *qp;

	if (argc != 2)
		host_die("cq_small NIC");
	host_open(&end, argv[1], BYTES);
	cq = weft_create_cq(end.ctx, 4, NULL, NULL);
	host_check(cq);
	qp = host_qp(&end, WEFT_QPT_UD, cq, NULL, SENDS);
	sge.addr = (uintptr_t)end.mem;
	sge.lkey = end.mr->lkey;
	send.ah = end.ah;
	send.dst_qpn = qp->qpn;
	for (int i = 0; i < SENDS; i++)
		host_check(weft_post_send(qp, &send, NULL) == 0);
	do {
		host_check(weft_get_async_event(end.ctx, &event) == 0);
		weft_ack_async_event(&event);
	} while (event.type != WEFT_EVENT_CQ_ERR);
	host_check(event.cq == cq);
	puts("overrun");
	host_check(weft_destroy_qp(qp) == 0);
	host_check(weft_destroy_cq(cq) == 0);
	host_close(&end);
	return 0;
}
