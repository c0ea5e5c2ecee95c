/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main() of every unit test.
 *
 * A test file defines static void functions and lists them in UT_MAIN("folder/file", ...).
 * tests/run.sh reads CUnit's run summary. By hand, an argument runs only the tests whose names
 * contain it. Exits 0 when every assertion held, 1 when one failed, 2 when the argument matches no
 * test.
 */
#ifndef WEFT_TESTS_UT_H
#define WEFT_TESTS_UT_H

#include <CUnit/Basic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct ut_test {
	const char *name;
	void (*fn)(void);
};

/* An entry of UT_MAIN's table: the test has its function's name. */
#define UT(fn)                                                                                     \
	{                                                                                          \
#fn, fn                                                                            \
	}

static inline int ut_run(const char *suite_name, const struct ut_test *tests, size_t num_tests,
			 const char *filter)
{
	CU_pSuite suite;
	unsigned int added = 0, failed;
	size_t i;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite(suite_name, NULL, NULL);
	if (!suite)
		return 1;
	for (i = 0; i < num_tests; i++) {
		if (filter && !strstr(tests[i].name, filter))
			continue;
		if (!CU_add_test(suite, tests[i].name, tests[i].fn))
			return 1;
		added++;
	}
	if (!added) {
		fprintf(stderr, "%s: no test is called like '%s'\n", suite_name, filter);
		return 2;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (CU_basic_run_tests() != CUE_SUCCESS)
		return 1;
	failed = CU_get_number_of_tests_failed() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}

#define UT_MAIN(suite_name, ...)                                                                   \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		static const struct ut_test tests[] = {__VA_ARGS__};                               \
                                                                                                   \
		return ut_run(suite_name, tests, sizeof(tests) / sizeof(tests[0]),                 \
			      argc > 1 ? argv[1] : NULL);                                          \
	}

#endif /* WEFT_TESTS_UT_H */
