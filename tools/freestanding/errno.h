/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error numbers of command results, numbered as in Linux (asm-generic/errno.h); no errno
 * variable. Used by `make fw-cross` in place of the system's header.
 */
#ifndef WEFT_FREESTANDING_ERRNO_H
#define WEFT_FREESTANDING_ERRNO_H

#define EPERM           1
#define ENOENT          2
#define ESRCH           3
#define EIO             5
#define ENXIO           6
#define E2BIG           7
#define EBADF           9
#define EAGAIN          11
#define ENOMEM          12
#define EACCES          13
#define EFAULT          14
#define EBUSY           16
#define EEXIST          17
#define ENODEV          19
#define EINVAL          22
#define ENOSPC          28
#define ERANGE          34
#define EOVERFLOW       75
#define EUSERS          87
#define EMSGSIZE        90
#define EPROTONOSUPPORT 93
#define EOPNOTSUPP      95
#define ENOTSUP         EOPNOTSUPP
#define EADDRINUSE      98
#define EADDRNOTAVAIL   99
#define ENETDOWN        100
#define ENETUNREACH     101
#define ECONNRESET      104
#define ENOBUFS         105
#define ENOTCONN        107
#define ETIMEDOUT       110
#define EHOSTUNREACH    113
#define EDQUOT          122

#endif /* WEFT_FREESTANDING_ERRNO_H */
