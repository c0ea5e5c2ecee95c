/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults in words: the meaning of each, a refusal of one line for every wrong one, and printed
 * settings that read back equal.
 *
 * Runs lib/fault_words.c.
 */
#include <stdio.h>
#include <string.h>

#include "lib/fault_words.h"
#include "tests/lib/words_refuse.h"

static struct hw_fault fault;
static char error[FAULT_WORDS_ERROR_CHARS];

static bool parse(const char *text)
{
	memset(&fault, 0xaa, sizeof(fault));
	error[0] = '\0';
	return fault_words_parse(text, &fault, error, sizeof(error));
}

static void refuse(const char *text, const char *part)
{
	words_refuse(parse(text), text, error, part);
}

static void all_words(void)
{
	CU_ASSERT_TRUE(parse("loss 1% burst 0.5% dup 2 reorder 3.25% corrupt 0.1% delay 50us "
			     "jitter 1.5us rate 10G seed 7"));
	CU_ASSERT_EQUAL(fault.chance.loss_ppm, 10000);
	CU_ASSERT_EQUAL(fault.chance.burst_ppm, 5000);
	CU_ASSERT_EQUAL(fault.chance.burst_frames, HW_FAULT_BURST_FRAMES);
	CU_ASSERT_EQUAL(fault.chance.dup_ppm, 20000);
	CU_ASSERT_EQUAL(fault.chance.reorder_ppm, 32500);
	CU_ASSERT_EQUAL(fault.chance.corrupt_ppm, 1000);
	CU_ASSERT_EQUAL(fault.delay_ns, 50000);
	CU_ASSERT_EQUAL(fault.jitter_ns, 1500);
	CU_ASSERT_EQUAL(fault.rate_bps, 10000000000u);
	CU_ASSERT_EQUAL(fault.seed, 7);
}

/* Chances have a value of their own, and what is not named is off. */
static void without_values(void)
{
	CU_ASSERT_TRUE(parse("loss reorder dup rate 2.5M corrupt"));
	CU_ASSERT_EQUAL(fault.chance.loss_ppm, 10000);
	CU_ASSERT_EQUAL(fault.chance.reorder_ppm, 10000);
	CU_ASSERT_EQUAL(fault.chance.dup_ppm, 10000);
	CU_ASSERT_EQUAL(fault.chance.corrupt_ppm, 1000);
	CU_ASSERT_EQUAL(fault.rate_bps, 2500000);
	CU_ASSERT_EQUAL(fault.delay_ns + fault.jitter_ns + fault.chance.burst_ppm, 0);
	CU_ASSERT_EQUAL(fault.seed, 1);
	CU_ASSERT_TRUE(parse("off"));
	CU_ASSERT_EQUAL(fault.chance.loss_ppm, 0);
}

static void wrong_words(void)
{
	refuse("", "which fault?");
	refuse("los 1%", "there is no fault \"los\"");
	refuse("loss 101%", "a percentage");
	refuse("loss 1x", "not \"1x\"");
	refuse("loss -1", "a percentage");
	refuse("loss 1..5", "a percentage");
	refuse("loss 1% loss 2%", "loss is given twice");
	refuse("delay", "delay takes a time");
	refuse("delay 5", "not \"5\"");
	refuse("delay 11s", "up to 10s");
	refuse("jitter 2s", "up to 1s");
	refuse("rate 1K", "from 1M");
	refuse("rate 2000G", "to 1000G");
	refuse("seed x", "a whole number");
	refuse("off loss 1%", "off stands alone");
	refuse("loss 11111111111111111111111111111111111111111111111111", "a percentage");
}

static void lines(void)
{
	struct fault_line line;

	CU_ASSERT_TRUE(fault_words_parse_line("weft1 dup 5%", &line, error, sizeof(error)));
	CU_ASSERT_STRING_EQUAL(line.nic, "weft1");
	CU_ASSERT_EQUAL(line.fault.chance.dup_ppm, 50000);
	CU_ASSERT_TRUE(fault_words_parse_line("  loss", &line, error, sizeof(error)));
	CU_ASSERT_STRING_EQUAL(line.nic, "");
	CU_ASSERT_FALSE(fault_words_parse_line("weft1", &line, error, sizeof(error)));
	CU_ASSERT_FALSE(
	    fault_words_parse_line("averyveryverylongname loss", &line, error, sizeof(error)));
	CU_ASSERT_TRUE(fault_words_is("off"));
	CU_ASSERT_FALSE(fault_words_is("weft0"));
}

static void printed_and_read(void)
{
	static const char *const texts[] = {
	    "off",
	    "loss 1%",
	    "loss 0.0001% burst 0.1% dup 100% reorder 3.25% corrupt 0.1%",
	    "delay 50us jitter 1500ns",
	    "rate 10G",
	    "rate 2500K seed 9",
	    "loss 1% delay 50us rate 100M seed 18",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[FAULT_WORDS_CHARS];
		struct hw_fault first;

		CU_ASSERT_TRUE_FATAL(parse(texts[i]));
		first = fault;
		fault_words_print(&fault, text, sizeof(text));
		CU_ASSERT_TRUE(parse(text));
		CU_ASSERT_EQUAL(memcmp(&first, &fault, sizeof(fault)), 0);
	}
	CU_ASSERT_TRUE(parse("loss 1% delay 50us rate 100M seed 18"));
	{
		char text[FAULT_WORDS_CHARS];

		fault_words_print(&fault, text, sizeof(text));
		CU_ASSERT_STRING_EQUAL(text, "loss 1% delay 50us rate 100M seed 18");
	}
}

UT_MAIN("lib/fault_words", UT(all_words), UT(without_values), UT(wrong_words), UT(lines),
	UT(printed_and_read))
