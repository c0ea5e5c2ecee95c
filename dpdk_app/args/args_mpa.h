/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the NICs set MPA connections up, as --mpa-crc and its like give it. Called by args.c; calls
 * libc. shared_defs/hw_cm.h, HW_MPA_*.
 */
#ifndef WEFT_APP_ARGS_MPA_H
#define WEFT_APP_ARGS_MPA_H

#include <stdbool.h>
#include <stdint.h>

/* Each changes the option's bits of *mpa (0: those of HW_MPA_DEFAULT); false: text is none of it.
 */
bool mpa_crc_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));
bool mpa_markers_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));
bool mpa_revision_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));
bool mpa_rtr_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_MPA_H */
