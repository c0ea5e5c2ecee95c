/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stations of a link: how much they hold of tables that their packets fill.
 *
 * A station may own many addresses, or answer for them, and speak in the names of any number of
 * queue pairs: what its packets cause is charged to its MAC, that of peers beyond a gateway to the
 * gateway's. A keyed hash maps MACs to classes, so that no station chooses whose share it uses. The
 * rule is that of processes (pool.h): a station holds at most twice as much as then stays free, so
 * one alone gets two thirds of a table, and n that take all they can leave 1 / (2n + 1) for the
 * next. docs/security.md "Exhaustion by a neighbour".
 */
#ifndef WEFT_FW_STATION_H
#define WEFT_FW_STATION_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;

enum station_table {
	STATION_NOTICES,   /* Terminates, NACKs and DONEs that it has not acknowledged */
	STATION_RESPONSES, /* contexts of answers to its reads and atomics */
	STATION_RD_HELD,   /* packets of RD before their turn */
	STATION_ESP_HELD,  /* frames of ESP before their turn, or before there is room */
	STATION_ESP_LASTS, /* Terminates of ESP whose queue pair has failed */
	STATION_EARLY,     /* chunks of TCP before their turn, or before there is room */
	STATION_PARTIALS,  /* FPDUs that have begun to arrive */
	STATION_TABLES
};

enum {
	STATIONS = 256,   /* classes */
	STATION_NONE = 0, /* the class of peers whose MAC is not known yet */
};

/* The part of the instance that station.c owns. */
struct station_nic {
	uint32_t used[STATION_TABLES]; /* by all */
	uint32_t held[STATIONS][STATION_TABLES];
};

/* Returns the class of a station. */
uint8_t station_of(const struct fw_nic *nic, const uint8_t *mac);
/* True if it may hold one more of a table that has so many for all stations. */
bool station_may(const struct fw_nic *nic, uint8_t station, enum station_table table, uint32_t max);
/* Charges one to it, whether it may hold it or not. */
void station_take(struct fw_nic *nic, uint8_t station, enum station_table table);
void station_give(struct fw_nic *nic, uint8_t station, enum station_table table);

#endif /* WEFT_FW_STATION_H */
