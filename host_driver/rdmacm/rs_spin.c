/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a thread looks for completions before it sleeps.
 *
 * A sleep costs a switch, an event of the NIC and system calls, so a thread whose sleeps turn out
 * shorter than a look may last looks longer the next time, and one that sleeps long looks as
 * shortly as it began. Looks yield the processor (weft_poll_again()). If yields take long, other
 * threads compute here: a sleeping thread is woken sooner than one that yields comes back, so it
 * sleeps at once for a while. A single long yield is a hiccup of the machine. The file polling_time
 * of rsocket(7) sets one time for all.
 */
#include "host_driver/rdmacm/rs.h"
#include "lib/clock.h"

#define SPIN_MAX_NS   UINT64_C(200000)
#define SPIN_CROWD_NS UINT64_C(200000)
enum {
	SPIN_CROWD_PART = 16,   /* a long yield within so many times its length of the last one */
	SPIN_CROWD_TIMES = 100, /* no looks for so many times as long as the yield took */
};

static __thread struct {
	uint64_t ns; /* 0: the shortest */
	uint64_t crowd_until_ns;
	uint64_t long_ns; /* end of the last long yield */
} spin;

static uint64_t least_ns(void)
{
	return (uint64_t)rs_spin_us() * 1000;
}

uint64_t rs_spin_begin(void)
{
	uint64_t ns = least_ns();

	return clock_now_ns() + (spin.ns > ns ? spin.ns : ns);
}

bool rs_spin_over(uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns >= end_ns || now_ns < spin.crowd_until_ns;
}

/* Two long yields close to each other, or one after the last crowd: others compute here. */
static void note_long(uint64_t begin_ns, uint64_t took_ns)
{
	uint64_t last_ns = spin.long_ns > spin.crowd_until_ns ? spin.long_ns : spin.crowd_until_ns;

	spin.long_ns = begin_ns + took_ns;
	if (begin_ns - last_ns >= took_ns * SPIN_CROWD_PART)
		return;
	spin.ns = 0;
	spin.crowd_until_ns = spin.long_ns + took_ns * SPIN_CROWD_TIMES;
}

bool rs_spin_again(uint64_t end_ns)
{
	uint64_t begin_ns = clock_now_ns(), took_ns;

	if (rs_spin_over(end_ns))
		return false;
	weft_poll_again();
	took_ns = clock_now_ns() - begin_ns;
	if (took_ns >= SPIN_CROWD_NS && !rs_spin_is_set())
		note_long(begin_ns, took_ns);
	return true;
}

void rs_spin_slept(uint64_t since_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (rs_spin_is_set() || now_ns < spin.crowd_until_ns || now_ns - since_ns > SPIN_MAX_NS)
		spin.ns = 0;
	else if (spin.ns < least_ns())
		spin.ns = 2 * least_ns();
	else
		spin.ns *= 2;
	if (spin.ns > SPIN_MAX_NS)
		spin.ns = SPIN_MAX_NS;
}
