/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-irqs' arithmetic: buckets, percentiles, differences between two reports.
 */
#include "tools/weft-irqs/hist.c"
#include "tools/weft-irqs/irqs_report.c"

#include "tests/ut.h"

static void add(struct irqs_hist *hist, uint64_t ns, uint64_t times)
{
	hist->count += times;
	hist->sum_ns += ns * times;
	hist->max_ns = ns > hist->max_ns ? ns : hist->max_ns;
	hist->bucket[irqs_bucket(ns)] += times;
}

/* Every bucket begins where the previous one ends, and holds its values. */
static void buckets(void)
{
	CU_ASSERT_EQUAL(irqs_bucket(0), 0);
	CU_ASSERT_EQUAL(irqs_bucket(3), 3);
	CU_ASSERT_EQUAL(irqs_bucket(4), 4);
	CU_ASSERT_EQUAL(irqs_bucket(9), 8);
	CU_ASSERT_EQUAL(irqs_bucket(10), 9);
	for (uint32_t i = 0; i < IRQS_BUCKETS; i++) {
		CU_ASSERT_EQUAL_FATAL(irqs_bucket(hist_low_ns(i)), i);
		CU_ASSERT_TRUE_FATAL(hist_low_ns(i) < hist_low_ns(i + 1));
		CU_ASSERT_EQUAL_FATAL(irqs_bucket(hist_low_ns(i + 1) - 1), i);
		/* Exact to within a quarter. */
		if (i >= IRQS_SUBS)
			CU_ASSERT_TRUE((hist_low_ns(i + 1) - hist_low_ns(i)) * 4 <= hist_low_ns(i));
	}
	CU_ASSERT_EQUAL(hist_low_ns(IRQS_BUCKETS), (uint64_t)1 << 37);
	CU_ASSERT_EQUAL(irqs_bucket((uint64_t)1 << 37), IRQS_BUCKETS - 1);
	CU_ASSERT_EQUAL(irqs_bucket(UINT64_MAX), IRQS_BUCKETS - 1);
}

static void no_values(void)
{
	struct irqs_hist hist = {0};
	struct irqs_latency l = hist_latency(&hist);

	CU_ASSERT_EQUAL(l.count, 0);
	CU_ASSERT_EQUAL(l.mean_ns, 0);
	CU_ASSERT_EQUAL(l.p50_ns, 0);
	CU_ASSERT_EQUAL(l.max_ns, 0);
}

static void one_value(void)
{
	struct irqs_hist hist = {0};
	struct irqs_latency l;

	add(&hist, 1030, 1);
	l = hist_latency(&hist);
	CU_ASSERT_EQUAL(l.mean_ns, 1030);
	/* The middle of the bucket would be 1152: no result is above the greatest value. */
	CU_ASSERT_EQUAL(l.p50_ns, 1030);
	CU_ASSERT_EQUAL(l.p99_ns, 1030);
	CU_ASSERT_EQUAL(l.max_ns, 1030);
}

/* 1 to 10000 us, each once: percentiles within the width of their buckets. */
static void percentiles(void)
{
	struct irqs_hist hist = {0};
	struct irqs_latency l;

	for (uint64_t i = 1; i <= 10000; i++)
		add(&hist, i * 1000, 1);
	l = hist_latency(&hist);
	CU_ASSERT_EQUAL(l.count, 10000);
	CU_ASSERT_EQUAL(l.mean_ns, 5000500);
	CU_ASSERT_DOUBLE_EQUAL((double)l.p50_ns, 5e6, 0.01 * 5e6);
	CU_ASSERT_DOUBLE_EQUAL((double)l.p90_ns, 9e6, 0.05 * 9e6);
	CU_ASSERT_DOUBLE_EQUAL((double)l.p99_ns, 9.9e6, 0.05 * 9.9e6);
	CU_ASSERT_EQUAL(l.max_ns, 10000000);
	CU_ASSERT_TRUE(l.p50_ns <= l.p90_ns && l.p90_ns <= l.p99_ns && l.p99_ns <= l.max_ns);
}

/* Nearest rank: of 99 small values and a large one, the 99th is small. */
static void ranks(void)
{
	struct irqs_hist hist = {0};

	add(&hist, 100, 99);
	add(&hist, 1000000, 1);
	CU_ASSERT_TRUE(hist_quantile_ns(&hist, 0.99) < 128);
	CU_ASSERT_TRUE(hist_quantile_ns(&hist, 0.991) >= 917504);
	CU_ASSERT_TRUE(hist_quantile_ns(&hist, 0) >= 96);
	CU_ASSERT_EQUAL(hist_quantile_ns(&hist, 1), 983040);
	CU_ASSERT_TRUE(hist_quantile_ns(&hist, 1) <= hist.max_ns);
}

static void sums(void)
{
	struct irqs_hist a = {0}, b = {0};

	add(&a, 50, 3);
	add(&b, 50, 2);
	add(&b, 7000, 1);
	hist_sum(&a, &b);
	CU_ASSERT_EQUAL(a.count, 6);
	CU_ASSERT_EQUAL(a.sum_ns, 7250);
	CU_ASSERT_EQUAL(a.max_ns, 7000);
	CU_ASSERT_EQUAL(a.bucket[irqs_bucket(50)], 5);
}

/*
 * The greatest value of an interval is that of the last bucket in use, if a greater one came
 * before.
 */
static void since(void)
{
	struct irqs_hist before = {0}, now;

	add(&before, 5000, 1);
	now = before;
	add(&now, 100, 4);
	hist_since(&now, &before);
	CU_ASSERT_EQUAL(now.count, 4);
	CU_ASSERT_EQUAL(now.sum_ns, 400);
	CU_ASSERT_EQUAL(now.max_ns, 111);
	CU_ASSERT_TRUE(hist_quantile_ns(&now, 0.5) >= 96 && hist_quantile_ns(&now, 0.5) <= 111);

	now = before;
	add(&now, 9000, 1);
	hist_since(&now, &before);
	CU_ASSERT_EQUAL(now.max_ns, 9000);

	now = before;
	hist_since(&now, &before);
	CU_ASSERT_EQUAL(now.count, 0);
	CU_ASSERT_EQUAL(now.max_ns, 0);
}

static struct irqs_report *make_report(uint64_t at_ns, uint64_t n)
{
	struct irqs_report *r = calloc(1, sizeof(*r));

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	r->at_ns = at_ns;
	r->num_rows = IRQS_SLOT_FIRST + 2;
	for (uint32_t i = 0; i < r->num_rows; i++) {
		r->row[i].counts.voluntary = n * (i + 1);
		r->row[i].counts.wakeups = n;
		r->row[i].counts.softirqs[IRQS_NET_RX] = n;
		r->row[i].counts.softirqs[IRQS_TIMER] = 1;
		r->row[i].counts.softirq_ns[IRQS_NET_RX] = 10 * n;
	}
	r->wake = calloc(2, sizeof(*r->wake));
	r->netdev = calloc(1, sizeof(*r->netdev));
	CU_ASSERT_FATAL(r->wake && r->netdev);
	r->num_wakes = 2;
	r->wake[0].key = (struct irqs_wake_key){IRQS_SLOT_FIRST, IRQS_BY_PROCESS, 7};
	r->wake[1].key = (struct irqs_wake_key){IRQS_SLOT_FIRST + 1, IRQS_BY_SOFTIRQ, IRQS_NET_RX};
	r->wake[0].selected = true;
	add(&r->wake[0].wake.latency, 1000, n);
	add(&r->wake[1].wake.latency, 64000, n);
	r->num_netdevs = 1;
	r->netdev[0].key.ifindex = 3;
	r->netdev[0].netdev.polls = n;
	r->netdev[0].netdev.packets = 5 * n;
	r->lost.wakes = n;
	return r;
}

static void reports(void)
{
	struct irqs_report *before = make_report(1000, 2), *now = make_report(5000, 12), *copy;
	struct irqs_counts counts;
	struct irqs_hist hist;

	/* A process, a waker and an interface that are new. */
	before->num_rows--;
	before->num_wakes--;
	before->num_netdevs--;
	copy = irqs_report_copy(now);
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	irqs_report_since(now, before);
	CU_ASSERT_EQUAL(now->time_ns, 4000);
	CU_ASSERT_EQUAL(now->row[IRQS_SLOT_FIRST].counts.voluntary, 40);
	CU_ASSERT_EQUAL(now->row[IRQS_SLOT_FIRST + 1].counts.voluntary, 60);
	CU_ASSERT_EQUAL(now->wake[0].wake.latency.count, 10);
	CU_ASSERT_EQUAL(now->wake[1].wake.latency.count, 12);
	CU_ASSERT_EQUAL(now->netdev[0].netdev.packets, 60);
	CU_ASSERT_EQUAL(now->lost.wakes, 10);

	/*
	 * Sums are over the requested processes, without the rest and idle; the machine is all of
	 * them.
	 */
	irqs_report_sum(now, &counts);
	CU_ASSERT_EQUAL(counts.time_ns, 4000);
	CU_ASSERT_EQUAL(counts.voluntary, 30 + 40 + 60);
	CU_ASSERT_EQUAL(counts.wakeups, 10 + 10 + 12);
	CU_ASSERT_EQUAL(counts.softirqs, 32 + 1);
	CU_ASSERT_EQUAL(counts.softirq_ns, 320);
	CU_ASSERT_EQUAL(counts.machine_softirqs, 52 + 1);
	CU_ASSERT_EQUAL(counts.lost, 10);
	/* An unrequested waker is not in the times. */
	CU_ASSERT_EQUAL(counts.wake_latency.count, 10);
	CU_ASSERT_EQUAL(counts.wake_latency.max_ns, 1000);
	irqs_report_latency(now, IRQS_SLOT_FIRST + 1, &hist);
	CU_ASSERT_EQUAL(hist.count, 0);

	/* The copy keeps it. */
	CU_ASSERT_EQUAL(copy->wake[0].wake.latency.count, 12);
	CU_ASSERT_EQUAL(copy->netdev[0].netdev.polls, 12);
	irqs_report_free(copy);
	irqs_report_free(now);
	irqs_report_free(before);
	irqs_report_free(NULL);
}

UT_MAIN("tools/irqs_hist", UT(buckets), UT(no_values), UT(one_value), UT(percentiles), UT(ranks),
	UT(sums), UT(since), UT(reports))
