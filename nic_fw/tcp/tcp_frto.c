/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spurious timeouts. If a peer did not run for a while, or a path stalled, no segment is lost: data
 * in flight is not sent again and the window is restored.
 *
 * tcp_timer.c reports a timeout and tcp_ack.c the ACKs after it; tcp_tx.c checks if new data goes
 * before segments that may be lost. Calls tcp_cong.c to undo. Either of two signs is enough: a
 * segment that was sent once, before the timeout, is acknowledged (F-RTO, RFC 5682 3.1); or an
 * acknowledgement echoes a timestamp of before the timeout (Eifel, RFC 3522), and no DSACK shows
 * that the ACKs were lost.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

void tcp_frto_begin(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (!tcp_synchronized(flow))
		return;
	if (!(flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS))) {
		flow->frto = TCP_FRTO_WAIT;
		flow->rto_ts = tcp_ts_now(nic->now_ns) + flow->ts_offset;
	} else if (!flow->backoff) {
		/* A loss is being repaired already, and its repair was lost. */
		flow->frto = TCP_FRTO_OFF;
	}
}

static void spurious(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_acked *acked)
{
	FW_COUNT(nic, tcp_spurious_timeouts);
	flow->frto = TCP_FRTO_OFF;
	flow->backoff = 0;
	/* The copy sent at the timeout may not have arrived yet: it proves no loss. */
	if (acked->orig) {
		flow->rack_sent_ns = acked->orig_sent_ns;
		flow->rack_end = acked->orig_end;
		flow->rack_rtt_ns = nic->now_ns - acked->orig_sent_ns;
	}
	tcp_cong_undo(nic, flow);
}

void tcp_frto_acked(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_acked *acked,
		    bool dup)
{
	if (!(flow->flags & TCP_F_LOSS) || flow->frto == TCP_FRTO_OFF)
		return;
	if (acked->orig || (acked->older && !acked->dsack)) {
		spurious(nic, flow, acked);
	} else if (seq_lt(flow->recover, flow->snd_nxt)) {
		/* Step 3a: data sent since has overtaken the missing data; room for that. */
		if (acked->sacked_new || dup) {
			flow->frto = TCP_FRTO_OFF;
			flow->cwnd = tcp_max(flow->cwnd, 3u * flow->mss);
		}
	} else if (acked->bytes && seq_lt(flow->snd_una, flow->recover)) {
		/* Step 2b: the copy arrived; the answer to new data will decide. */
		flow->frto = TCP_FRTO_NEW;
	}
}
