/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert() without a C library: a failed one traps. Used by `make fw-cross` in place of the
 * system's header. No include guard: C11 7.2 has assert() redefined at each inclusion.
 */
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif
#undef static_assert
#define static_assert _Static_assert
