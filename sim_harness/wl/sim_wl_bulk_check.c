/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of the workloads incast and outcast.
 *
 * Goodput as a share of the line rate and of the rate without headers, the slowest window, Jain's
 * index over the flows (Jain, Chiu, Hawe 1984), drops and retransmissions.
 */
#include "lib/stats.h"
#include "sim_harness/wl/sim_wl_bulk.h"

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_mpa.h"
#include "shared_defs/wire_tcp.h"

/*
 * Returns the share of the line rate that headers and gaps leave for messages of this length, in
 * per cent.
 */
static double ideal_percent(const struct sim_run *run)
{
	uint32_t rd = sizeof(struct wire_udp) + sizeof(struct wire_dgram) + sizeof(struct wire_rd) +
		      WIRE_DGRAM_CRC_BYTES;
	uint32_t tcp = sizeof(struct wire_tcp) + WIRE_TCP_TS_PADDED_BYTES +
		       sizeof(struct wire_mpa_fpdu) + WIRE_MPA_CRC_BYTES;
	uint32_t head = sizeof(struct wire_ip) + (run->param[P_TCP] ? tcp : rd) +
			sizeof(struct wire_ddp_untagged);
	uint32_t segment = (sim_get_config(run->sim)->mtu - head) & ~7u;
	uint64_t bytes = run->param[P_BYTES], frames = (bytes + segment - 1) / segment;

	return 100.0 * (double)bytes /
	       (double)(bytes + frames * (sizeof(struct wire_eth) + head + ETH_GAP_BYTES));
}

static double slowest_window(const struct sim_run *run, const struct bulk *b, double line_bytes)
{
	uint64_t windows = (run->end_ns - run->begin_ns) / WINDOW_NS, i, least = UINT64_MAX;

	for (i = (bulk_measured_ns(run) - run->begin_ns) / WINDOW_NS;
	     i < windows && i < WINDOWS_MAX; i++) {
		if (b->window[i] < least)
			least = b->window[i];
	}
	return least == UINT64_MAX ? -1 : 100.0 * (double)least / (line_bytes * WINDOW_NS);
}

static void durations(struct sim_run *run, struct bulk *b)
{
	double sum = 0;
	uint32_t i;

	if (!b->num_took)
		return;
	stats_sort_u64(b->took_ns, b->num_took);
	for (i = 0; i < b->num_took; i++)
		sum += (double)b->took_ns[i];
	sim_run_figure(run, "request_us", sum / b->num_took / 1e3);
	sim_run_figure(run, "request_p99_us",
		       (double)b->took_ns[(uint64_t)b->num_took * 99 / 100] / 1e3);
}

void bulk_check(struct sim_run *run)
{
	struct bulk *b = run->state;
	double line_bytes = (double)run->param[P_GBPS] / 8; /* per ns */
	double ns = (double)run->end_ns - (double)bulk_measured_ns(run);
	double sum = 0, squares = 0, share;
	uint64_t drops = 0, faults = 0, frames = 0, again = 0, timeouts = 0, cuts = 0, marks = 0;
	bool tcp = run->param[P_TCP];
	uint32_t i;

	for (i = 0; i < b->num; i++) {
		double x = (double)b->flow[i].bytes;

		sum += x;
		squares += x * x;
	}
	for (i = 0; i <= b->num; i++) {
		struct sim_nic *nic = sim_nic_at(run->sim, i);
		const struct sim_nic_counts *c = sim_nic_counts(nic);

		drops += c->drop_switch_queue + c->drop_rx_queue;
		faults += c->drop_fault;
		marks += c->ecn_marked;
		frames += c->tx_frames;
		again += sim_nic_stat(nic, tcp ? "tcp_tx_retransmits" : "rd_tx_retransmits");
		timeouts += sim_nic_stat(nic, tcp ? "tcp_timeouts" : "rd_timeouts");
		cuts += sim_nic_stat(nic, tcp ? "tcp_recoveries" : "rd_cwnd_cuts");
	}
	share = ns > 0 ? 100 * sum / (line_bytes * ns) : 0;
	sim_run_figure(run, "goodput_gbps", ns > 0 ? 8 * sum / ns : 0);
	sim_run_figure(run, "line_percent", share);
	sim_run_figure(run, "ideal_percent", ideal_percent(run));
	sim_run_figure(run, "slowest_5ms_percent", slowest_window(run, b, line_bytes));
	sim_run_figure(run, "jain_index", squares > 0 ? sum * sum / (b->num * squares) : 0);
	sim_run_figure(run, "queue_drops", (double)drops);
	sim_run_figure(run, "fault_drops", (double)faults);
	sim_run_figure(run, "ecn_marks", (double)marks);
	sim_run_figure(run, "frames", (double)frames);
	sim_run_figure(run, "retransmits", (double)again);
	sim_run_figure(run, "timeouts", (double)timeouts);
	sim_run_figure(run, "window_cuts", (double)cuts);
	sim_run_figure(run, "slowest_request_us", (double)b->late_ns / 1e3);
	durations(run, b);
}
