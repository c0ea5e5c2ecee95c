/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --fault and the options of the built-in switch: faults of NICs from the start on.
 */
#ifndef WEFT_APP_ARGS_FAULT_H
#define WEFT_APP_ARGS_FAULT_H

#include <stdbool.h>

#include "dpdk_app/args/args.h"

/* Adds a line of --fault. False: error (CONF_ERROR_CHARS) holds the reason. */
bool conf_fault_add(struct conf *conf, const char *text, char *error);

/*
 * A NIC goes: of the lines that name it, those of the configuration come back, for the next NIC of
 * that name. Lines of the configuration for all NICs stand no longer if a later one replaced them.
 */
void conf_fault_return(struct conf *conf, const struct conf *configured, uint32_t index);

/* Checks that every line names a NIC that there is. */
bool conf_fault_check(const struct conf *conf, char *error);

/* Returns the faults of one NIC: the last line that concerns it, else those of the switch. */
void conf_fault_of(const struct conf *conf, uint32_t index, struct hw_fault *fault);

/* Returns true if a NIC of the switch has faults from the start. */
bool conf_faulty(const struct conf *conf);

#endif /* WEFT_APP_ARGS_FAULT_H */
