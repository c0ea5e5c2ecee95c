/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA set-up options of the NICs, as given by --mpa-crc etc. shared_defs/hw_cm.h, HW_MPA_*.
 */
#ifndef WEFT_APP_ARGS_MPA_H
#define WEFT_APP_ARGS_MPA_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Each sets the option's bits of *mpa (0: start from HW_MPA_DEFAULT). Returns false for invalid
 * text.
 */
bool mpa_crc_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));
bool mpa_markers_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));
bool mpa_revision_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));
bool mpa_rtr_parse(const char *text, uint16_t *mpa) __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_MPA_H */
