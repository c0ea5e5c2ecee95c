/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that rdmap/ makes to floors above it: Sends to tagged endpoints, reads of their open
 * sends, and requests that come too late. up/rdmap_up.c fills it in.
 */
#ifndef WEFT_FW_RDMAP_UP_H
#define WEFT_FW_RDMAP_UP_H

#include "nic_fw/rdmap/rdmap.h"

struct rdmap_up {
	/*
	 * A QP in RESET or INIT got a request. True: no tagged endpoint that will be set up with
	 * this number can carry it out.
	 */
	bool (*tag_is_late)(const struct fw_qp *qp, const struct rdmap_seg *pkt);
	/* As rdmap_rx_whole(). */
	bool (*tag_whole)(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt);
	/* As rdmap_rx_place() and rdmap_rx_finish(), for Sends. */
	enum rdmap_result (*tag_place)(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				       bool in_order, struct rdmap_error *error);
	enum rdmap_result (*tag_finish)(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
					const uint8_t *held, struct rdmap_error *error);
	/* A message that was arriving has ended. */
	void (*tag_abort)(struct fw_nic *nic, struct tag_arrival *tag, enum hw_status status);
	/* Places a segment of a Write to an announced receive. */
	enum rdmap_result (*tag_write)(struct fw_nic *nic, struct fw_qp *qp,
				       const struct rdmap_seg *pkt, bool in_order,
				       struct rdmap_error *error);
	/* As rdmap_read_request(), for a source that is an open send. */
	enum rdmap_result (*tag_read)(struct fw_nic *nic, struct fw_qp *qp,
				      const struct rdmap_seg *pkt,
				      const struct wire_read_request *req,
				      struct rdmap_error *error);
};

extern const struct rdmap_up rdmap_up;

#endif /* WEFT_FW_RDMAP_UP_H */
