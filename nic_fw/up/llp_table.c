/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports of RDMAP by number: see llp.h.
 */
#include "nic_fw/fw_nic.h"

const struct llp_ops *const llp_table[LLP_KINDS] = {
    [LLP_RD] = &rd_llp_ops, [LLP_ESP] = &esp_llp_ops, [LLP_TCP] = &mpa_llp_ops,
    [LLP_UD] = &ud_llp_ops, [LLP_UC] = &uc_llp_ops,
};
