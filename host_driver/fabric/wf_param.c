/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings by the environment, as libfabric's providers have them: FI_WEFT_NAME; fi_info -e shows
 * them with their descriptions. fi_prov_ini() defines them, domains and endpoints read them.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/fi_weft.h"

static const char announce[] = "announce", keep[] = "keep_buffers", eager[] = "eager_bytes";

/* Returns the place of the setting in words, or the first one's. */
static int choose(const char *name, const char *const *words, int count)
{
	char *value = NULL;

	if (fi_param_get_str(&wf_provider, name, &value) || !value)
		return 0;
	for (int i = 0; i < count; i++)
		if (!strcmp(value, words[i]))
			return i;
	WF_WARN(FI_LOG_CORE, "setting %s: there is no '%s'; %s is taken\n", name, value, words[0]);
	return 0;
}

void wf_param_define(void)
{
	fi_param_define(&wf_provider, announce, FI_PARAM_STRING,
			"when the NIC announces a posted receive of a long message to its sender: "
			"adaptive (while four fifths are used), never, always");
	fi_param_define(
	    &wf_provider, keep, FI_PARAM_STRING,
	    "buffers of short messages: adaptive (registered when they are used so often "
	    "that it pays), never (every message is copied), or a number of uses");
	fi_param_define(&wf_provider, eager, FI_PARAM_SIZE_T,
			"longest message that is sent without a rendezvous (default: the device's; "
			"at most 65536)");
}

enum weft_tag_announce wf_param_announce(void)
{
	static const char *const words[] = {[WEFT_TAG_ANNOUNCE_ADAPTIVE] = "adaptive",
					    [WEFT_TAG_ANNOUNCE_NEVER] = "never",
					    [WEFT_TAG_ANNOUNCE_ALWAYS] = "always"};

	return (enum weft_tag_announce)choose(announce, words, 3);
}

void wf_param_keep_buffers(struct weft_tag_mem_attr *attr)
{
	static const char *const words[] = {"adaptive", "never"};
	char *value = NULL, *end;
	unsigned long uses;

	if (fi_param_get_str(&wf_provider, keep, &value) == 0 && value && *value >= '1' &&
	    *value <= '9') {
		uses = strtoul(value, &end, 10);
		if (!*end && uses < UINT32_MAX) {
			attr->uses = (uint32_t)uses;
			return;
		}
	}
	attr->never = choose(keep, words, 2) == 1;
}

uint32_t wf_param_eager_bytes(void)
{
	size_t bytes = 0;

	if (fi_param_get_size_t(&wf_provider, eager, &bytes) || bytes == 0)
		return 0;
	return bytes < WF_EAGER_BYTES_MAX ? (uint32_t)bytes : WF_EAGER_BYTES_MAX;
}
