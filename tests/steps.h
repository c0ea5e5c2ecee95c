/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the instructions that a function executes by single-stepping the processor: a measure of
 * work that the machine's load does not change. x86-64; elsewhere steps_of() returns 0.
 */
#ifndef WEFT_TESTS_STEPS_H
#define WEFT_TESTS_STEPS_H

#include <signal.h>
#include <stdint.h>

static volatile uint64_t steps_counted;

#ifdef __x86_64__
static void steps_one(int sig)
{
	(void)sig;
	steps_counted++;
}
#endif

static inline uint64_t steps_of(void (*fn)(void))
{
#ifdef __x86_64__
	struct sigaction step = {.sa_handler = steps_one}, before;

	sigaction(SIGTRAP, &step, &before);
	steps_counted = 0;
	/* The trap flag is set from the instruction behind popf on. */
	__asm__ volatile("sub $128, %%rsp; pushf; orq $0x100, (%%rsp); popf; add $128, %%rsp" ::
			     : "memory", "cc");
	fn();
	__asm__ volatile("sub $128, %%rsp; pushf; andq $~0x100, (%%rsp); popf; add $128, %%rsp" ::
			     : "memory", "cc");
	sigaction(SIGTRAP, &before, NULL);
#else
	fn();
#endif
	return steps_counted;
}

#endif /* WEFT_TESTS_STEPS_H */
