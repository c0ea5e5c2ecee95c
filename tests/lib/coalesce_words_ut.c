/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation in words: the meaning of each, a refusal of one line with the legal range
 * for every wrong one, and printed settings that read back equal.
 *
 * Runs lib/coalesce_words.c.
 */
#include "lib/coalesce_words.h"
#include "tests/lib/words_refuse.h"

static struct hw_cmd_coalesce cmd;
static char error[COALESCE_ERROR_CHARS];

static bool parse(const char *text)
{
	memset(&cmd, 0xaa, sizeof(cmd));
	error[0] = '\0';
	return coalesce_parse(text, &cmd, error, sizeof(error));
}

static void refuse(const char *text, const char *part)
{
	words_refuse(parse(text), text, error, part);
}

static void every_parameter(void)
{
	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s %u", coalesce_word(i), coalesce_highest(i));
		CU_ASSERT_TRUE(parse(text));
		CU_ASSERT_EQUAL(cmd.set, UINT32_C(1) << i);
		CU_ASSERT_EQUAL(cmd.coalesce.param[i], coalesce_highest(i));
		snprintf(text, sizeof(text), "%s 0", coalesce_word(i));
		CU_ASSERT_TRUE(parse(text));
		CU_ASSERT_EQUAL(cmd.coalesce.param[i], 0);
		snprintf(text, sizeof(text), "%s %u", coalesce_word(i), coalesce_highest(i) + 1);
		refuse(text, coalesce_highest(i) == 255 ? "0 to 255" : "0 to 1023");
		refuse(coalesce_word(i), "needs a value from 0 to");
	}
	CU_ASSERT_STRING_EQUAL(coalesce_word(HW_COALESCE_NUM_PARAMS), "");
	CU_ASSERT_EQUAL(coalesce_highest(HW_COALESCE_NUM_PARAMS), 0);
}

static void several(void)
{
	CU_ASSERT_TRUE(parse(" rx-usecs 5\ttx-frames-irq 7   rx-frames 16 "));
	CU_ASSERT_EQUAL(cmd.set, 1u << HW_COALESCE_rx_usecs | 1u << HW_COALESCE_rx_frames |
				     1u << HW_COALESCE_tx_frames_irq);
	CU_ASSERT_EQUAL(cmd.coalesce.param[HW_COALESCE_rx_usecs], 5);
	CU_ASSERT_EQUAL(cmd.coalesce.param[HW_COALESCE_rx_frames], 16);
	CU_ASSERT_EQUAL(cmd.coalesce.param[HW_COALESCE_tx_frames_irq], 7);
	CU_ASSERT_EQUAL(cmd.coalesce.param[HW_COALESCE_tx_usecs], 0);
	CU_ASSERT_TRUE(parse("rx-usecs-irq 20 adaptive-rx on adaptive-tx on"));
	CU_ASSERT_EQUAL(cmd.set, 1u << HW_COALESCE_rx_usecs_irq | HW_COALESCE_SET_MODE);
	CU_ASSERT_EQUAL(cmd.coalesce.mode, HW_COALESCE_ADAPTIVE);
	CU_ASSERT_TRUE(parse("off"));
	CU_ASSERT_EQUAL(cmd.set, HW_COALESCE_SET_ALL);
	CU_ASSERT_EQUAL(cmd.coalesce.mode, HW_COALESCE_FIXED);
	CU_ASSERT_EQUAL(cmd.coalesce.param[HW_COALESCE_rx_usecs], 0);
}

static void modes(void)
{
	CU_ASSERT_TRUE(parse("adaptive on"));
	CU_ASSERT_EQUAL(cmd.set, HW_COALESCE_SET_MODE);
	CU_ASSERT_EQUAL(cmd.coalesce.mode, HW_COALESCE_ADAPTIVE);
	CU_ASSERT_TRUE(parse("adaptive-tx off"));
	CU_ASSERT_EQUAL(cmd.set, HW_COALESCE_SET_MODE);
	CU_ASSERT_EQUAL(cmd.coalesce.mode, HW_COALESCE_FIXED);
	CU_ASSERT_TRUE(parse("target off"));
	CU_ASSERT_EQUAL(cmd.coalesce.mode, HW_COALESCE_FIXED);
	refuse("adaptive", "on or off");
	refuse("adaptive-rx maybe", "adaptive-rx takes on or off, not \"maybe\"");
	refuse("adaptive-rx on adaptive-tx off", "go together");
	refuse("adaptive on target p99=20us", "instead");
	refuse("target p99=20us adaptive on", "instead");
	refuse("target p99=20us target p99=20us", "twice");
	refuse("rx-usecs 5 off", "stands alone");
	refuse("off rx-usecs 5", "stands alone");
}

static void target_is(const char *text, uint32_t percentile, uint32_t ns)
{
	CU_ASSERT_TRUE(parse(text));
	CU_ASSERT_EQUAL(cmd.set, HW_COALESCE_SET_MODE);
	CU_ASSERT_EQUAL(cmd.coalesce.mode, HW_COALESCE_TARGET);
	CU_ASSERT_EQUAL(cmd.coalesce.target_percentile, percentile);
	CU_ASSERT_EQUAL(cmd.coalesce.target_ns, ns);
}

static void targets(void)
{
	target_is("target p99=20us", 9900, 20000);
	target_is("target p99.9=20", 9990, 20000);
	target_is("target p99.99=1000us", 9999, 1000000);
	target_is("target p50=1us", 5000, 1000);
	target_is("target p90=1.5us", 9000, 1500);
	target_is("target p90=1.005us", 9000, 1005);
	target_is("target p90=1500ns", 9000, 1500);
	target_is("target p90=0.25ms", 9000, 250000);
	target_is("target p90=1ms", 9000, 1000000);
	for (uint32_t i = 0; i < 20; i++) {
		static const char *const wrong[] = {
		    "",         "p99",        "p99=",         "p=20us",       "99=20us",
		    "p49=20us", "p100=20us",  "p99.999=9us",  "p99.=9us",     "p99=999ns",
		    "p99=0us",  "p99=1001us", "p99=1.1ms",    "p99=1s",       "p99=20usx",
		    "p99=-5us", "p99=2e1us",  "p99=1.0005us", "p99=5000.5ns", "p99=4294967297us"};
		char text[40];

		snprintf(text, sizeof(text), "target %s", wrong[i]);
		refuse(text, "p50 to p99.99, and 1us to 1000us, such as p99=20us");
	}
}

static void unknown_words(void)
{
	refuse("", "nothing is set");
	refuse("  \t ", "nothing is set");
	refuse("rx-usec 5", "did you mean rx-usecs?");
	refuse("rxusecs 5", "did you mean rx-usecs?");
	refuse("tx-frame-irq 5", "did you mean tx-frames-irq?");
	refuse("adaptve on", "did you mean adaptive?");
	refuse("of", "did you mean off?");
	refuse("stats-block-usecs 5", "there is no \"stats-block-usecs\": use rx-usecs");
	refuse("x", "there is no \"x\": use rx-usecs");
	refuse("5", "there is no \"5\"");
	refuse("rx-usecs five", "takes 0 to 1023, 0 for off, not \"five\"");
	refuse("rx-usecs 5us", "not \"5us\"");
	refuse("rx-usecs 0x10", "not \"0x10\"");
	refuse("rx-usecs 5 rx-usecs 6", "rx-usecs is given twice");
	refuse("rx-usecs 18446744073709551617", "takes 0 to 1023");
	refuse("rx-usecs 4294967297", "takes 0 to 1023");
	refuse("rx-usecs 0000000005", "takes 0 to 1023");
}

/* However long a word is, the message is terminated. */
static void long_words(void)
{
	char text[1000], small[8];

	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	refuse(text, "there is no \"yyyy");
	CU_ASSERT_TRUE(strlen(error) < sizeof(error) - 1);
	memcpy(text, "rx-usecs ", 9);
	refuse(text, "0 to 1023");
	CU_ASSERT_FALSE(coalesce_parse(text, &cmd, small, sizeof(small)));
	CU_ASSERT_STRING_EQUAL(small, "rx-usec");
	CU_ASSERT_FALSE(coalesce_parse(text, &cmd, small, 0));
}

static struct coalesce_line line;

static bool parse_line(const char *text)
{
	error[0] = '\0';
	return coalesce_parse_line(text, &line, error, sizeof(error));
}

static void lines(void)
{
	CU_ASSERT_TRUE(parse_line("rx-usecs 5 rx-frames 16"));
	CU_ASSERT_STRING_EQUAL(line.nic, "");
	CU_ASSERT_EQUAL(line.cmd.vector, HW_COALESCE_ALL_VECTORS);
	CU_ASSERT_EQUAL(line.cmd.coalesce.param[HW_COALESCE_rx_frames], 16);
	CU_ASSERT_TRUE(parse_line("weft0 vector 2 adaptive on"));
	CU_ASSERT_STRING_EQUAL(line.nic, "weft0");
	CU_ASSERT_EQUAL(line.cmd.vector, 2);
	CU_ASSERT_EQUAL(line.cmd.coalesce.mode, HW_COALESCE_ADAPTIVE);
	CU_ASSERT_TRUE(parse_line("vector 7 off"));
	CU_ASSERT_EQUAL(line.cmd.vector, 7);
	CU_ASSERT_TRUE(parse_line("my_nics-12 target p99=20us"));
	CU_ASSERT_STRING_EQUAL(line.nic, "my_nics-12");
	CU_ASSERT_FALSE(parse_line("weft0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "nothing is set"));
	CU_ASSERT_FALSE(parse_line("vector 8 off"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "vector takes 0 to 7, not \"8\""));
	CU_ASSERT_FALSE(parse_line("weft0 vector"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "vector takes 0 to 7"));
	CU_ASSERT_FALSE(parse_line("weft0 vector all off"));
	CU_ASSERT_FALSE(parse_line("weft0 weft1 off"));
	CU_ASSERT_FALSE(parse_line("a_name_too_long_for_a_nic0 off"));
	CU_ASSERT_FALSE(parse_line(""));
}

static void printed(const struct hw_coalesce *c, const char *end)
{
	char text[COALESCE_TEXT_CHARS];

	coalesce_print(c, text, sizeof(text));
	CU_ASSERT_TRUE(strlen(text) >= strlen(end));
	CU_ASSERT_STRING_EQUAL(text + strlen(text) - strlen(end), end);
	CU_ASSERT_TRUE(parse(text));
	CU_ASSERT_EQUAL(cmd.set, HW_COALESCE_SET_ALL);
	CU_ASSERT_EQUAL(memcmp(&cmd.coalesce, c, sizeof(*c)), 0);
}

static void print(void)
{
	struct hw_coalesce c = {.mode = HW_COALESCE_FIXED};

	printed(&c, "tx-frames-irq 0 adaptive off");
	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		c.param[i] = coalesce_highest(i) - i;
	c.mode = HW_COALESCE_ADAPTIVE;
	printed(&c, " adaptive on");
	c.mode = HW_COALESCE_TARGET;
	c.target_percentile = HW_COALESCE_MAX_PERCENTILE;
	c.target_ns = 999999;
	printed(&c, " target p99.99=999.999us");
	c.target_percentile = 9050;
	c.target_ns = 1050;
	printed(&c, " target p90.5=1.05us");
	c.target_percentile = 5000;
	c.target_ns = 20000;
	printed(&c, " target p50=20us");
}

UT_MAIN("lib/coalesce_words", UT(every_parameter), UT(several), UT(modes), UT(targets),
	UT(unknown_words), UT(long_words), UT(lines), UT(print))
