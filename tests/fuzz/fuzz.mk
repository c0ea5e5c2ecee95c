# SPDX-License-Identifier: BSD-3-Clause
#
# The fuzz variant and its programs: included by the Makefile, whose functions it uses. A target
# NAME is fuzz_NAME() of tests/fuzz/NAME.c. tests/fuzz/README.md.

FUZZ_TARGETS := $(filter-out $(FUZZ_LACKS),frames host files ops options control gso rsock answers serve pmix xdp)
FUZZ_LIBS_options := weftd sim goal weft
FUZZ_LIBS_control := weftd
FUZZ_LIBS_files := goal weft
FUZZ_LIBS_answers := weft
FUZZ_LIBS_pmix := goal weft
$(foreach t,frames host control,$(eval FUZZ_MUTATE_$t := -DFUZZ_MUTATE=fuzz_mutate_rec))

# FUZZ_FLAGS= is added, for coverage of sources.
CC_fuzz := $(CLANG)
FLAGS_fuzz := -O1 -g -fno-omit-frame-pointer $(SANITIZE) -fsanitize=fuzzer-no-link $(ARCH) $(FUZZ_FLAGS)
LD_fuzz := $(SANITIZE) $(FUZZ_FLAGS)
OUT_fuzz := $(B)/fuzz
FUZZ_BINS := $(FUZZ_TARGETS:%=$(B)/fuzz/bin/fuzz_%) $(B)/fuzz/bin/fuzz_scribble
HAVE_FUZZ = $(shell printf 'int LLVMFuzzerTestOneInput(void *d, long n) {return !d && n;}' | \
	$(CLANG) -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null && echo yes)

$(B)/obj/fuzz/nic_fw/fw_image.o: COMMON += -include $(B)/gen/fw_layout.h
$(B)/obj/fuzz/nic_fw/fw_image.o: $(B)/gen/fw_layout.h
$(eval $(call compile,fuzz,lib))
$(eval $(call compile,fuzz,nic_fw))
$(eval $(call compile,fuzz,host_driver))
$(eval $(call compile,fuzz,sim_harness))
$(eval $(call compile,fuzz,dpdk_app,$(SKELS)))
$(eval $(call compile,fuzz,tests))
$(eval $(call archive,fuzz,weftutil,$(SRC_weftutil)))
$(eval $(call archive,fuzz,nicfw,$(SRC_nicfw)))
$(eval $(call archive,fuzz,weft,$(SRC_weft)))
$(eval $(call archive,fuzz,goal,$(SRC_goal)))
$(eval $(call archive,fuzz,sim,$(SRC_sim)))
# Whole, as for the unit tests: the linker takes the files that need none of DPDK's libraries.
$(eval $(call archive,fuzz,weftd,$(SRC_weftd)))
$(foreach v,fuzz san,$(foreach t,control gso,$(B)/obj/$v/tests/fuzz/$t.o)): \
	CFLAGS_tests = $(HOST) -I$(B)/gen $(DPDK_CFLAGS)
$(foreach v,fuzz san,$(B)/obj/$v/tests/fuzz/pmix.o): CFLAGS_tests = $(HOST) $(PMIX_CFLAGS)
$(eval $(call archive,fuzz,ut_fuzz,$(call ut_helpers,fuzz)))
$(eval $(call archive,fuzz,ut_bench,$(call ut_helpers,bench)))
$(B)/obj/fuzz/tests/fuzz/run/entry_%.o: tests/fuzz/run/entry.c $(B)/obj/fuzz/tests.flags
	@mkdir -p $(@D)
	$(call say,CC,$< (fuzz_$*))
	$(Q)$(CC_fuzz) $(COMMON) $(CFLAGS_tests) $(FLAGS_fuzz) -DFUZZ_TARGET=$* $(FUZZ_MUTATE_$*) -MMD -MP -c $< -o $@
$(foreach t,$(FUZZ_TARGETS),$(eval $(call link,fuzz,$(B)/fuzz/bin/fuzz_$t,\
	$(B)/obj/fuzz/tests/fuzz/run/entry_$t.o,$(B)/fuzz/lib/libut_fuzz.a $(B)/fuzz/lib/libut_bench.a \
	$(FUZZ_LIBS_$t:%=$(B)/fuzz/lib/lib%.a) $(B)/fuzz/lib/libnicfw.a $(B)/fuzz/lib/libweftutil.a,-fsanitize=fuzzer -ljansson -lm $(WRAP_POOL))))
$(eval $(call link,fuzz,$(B)/fuzz/bin/fuzz_scribble,$(B)/obj/fuzz/tests/fuzz/run/scribble_main.o,\
	$(B)/fuzz/lib/libut_fuzz.a $(B)/fuzz/lib/libut_bench.a $(B)/fuzz/lib/libnicfw.a,$(WRAP_POOL)))

.PHONY: _fuzz
_fuzz:
ifneq ($(filter _fuzz,$(MAKECMDGOALS)),)
ifeq ($(HAVE_FUZZ),)
	@echo 'fuzz: skipped: $(CLANG) cannot link libFuzzer (Debian: clang and its libclang-rt-*-dev)'
else
	@+$(MAKE) $(FUZZ_BINS)
	@tests/fuzz/run/fuzz.sh $(B)/fuzz $(FUZZ_TARGETS) scribble
endif
endif
