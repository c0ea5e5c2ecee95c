/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a thread looks for completions before it sleeps.
 *
 * A sleep costs a switch, an event of the NIC and system calls, so a thread whose sleeps turn out
 * shorter than a look may last looks longer the next time, and one that sleeps long looks as
 * shortly as it began. Looks yield the processor (weft_poll_again()). If a yield takes long, other
 * threads compute here: a sleeping thread is woken sooner than one that yields comes back, so it
 * sleeps at once for a while. The file polling_time of rsocket(7) sets one time for all.
 */
#include "host_driver/rdmacm/rs.h"
#include "lib/clock.h"

#define SPIN_MAX_NS   UINT64_C(200000)
#define SPIN_CROWD_NS UINT64_C(200000)
enum {
	SPIN_CROWD_TIMES = 100, /* no looks for so many times as long as the yield took */
};

static __thread struct {
	uint64_t ns; /* 0: the shortest */
	uint64_t crowd_until_ns;
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

bool rs_spin_again(uint64_t end_ns)
{
	uint64_t begin_ns = clock_now_ns(), took_ns;

	if (rs_spin_over(end_ns))
		return false;
	weft_poll_again();
	took_ns = clock_now_ns() - begin_ns;
	if (took_ns >= SPIN_CROWD_NS && !rs_spin_is_set()) {
		spin.ns = 0;
		spin.crowd_until_ns = begin_ns + took_ns + took_ns * SPIN_CROWD_TIMES;
	}
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
