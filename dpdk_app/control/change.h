/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes while weftd runs: one line of the configuration (weftctl fault, log, quota), or the
 * configuration as a whole (weftctl reload, SIGHUP). Both parse into a struct conf of their own;
 * what differs from the one in force is applied, or reported as what needs a new start.
 *
 * Control thread. docs/operating.md, "Change while running".
 */
#ifndef WEFT_APP_CHANGE_H
#define WEFT_APP_CHANGE_H

#include <stdbool.h>

#include "dpdk_app/app.h"
#include "shared_defs/hw_cmd.h"

/* Keeps the command line, whose --config is read again. Once, when app->conf is complete. */
void change_init(struct app *app, int argc, char **argv);

/*
 * HW_CMD_CHANGE of a tool that is connected to nic. *kept is the text of its last command, which
 * the caller frees at the end of the connection. owner: it may change what it names. Returns a
 * status; 0: resp is filled.
 */
int change_run(struct nic *nic, char **kept, bool owner, const struct hw_cmd *cmd,
	       struct hw_resp_change *resp);

/* A NIC is about to go: what was changed for its name alone is that of the configuration again. */
void change_forget(const struct nic *nic);

/* Reads the configuration again and logs what was done. */
void change_reload(void);

/* Returns true if there is a configuration file, so that change_reload() may find something. */
bool change_has_file(void);

#endif /* WEFT_APP_CHANGE_H */
