/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directories that DPDK creates per process and that a killed process leaves behind.
 */
#ifndef WEFT_APP_EAL_DIR_H
#define WEFT_APP_EAL_DIR_H

/*
 * Removes those directories DIR/dpdk/weftd-* whose weftd no longer runs, with their files. Returns
 * a descriptor for eal_dir_hold(), which keeps other weftds from doing the same meanwhile; -1: not
 * possible, which is harmless. Call it before rte_eal_init().
 */
int eal_dir_sweep(const char *dir);

/*
 * Marks the directory at path as in use for the lifetime of this process. Call it after
 * rte_eal_init().
 */
void eal_dir_hold(int swept, const char *path);

#endif /* WEFT_APP_EAL_DIR_H */
