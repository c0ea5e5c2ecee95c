/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs and ports that come and go while weftd runs: `weftctl nic|port add|remove`, and a reload.
 *
 * Control thread. docs/operating.md, "NICs and ports".
 */
#ifndef WEFT_APP_PLUG_H
#define WEFT_APP_PLUG_H

#include "dpdk_app/app.h"
#include "dpdk_app/control/change_apply.h"

enum {
	PLUG_NEW = UINT32_MAX, /* no slot has this NIC yet */
};

/* Returns true if a line begins with "nic" or "port". */
bool plug_handles(const char *line);

/*
 * Carries out a line "nic = add [ip A.B.C.D/LEN] [gw A.B.C.D]", "port = add PORT ip A.B.C.D/LEN [gw
 * A.B.C.D]", or "nic|port = remove NAME [force]" and reports it. Returns 0 or an errno: EBUSY: a
 * process is attached, and force does not say that it may lose its NIC; EAGAIN: another removal or
 * a request of DPDK's telemetry is under way.
 */
int plug_line(struct app *app, const char *line, struct change_report *report);

/*
 * Adds and removes what a configuration has more or less than the one in force, and reports it. On
 * return conf->nic follows the slots of app. Returns 0, or the errno of the last one that failed.
 */
int plug_reload(struct app *app, struct conf *conf, struct change_report *report);

/*
 * Finds the slot of each NIC of want: a port by its device; NICs of the switch by their address,
 * the others in order. slot[] gets PLUG_NEW for those that have none. has: the slots that count, a
 * bit each. Pure; for plug_reload().
 */
void plug_match(const struct conf *conf, uint32_t has, const struct conf *want,
		uint32_t slot[CONF_MAX_NICS]);

/* Frees NICs whose last connection has ended. */
void plug_serve(struct app *app, uint64_t now_ns);

/* Returns the time until plug_serve() is due; -1: no NIC is being removed. */
int plug_wait_ms(const struct app *app);

#endif /* WEFT_APP_PLUG_H */
