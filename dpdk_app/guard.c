/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guarded bursts: a SIGSEGV within one jumps back to its start. Outside of one a SIGSEGV is
 * what it always is.
 *
 * Called by wire_ethdev.c; calls rte_ethdev.
 */
#include "dpdk_app/guard.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <setjmp.h>
#include <signal.h>

static _Thread_local sigjmp_buf guard_return;
static _Thread_local volatile sig_atomic_t guard_armed;

static void guard_on_fault(int signo)
{
	if (guard_armed) {
		guard_armed = 0;
		siglongjmp(guard_return, 1);
	}
	/* Our own mistake: back to the instruction, and down. */
	signal(signo, SIG_DFL);
}

int guard_init(void)
{
	/* SA_NODEFER: the jump leaves the handler without the mask being restored. */
	struct sigaction action = {.sa_handler = guard_on_fault, .sa_flags = SA_NODEFER};
	static bool installed;

	if (installed)
		return 0;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGSEGV, &action, NULL))
		return -errno;
	installed = true;
	return 0;
}

uint16_t guard_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n,
			bool *fault)
{
	uint16_t got;

	if (sigsetjmp(guard_return, 0)) {
		*fault = true;
		return 0;
	}
	guard_armed = 1;
	got = rte_eth_rx_burst(port, queue, frames, n);
	guard_armed = 0;
	return got;
}

uint16_t guard_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n,
			bool *fault)
{
	const volatile uint16_t offered = n; /* survives the jump back */
	uint16_t sent;

	if (sigsetjmp(guard_return, 0)) {
		*fault = true;
		return offered;
	}
	guard_armed = 1;
	sent = rte_eth_tx_burst(port, queue, frames, n);
	guard_armed = 0;
	return sent;
}
