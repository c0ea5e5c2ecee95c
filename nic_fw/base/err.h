/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errno values of the firmware, which has no errno.h where it is compiled freestanding.
 */
#ifndef WEFT_FW_ERR_H
#define WEFT_FW_ERR_H

/* Errno values, as Linux has them on every architecture of weft (freestanding). */
enum {
	FW_EPERM = 1,
	FW_ENOENT = 2,
	FW_EIO = 5,
	FW_EAGAIN = 11,
	FW_ENOMEM = 12,
	FW_EACCES = 13,
	FW_EFAULT = 14,
	FW_EBUSY = 16,
	FW_EINVAL = 22,
	FW_EMFILE = 24,
	FW_ENOSPC = 28,
	FW_EPROTO = 71,
	FW_EOVERFLOW = 75,
	FW_EUSERS = 87,
	FW_EOPNOTSUPP = 95,
	FW_EADDRINUSE = 98,
	FW_EADDRNOTAVAIL = 99,
	FW_ENETUNREACH = 101,
	FW_ETIMEDOUT = 110,
	FW_EHOSTUNREACH = 113,
	FW_EINPROGRESS = 115,
	FW_EDQUOT = 122,
};

#endif /* WEFT_FW_ERR_H */
