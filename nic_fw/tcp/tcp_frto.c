/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Was the timeout needed? A peer that did not run for a while, or a path that stood still, has
 * lost nothing; then what is in flight is not sent again and the window is what it was.
 *
 * Called by tcp_timer.c (a timeout), tcp_ack.c (ACKs after it); tcp_tx.c asks whether new data goes
 * before what may be lost. Calls tcp_cong.c to undo. Two signs, either will do: a segment that was
 * sent once, before the timeout, is acknowledged (F-RTO, RFC 5682 3.1); or what is acknowledged
 * echoes a timestamp of before (Eifel, RFC 3522), and no DSACK says that the ACKs were lost.
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
		/* Something is being repaired already, and was lost again. */
		flow->frto = TCP_FRTO_OFF;
	}
}

static void spurious(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_acked *acked)
{
	FW_COUNT(nic, tcp_spurious_timeouts);
	flow->frto = TCP_FRTO_OFF;
	flow->backoff = 0;
	/* The copy that was sent at the timeout may not have arrived yet: it proves nothing lost.
	 */
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
		/* Step 3a: what was sent since has overtaken what is missing; room for that. */
		if (acked->sacked_new || dup) {
			flow->frto = TCP_FRTO_OFF;
			flow->cwnd = tcp_max(flow->cwnd, 3u * flow->mss);
		}
	} else if (acked->bytes && seq_lt(flow->snd_una, flow->recover)) {
		/* Step 2b: the copy arrived; what comes back of something new tells more. */
		flow->frto = TCP_FRTO_NEW;
	}
}
