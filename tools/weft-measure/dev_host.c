/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A load's cost to the host; see dev_host.h.
 */
#include "tools/weft-measure/dev_host.h"

#include <math.h>

void dev_host_open(struct dev_host *host)
{
	const struct irqs_options options = {0};

	if (irqs_open(&host->irqs, &options, host->message, sizeof(host->message)))
		host->irqs = NULL;
}

/* Without it a tuning goes on: it says so in its description, and in what is not measured. */
static void give_up(struct dev_host *host)
{
	irqs_close(host->irqs);
	host->irqs = NULL;
}

void dev_host_begin(struct dev_host *host, pid_t pid)
{
	if (!host->irqs)
		return;
	/* A process that has ended counts nothing more: the sums are those of the one that lives.
	 */
	if (host->pid != pid && irqs_add_pid(host->irqs, pid)) {
		give_up(host);
		return;
	}
	host->pid = pid;
	if (irqs_start(host->irqs))
		give_up(host);
}

void dev_host_end(struct dev_host *host, struct tune_outcome *run)
{
	struct irqs_counts counts;

	run->wakeups = run->switches = run->softirqs = NAN;
	if (!host->irqs)
		return;
	if (irqs_read(host->irqs, &counts)) {
		give_up(host);
		return;
	}
	run->busy_a = (double)counts.cpu_ns * 1e-9 / run->seconds;
	run->wakeups = (double)counts.wakeups;
	run->switches = (double)(counts.voluntary + counts.involuntary);
	run->softirqs = (double)counts.softirqs;
}

void dev_host_close(struct dev_host *host)
{
	irqs_close(host->irqs);
	host->irqs = NULL;
}
