/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counter of walks, in builds that count them.
 */
#include "nic_fw/base/walk.h"

#ifdef FW_COUNT_WALKS
_Thread_local uint64_t fw_walk_steps;
#endif
