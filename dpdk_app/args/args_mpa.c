/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of --mpa-crc, --mpa-markers, --mpa-revision and --mpa-rtr.
 */
#include "dpdk_app/args/args_mpa.h"

#include <string.h>

#include "shared_defs/hw_cm.h"

static void put(uint16_t *mpa, uint32_t mask, uint32_t bits)
{
	uint32_t old = *mpa ? *mpa : HW_MPA_DEFAULT;

	*mpa = (uint16_t)((old & ~mask) | bits);
}

bool mpa_crc_parse(const char *text, uint16_t *mpa)
{
	uint32_t bits = 0;

	if (!strcmp(text, "on"))
		bits = HW_MPA_CRC;
	else if (!strcmp(text, "required"))
		bits = HW_MPA_CRC | HW_MPA_CRC_REQUIRED;
	else if (strcmp(text, "off"))
		return false;
	put(mpa, HW_MPA_CRC | HW_MPA_CRC_REQUIRED, bits);
	return true;
}

bool mpa_markers_parse(const char *text, uint16_t *mpa)
{
	bool on = !strcmp(text, "on");

	if (!on && strcmp(text, "off"))
		return false;
	put(mpa, HW_MPA_MARKERS, on ? HW_MPA_MARKERS : 0);
	return true;
}

bool mpa_revision_parse(const char *text, uint16_t *mpa)
{
	bool one = !strcmp(text, "1");

	if (!one && strcmp(text, "2"))
		return false;
	put(mpa, HW_MPA_REVISION_1, one ? HW_MPA_REVISION_1 : 0);
	return true;
}

bool mpa_rtr_parse(const char *text, uint16_t *mpa)
{
	static const struct {
		const char *word;
		uint32_t bit;
	} kinds[] = {
	    {"send", HW_MPA_RTR_SEND}, {"write", HW_MPA_RTR_WRITE}, {"read", HW_MPA_RTR_READ}};
	uint32_t bits = 0;

	while (strcmp(text, "none") || bits) {
		size_t chars = strcspn(text, ",");
		uint32_t bit = 0;

		for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (chars == strlen(kinds[i].word) && !memcmp(text, kinds[i].word, chars))
				bit = kinds[i].bit;
		if (!bit)
			return false;
		bits |= bit;
		if (!text[chars])
			break;
		text += chars + 1;
	}
	put(mpa, HW_MPA_RTR_SEND | HW_MPA_RTR_WRITE | HW_MPA_RTR_READ, bits);
	return true;
}
