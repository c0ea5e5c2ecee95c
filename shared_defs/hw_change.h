/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HW_CMD_CHANGE: changes of weftd while it runs, in the words of its configuration file.
 *
 * A tool sends lines of text; dpdk_app/control/change.c answers with lines for the operator.
 * docs/host-interface.md, "Commands".
 */
#ifndef WEFT_HW_CHANGE_H
#define WEFT_HW_CHANGE_H

#include <assert.h>
#include <stdint.h>

/* CHANGE: a line as in weftd's configuration file, or the file as a whole. */
enum hw_change_kind {
	HW_CHANGE_LINE = 0,   /* the line takes effect now; tools of root and weftd's user */
	HW_CHANGE_RELOAD = 1, /* what the file says and can be changed takes effect; likewise */
	HW_CHANGE_SHOW = 2,   /* line: a word; answers what is in force, as lines of a file */
	HW_CHANGE_MORE = 3,   /* the text of this tool's last command, from the cursor on */
	HW_CHANGE_KINDS
};
struct hw_cmd_change {
	uint32_t kind;   /* hw_change_kind */
	uint32_t cursor; /* MORE: byte of the text; otherwise 0 */
	char line[104];  /* NUL-terminated */
};
static_assert(sizeof(struct hw_cmd_change) == 112, "");

/*
 * CHANGE: status is 0 also where nothing was changed. The text, lines for the operator, goes on in
 * answers to MORE while offset + bytes < total.
 */
struct hw_resp_change {
	int32_t outcome; /* 0; EINVAL: a wrong line; EBUSY: forbidden at present; ENOTSUP: not while
			    weftd runs */
	uint32_t total;  /* bytes of the text */
	uint32_t bytes;  /* of them in this answer */
	char text[484];
};
static_assert(sizeof(struct hw_resp_change) == 496, "");

#endif /* WEFT_HW_CHANGE_H */
