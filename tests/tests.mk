# SPDX-License-Identifier: BSD-3-Clause
#
# Tests and checks: their programs, and the targets that run them. Included by the Makefile, whose functions and
# lists of sources it uses. tests/README.md.

# ---- programs -------------------------------------------------------------------------------

$(eval $(call compile,san,tests,$(SKELS)))

# Tests of dpdk_app see DPDK's headers; other tests build without DPDK.
$(B)/obj/san/tests/dpdk_app/%.o $(B)/obj/san/tests/int/memif_dpdk.o: CFLAGS_tests = $(HOST) -I$(B)/gen $(DPDK_CFLAGS)

ut_helpers = $(sort $(filter-out %_ut.c $(FUZZ_LACKS:%=tests/fuzz/%.c),$(wildcard tests/$1/*.c)))
# Libraries of each folder's unit tests besides libweftutil.a; shared_defs and lib need none.
UT_LIBS_nic_fw := nicfw
UT_LIBS_pair := nicfw
UT_LIBS_host_driver := goal weft nicfw
UT_LIBS_sim_harness := sim goal weft nicfw
UT_LIBS_sim := sim goal weft nicfw
UT_LIBS_dpdk_app := weftd nicfw
UT_LIBS_fuzz := sim goal weft $(if $(HAVE_DPDK),weftd) nicfw
UT_LIBS_tools := measure sim goal weft nicfw
UT_LIBS_verbs := verbs sim goal weft nicfw
UT_LIBS_fabric := fabric sim goal weft nicfw
# The bench: of every folder whose tests run the firmware. tests/bench/README.md.
ut_bench = $(if $(filter nicfw,$(UT_LIBS_$1)),$(B)/san/lib/libut_bench.a)
ut_archives = $(if $(call ut_helpers,$1),$(B)/san/lib/libut_$1.a) $(call ut_bench,$1) \
	$(foreach l,$(UT_LIBS_$1) weftutil,$(if $(SRC_$l),$(B)/san/lib/lib$l.a))

# Stubs of neighbours (tests/bench/stubs/NAME.c): linked, ahead of the archives, into the tests that include NAME.h.
UT_STUBS := net
$(foreach n,$(UT_STUBS),$(eval STUBBED_$n := $(shell grep -ls '"tests/bench/stubs/$n\.h"' tests/nic_fw/*/*_ut.c)))
ut_stubs = $(foreach n,$(UT_STUBS),$(if $(filter $1,$(STUBBED_$n)),$(B)/obj/san/tests/bench/stubs/$n.o))

# Poison in pools (tests/bench/pool.h).
WRAP_POOL := -Wl,--wrap=fw_pool_get -Wl,--wrap=fw_pool_put
# TCP and the set-up of MPA played by tests/pair/mpa_pair.c.
WRAP_TCP := $(patsubst %,-Wl$(comma)--wrap=%,tcp_push tcp_close tcp_resume mpa_set_state mpa_disconnect mpa_abort mpa_rx_first mpa_ddp_rx mpa_conn_fire)
WRAPPED_TCP := $(shell grep -ls '"tests/pair/mpa_pair\.h"' tests/pair/*_ut.c)
UT_FLAGS_pair := $(WRAP_POOL)
UT_FLAGS_fuzz := $(WRAP_POOL)
# Functions that a test plays, by the linker.
WRAPS_dpdk_app/client_hold_ut := hostcopy_mark hostcopy_passed
WRAPS_dpdk_app/log_journal_ut := sendto connect
WRAPS_dpdk_app/unmap_ut := munmap
WRAPS_dpdk_app/wire_queues_ut := rte_flow_validate rte_flow_create
WRAPS_host_driver/weft_silent_ut := poll
WRAPS_host_driver/weft_tag_context_ut := realloc
WRAPS_pair/atomic_ut := mem_atomic
ut_flags = $(patsubst %,-Wl$(comma)--wrap=%,$(WRAPS_$(1:tests/%.c=%))) $(UT_FLAGS_$(call ut_folder,$1)) $(if $(filter $1,$(WRAPPED_TCP)),$(WRAP_TCP)) $(if $(filter tests/dpdk_app/%,$1),$(WEFTD_LIBS)) \
	$(if $(filter tests/tools/%,$1),$(TOOL_LIBS_OF_weft-measure)) $(if $(filter tests/fabric/%,$1),-lfabric)

$(foreach f,bench $(UT_FOLDERS),$(if $(call ut_helpers,$f),\
	$(eval $(call archive,san,ut_$f,$(call ut_helpers,$f)))))
$(foreach s,$(UT_SRCS),$(eval $(call link,san,$(s:tests/%.c=$(B)/san/ut/%),$(s:%.c=$(B)/obj/san/%.o) $(call ut_stubs,$s),\
	$(call ut_archives,$(call ut_folder,$s)),$(call ut_flags,$s) -lcunit -ljansson -lm)))
$(foreach p,$(INT_PROGS),$(eval $(call link,san,$(B)/san/int/$p,$(B)/obj/san/tests/int/$p.o,\
	$(foreach l,$(if $(filter xdp_frames,$p),ut_bench nicfw) goal weft weftutil,$(B)/san/lib/lib$l.a),$(if $(filter xdp_%,$p),-lbpf) \
	$(if $(filter memif_dpdk,$p),$(DPDK_LIBS) -lrte_net_memif) -ljansson -lm)))
$(foreach p,$(SEC_PROGS),$(eval $(call link,san,$(B)/san/int/$p,$(B)/obj/san/tests/security/$p.o,\
	$(foreach l,goal weft weftutil,$(B)/san/lib/lib$l.a),-lm)))
# valgrind cannot run what a sanitizer has been built into, test-kill measures memory, and guests are slow.
PLAIN_BINS := $(B)/int/every_call $(B)/int/mortal $(B)/int/mcast_prog
$(foreach p,$(PLAIN_BINS),$(eval $(call link,release,$p,$(p:$(B)/%=$(B)/obj/release/tests/%.o),\
	$(B)/lib/libweft.a)))
TSAN_BINS := $(patsubst tests/int/%.c,$(B)/tsan/int/%,$(sort $(wildcard tests/int/thr_*.c)))
$(foreach p,$(TSAN_BINS),$(eval $(call link,tsan,$p,$(p:$(B)/tsan/%=$(B)/obj/tsan/tests/%.o),\
	$(B)/tsan/lib/libweft.a)))

# The peers of tests/interop: an iWARP endpoint over a socket, a program of librdmacm, which is
# linked with the system's (for arm64 with the stand-ins), and a wire between them that loses frames.
define peers
$(call link,$1,$(OUT_$1)/int/mpa_sock,$(patsubst %,$(B)/obj/$1/tests/interop/%.o,mpa_sock mpa_wire peer),\
	$(OUT_$1)/lib/libnicfw.a $(OUT_$1)/lib/libweftutil.a)
$(call link,$1,$(OUT_$1)/int/rc_peer,$(patsubst %,$(B)/obj/$1/tests/interop/%.o,rc_peer peer),\
	$(OUT_$1)/lib/libweftutil.a,$2)
$(call link,$1,$(OUT_$1)/int/verbs_data,$(patsubst %,$(B)/obj/$1/tests/clients/%.o,verbs_data verbs_post verbs_ends),\
	$(OUT_$1)/lib/libweftutil.a,$2)
endef
$(eval $(call peers,release,-lrdmacm -libverbs))
$(eval $(call link,release,$(B)/int/lossy_wire,$(patsubst %,$(B)/obj/release/%.o,tests/interop/lossy_wire dpdk_app/wire/impair),\
	$(B)/lib/libweftutil.a))
INTEROP_BINS := $(B)/int/mpa_sock $(B)/int/lossy_wire $(if $(HAVE_RDMACM),$(B)/int/rc_peer)
VERBS_PROGS := $(if $(HAVE_VERBS),$(B)/int/verbs_data)

# The unit tests that run the firmware, linked with one that counts. Only tests of nic_fw are compiled for it.
COV_NEAR := $(filter tests/nic_fw/% tests/pair/%,$(UT_SRCS))
COV_FAR := $(foreach s,$(filter-out $(COV_NEAR),$(UT_SRCS)),$(if $(filter nicfw,$(UT_LIBS_$(call ut_folder,$s))),$s))
cov_bins = $(1:tests/%.c=$(B)/cov/ut/%)
COV_SIM := $(B)/cov/bin/weft-sim
$(eval $(call link,cov,$(COV_SIM),$(B)/obj/release/sim_harness/sim_main.o,$(B)/lib/libsim.a $(B)/lib/libgoal.a \
	$(B)/lib/libweft.a $(B)/cov/lib/libnicfw.a $(B)/lib/libweftutil.a,-lm))
$(eval $(call compile,cov,tests,$(SKELS)))
$(foreach s,$(COV_NEAR) $(COV_FAR),$(eval $(call link,cov,$(call cov_bins,$s),\
	$(s:%.c=$(B)/obj/$(if $(filter $s,$(COV_NEAR)),cov,san)/%.o) $(call ut_stubs,$s),\
	$(patsubst $(B)/san/lib/libnicfw.a,$(B)/cov/lib/libnicfw.a,$(call ut_archives,$(call ut_folder,$s))),\
	$(call ut_flags,$s) -lcunit -ljansson -lm)))

UT_BINS := $(UT_SRCS:tests/%.c=$(B)/san/ut/%)
INT_BINS := $(patsubst %,$(B)/san/int/%,$(INT_PROGS) $(SEC_PROGS)) $(TSAN_BINS) $(PLAIN_BINS) $(INTEROP_BINS)
# Unit tests of programs in Python. They start programs, too.
UT_SCRIPTS := $(if $(HAVE_BPF),$(sort $(wildcard tests/*/*_ut.py)))
# Scripts that take minutes of processor time: make test-long.
LONG_SCRIPTS := tests/int/weft_tune.sh tests/int/tune_device.sh tests/int/memif_dpdk.sh
INT_SCRIPTS := $(filter-out $(LONG_SCRIPTS) tests/int/lib.sh tests/int/goal_pictures_check.py tests/int/capture_check.py tests/security/users.sh,$(sort $(wildcard tests/int/*.sh tests/int/*.py tests/security/*.sh)))

include tests/fuzz/fuzz.mk

# ---- targets --------------------------------------------------------------------------------

test:	## install what is missing, build, run every test (sanitizers on)
	@tools/deps.sh test
	@+$(MAKE) _test
_test: all san
	@tests/run.sh $(UT_BINS) $(UT_SCRIPTS) $(INT_SCRIPTS)

test-unit:	## the unit tests alone; T=name runs those whose path contains it
	@tools/deps.sh unit
	@+$(MAKE) _test-unit
# The tests in Python start it.
$(UT_SCRIPTS): $(B)/san/bin/weft-measure
_test-unit: $(foreach b,$(UT_BINS) $(UT_SCRIPTS),$(if $(or $(if $T,,all),$(findstring $T,$b)),$b))
	@tests/run.sh $^

coverage:	## page of lines and branches of the firmware that unit tests and a soak of SECONDS= (300) run; FAR=1: all unit tests
	@tools/deps.sh unit
	@+$(MAKE) _coverage
.PHONY: coverage _coverage
_coverage: $(COV_SIM) $(call cov_bins,$(COV_NEAR) $(if $(FAR),$(COV_FAR)))
	@find $(B)/obj/cov -name '*.gcda' -delete
	@tests/run.sh $(filter-out $(COV_SIM),$^)
	@$(COV_SIM) --soak --seed $(or $(SEED),1) --cpu-seconds $(or $(SECONDS),300) --jobs 2
	@tools/coverage.py --json $(B)/cov/coverage.json --page $(B)/cov/coverage.md $(B)/obj/cov

test-clients:	## Debian's programs of libibverbs and librdmacm at length; T=name runs those whose path contains it; T=coll_suite: MPI programs of others with the NIC's collectives and without (an hour or more, SUITES=, SUITE_RANKS=)
	@tools/deps.sh test clients $(if $(findstring suite,$(T)),suites) $(if $(and $(T),$(if $(findstring slurm,$(T)),,no)),,slurm)
	@+$(MAKE) _test-clients
CLIENT_SCRIPTS := $(sort $(wildcard tests/clients/*.sh))
_test-clients: all $(call products,san) $(VERBS_PROGS) $(B)/san/int/goal_prog
	@JOBS=1 tests/run.sh $(if $(T),$(foreach s,$(CLIENT_SCRIPTS),$(if $(findstring $T,$s),$s)),$(filter-out %/coll_suite.sh,$(CLIENT_SCRIPTS)))
	@$(if $(findstring suite,$(T)),cat $(B)/test-logs/clients_coll_suite.sh.log)

test-long:	## integration tests that take minutes of processor time
	@tools/deps.sh test
	@+$(MAKE) _test-long
_test-long: all $(call products,san) $(INT_BINS)
	@tests/run.sh $(LONG_SCRIPTS)
.PHONY: test-long _test-long

test-ops:	## what operators run beside weft: Debian's Prometheus, upgrades, packages, containers (25 min); T=name runs those whose path contains it
	@tools/deps.sh test mpi ops deb
	@+$(MAKE) _test-ops
OPS_SCRIPTS := $(filter-out tests/ops/root.sh tests/ops/users.sh tests/ops/upgrades.sh,$(sort $(wildcard tests/ops/*.sh)))
_test-ops: all $(call products,san) $(INT_BINS)
	@JOBS=1 tests/run.sh $(if $(T),$(foreach s,$(OPS_SCRIPTS),$(if $(findstring $T,$s),$s)),$(OPS_SCRIPTS))
.PHONY: test-ops _test-ops

# Preloaded in front of libweft.so by tests/ops/upgrade_programs.sh.
$(B)/int/gaps.so: tests/ops/gaps.c Makefile tests/tests.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -shared -fPIC -o $@ $< -ldl

test-int:	## the integration tests alone; T=name runs those whose path contains it
	@tools/deps.sh test
	@+$(MAKE) _test-int
_test-int: all $(call products,san) $(INT_BINS)
	@tests/run.sh $(if $(T),$(foreach s,$(INT_SCRIPTS),$(if $(findstring $T,$s),$s)),$(INT_SCRIPTS))

# Tests for arm64, linked with the arm64 archives: those of the firmware, which is weftd's and counts no walks, of what
# other folders need, and of CRC32C by the processor's instructions.
ARM_UT := $(filter-out $(shell grep -ls fw_walk_steps tests/nic_fw/*/*_ut.c tests/pair/*_ut.c),\
	$(filter tests/nic_fw/% tests/pair/% tests/shared_defs/% tests/lib/% tests/dpdk_app/accel_ut.c,$(UT_SRCS)))
ARM_BINS := $(ARM_UT:tests/%.c=$(OUT_aarch64)/ut/%)
CFLAGS_tests_aarch64 := $(CFLAGS_tests) $(SYSROOT_CFLAGS)
$(eval $(call compile,aarch64,tests))
$(B)/obj/aarch64/tests/dpdk_app/%.o: CFLAGS_tests_aarch64 = $(CFLAGS_dpdk_app_aarch64)
$(foreach f,bench pair nic_fw dpdk_app,$(if $(call ut_helpers,$f),$(eval $(call archive,aarch64,ut_$f,$(call ut_helpers,$f)))))
$(foreach s,$(ARM_UT),$(eval $(call link,aarch64,$(s:tests/%.c=$(OUT_aarch64)/ut/%),\
	$(patsubst $(B)/obj/san/%,$(B)/obj/aarch64/%,$(s:%.c=$(B)/obj/aarch64/%.o) $(call ut_stubs,$s)),\
	$(patsubst $(B)/san/%,$(OUT_aarch64)/%,$(call ut_archives,$(call ut_folder,$s))),\
	$(filter-out -lbsd,$(call ut_flags,$s)) -lcunit -ljansson -lm)))
test-nodes:	## the firmware's tests and the simulator's kept runs on Arm, weftd on PCI cards and on Arm, emulated (an hour); T=name, SEEDS=20 of each workload
	@tools/deps.sh test cross nodes interop
	@tools/cross_sysroot.sh $(SYSROOT)
	@+$(MAKE) _test-nodes
# Programs of the guests (tests/nodes/guest.sh), on either machine.
GUEST_PROGS := mcast_prog goal_prog
$(foreach p,$(GUEST_PROGS),$(foreach v,$(if $(filter $(B)/int/$p,$(PLAIN_BINS)),,release) aarch64,$(eval $(call link,$v,$(OUT_$v)/int/$p,$(B)/obj/$v/tests/int/$p.o,\
	$(foreach l,goal weft weftutil,$(OUT_$v)/lib/lib$l.a),$(TOOL_LIBS_$v)))))
$(eval $(call peers,aarch64,$(OUT_aarch64)/lib/verbs/librdmacm.so.1 $(OUT_aarch64)/lib/verbs/libibverbs.so.1 -Wl$(comma)--allow-shlib-undefined))
$(OUT_aarch64)/int/rc_peer $(OUT_aarch64)/int/verbs_data: $(ARM_STAND_INS)
ARM_GUEST := $(patsubst %,$(OUT_aarch64)/bin/%,weftd weftctl weft-bench goal-run weft-sim) $(ARM_STAND_INS) \
	$(patsubst %,$(OUT_aarch64)/int/%,$(GUEST_PROGS) mpa_sock $(if $(HAVE_RDMACM),rc_peer verbs_data))
NODES_SCRIPTS := tests/nodes/arm.sh tests/nodes/pci.sh tests/nodes/arm_guest.sh
_test-nodes: all $(PLAIN_BINS) $(INTEROP_BINS) $(VERBS_PROGS) $(GUEST_PROGS:%=$(B)/int/%) $(ARM_GUEST) $(ARM_BINS)
	@ARM_SIM=$(OUT_aarch64)/bin/weft-sim ARM_LIBS=$(CURDIR)/$(SYSROOT)/usr/lib/aarch64-linux-gnu ARM_UT='$(ARM_BINS)' \
		ARM_BIN=$(CURDIR)/$(OUT_aarch64)/bin WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_INT=$(CURDIR)/$(B)/int JOBS=1 \
		tests/run.sh $(if $(T),$(foreach s,$(NODES_SCRIPTS),$(if $(findstring $T,$s),$s)),$(NODES_SCRIPTS))
	@cat $(B)/test-logs/nodes_*.sh.log
.PHONY: test-nodes _test-nodes

test-interop:	## iWARP with others, as root: Linux's TCP, and siw in a small guest that is built first; T=name
	@tools/deps.sh test interop
	@+$(MAKE) _test-interop
INTEROP_SCRIPTS := $(filter-out tests/interop/lib.sh tests/interop/guest%.sh,$(sort $(wildcard tests/interop/*.sh)))
_test-interop: all $(call products,san) $(INTEROP_BINS)
	@JOBS=1 tests/run.sh $(if $(T),$(foreach s,$(INTEROP_SCRIPTS),$(if $(findstring $T,$s),$s)),$(INTEROP_SCRIPTS))

soak:	## runs of the simulator, kept seeds and then random ones, with sanitizers, for SECONDS=60; JOBS=1 at a time
	@tools/deps.sh test
	@+$(MAKE) _soak
_soak: $(B)/san/bin/weft-sim
	@WEFT_SEEDS_STEP=1 WEFT_SEEDS_SIM=$< tests/run.sh tests/int/sim_seeds.sh
	@$< --soak --workload rd_mix:typed=60 --seconds $$(( $(or $(SECONDS),60) / 10 + 1 )) --jobs $(or $(JOBS),1)
	@$< --soak --seconds $(or $(SECONDS),60) --jobs $(or $(JOBS),1) --json $(B)/soak.json \
		--record $(B)/soak.record

# A mutant is one file changed and linked before the archive of all of its folder.
MUTANT_ENV = $(foreach f,nic_fw dpdk_app,MUTANT_CC_$f='$(CC_release) $(COMMON) $(CFLAGS_$f) $(FLAGS_release) $(CFLAGS)') \
	MUTANT_LINK='$(CC_release) -pthread $(LDFLAGS) $(B)/obj/release/sim_harness/sim_main.o OBJECT \
	$(B)/lib/libsim.a $(B)/lib/libgoal.a $(B)/lib/libweft.a $(B)/lib/libnicfw.a $(B)/lib/libweftutil.a -lm $(DIGEST_LIB)' MUTANT_SIM=$(B)/bin/weft-sim \
	$(foreach t,neigh neigh_full,MUTANT_STUBS_$t_ut=$(call ut_stubs,tests/nic_fw/net/$t_ut.c)) MUTANT_TEST='$(CC_san) $(LD_san) -pthread $(LDFLAGS) $(B)/obj/san/tests/TEST.o OBJECT -Wl,--start-group \
	$(B)/san/lib/libut_FOLDER.a $(foreach l,ut_bench sim goal weft nicfw weftutil,$(B)/san/lib/lib$l.a) -Wl,--end-group -lcunit -ljansson -lm $(DIGEST_LIB)' \
	MUTANT_FLAGS_pair='$(UT_FLAGS_pair)' MUTANT_TEST_dpdk_app='$(CC_san) $(LD_san) -pthread $(LDFLAGS) $(B)/obj/san/tests/TEST.o OBJECT \
	$(call ut_archives,dpdk_app) $(WEFTD_LIBS) -lcunit -ljansson -lm'
# Tests of what the soak does not reach: TESTS in mutants.py.
MUTANT_TESTS := $(filter $(B)/san/ut/sim/tcp_% $(B)/san/ut/sim/rc_tcp_% $(B)/san/ut/nic_fw/tcp/% \
	$(B)/san/ut/sim/moder_% $(B)/san/ut/nic_fw/host/moder_% $(B)/san/ut/host_driver/weft_eq_% \
	$(foreach t,db share rd_hello slice neigh neigh_full rd_withdraw rd_flow rd_grant_loss congestion esp_rdmap esp_rdmap_gone esp_answer goal_circle goal_still goal_op memif_check memif_ring hostcopy tag_match tag_match_random tag_order tag_rtr tag_share tag_eager tag_whole tag_forge tag_setup borrow cq_late cmd mem mem_window guess chains walks recv_many goal_heap client_mem \
	goal_dear goal_user port_right random slow_atomic esp_refused fw_renew station esp_rx esp_room pace sched fw late_copy rd_term rd_session rd_stopped tag_turns cm_end tag_notice tag_context mgrp mgrp_borrow mgrp_data idle wqe rd_timer,\
		%/$t_ut),$(UT_BINS))

mutants:	## deliberate faults in the firmware, each to be caught by the soak in 60 s; T=name one of them
	@tools/deps.sh test
	@+$(MAKE) _mutants
_mutants: $(B)/bin/weft-sim $(MUTANT_TESTS)
	@$(MUTANT_ENV) tests/mutants/mutants.py --seed $(or $(SEED),1) --limit $(or $(SECONDS),60) \
		--json $(B)/mutants.json $T
_mutants-check: $(B)/bin/weft-sim $(MUTANT_TESTS)
	@$(MUTANT_ENV) tests/mutants/mutants.py --check $T

# Drawn changes of the firmware (tests/mutants/score.py): it is a shared library here, one for each set of
# wrapped functions, so that a change costs one compilation and one link.
CC_score := $(CC)
FLAGS_score := $(FLAGS_san) -fPIC
LD_score := $(SANITIZE)
OUT_score := $(B)/score
$(eval $(call compile,score,nic_fw))
SCORE_OBJS := $(SRC_nicfw:%.c=$(B)/obj/score/%.o)
SCORE_WRAP_pool := $(WRAP_POOL)
SCORE_WRAP_tcp := $(WRAP_POOL) $(WRAP_TCP)
SCORE_WRAP_atomic := $(WRAP_POOL) $(WRAPS_pair/atomic_ut:%=-Wl$(comma)--wrap=%)
SCORE_VARIANTS := plain pool tcp atomic
SCORE_SO = $(CC_score) $(LD_score) -shared -Wl,-soname,libnicfw.so $(SCORE_WRAP_$1)
define score_library
$(B)/score/lib/$1/libnicfw.so: $(SCORE_OBJS) Makefile tests/tests.mk
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(call SCORE_SO,$1) -o $$@ $(SCORE_OBJS)
endef
$(foreach v,$(SCORE_VARIANTS),$(eval $(call score_library,$v)))
SCORE_SIM := igmp mcast srq moder xrc rd_errors rd_ops rd_fair rc_esp rc_tcp ud uc cm mgrp mgrp_forged $(patsubst %,goal_%,run fail lost stall coll_move coll_reduce)
SCORE_UT := $(filter tests/nic_fw/% tests/pair/% tests/sim/tcp_% $(SCORE_SIM:%=tests/sim/%_ut.c),$(UT_SRCS))
score_variant = $(if $(filter $1,$(WRAPPED_TCP)),tcp,$(if $(filter tests/pair/atomic_ut.c,$1),atomic,$(if $(filter tests/pair/%,$1),pool,plain)))
score_archives = $(patsubst $(B)/san/lib/libnicfw.a,$(B)/score/lib/$2/libnicfw.so,$1)
$(foreach s,$(SCORE_UT),$(eval $(call link,score,$(s:tests/%.c=$(B)/score/ut/%),$(s:%.c=$(B)/obj/san/%.o) $(call ut_stubs,$s),\
	$(call score_archives,$(call ut_archives,$(call ut_folder,$s)),$(call score_variant,$s)),$(call ut_flags,$s) -lcunit -ljansson -lm)))
$(eval $(call link,score,$(B)/score/bin/weft-sim,$(B)/obj/san/sim_harness/sim_main.o,\
	$(call score_archives,$(foreach l,sim goal weft nicfw weftutil,$(B)/san/lib/lib$l.a),plain),-lm))
score_test = $(CC_score) $(LD_score) -pthread $(LDFLAGS) OBJECT -Wl,--start-group $(filter-out %libnicfw.a,$(call ut_archives,$1)) VARIANT -lnicfw \
	-Wl,--end-group -lcunit -ljansson -lm $(DIGEST_LIB)
SCORE_ENV = SCORE_CC='$(CC_score) $(COMMON) $(CFLAGS_nic_fw_score) $(FLAGS_score) $(CFLAGS)' \
	SCORE_CC_PLAIN='$(CC_score) $(COMMON) $(CFLAGS_nic_fw) $(FLAGS_release) -g0 $(CFLAGS)' \
	SCORE_CC_TEST='$(CC_san) $(COMMON) $(CFLAGS_tests) $(FLAGS_san) $(CFLAGS)' \
	$(foreach v,$(SCORE_VARIANTS),SCORE_SO_$v='$(call SCORE_SO,$v) OBJECTS' SCORE_WRAP_$v='$(SCORE_WRAP_$v)') \
	$(foreach f,nic_fw pair,SCORE_TEST_$f='$(call score_test,$f)')
.PHONY: score _score
# Changes of one FILE meet TESTS alone, or the test that has the file's name.
SCORE_OF := $(if $(FILE),$(filter $(subst *,%,$(foreach t,$(or $(TESTS),$(FILE:%.c=%_ut)),tests/$t.c)),$(SCORE_UT)),$(SCORE_UT))
score:	## the share of drawn changes of nic_fw that tests catch; SEED=1, COUNT=300, SECONDS=20 of each soak, PART=1/2 for one of two at a time; FILE=nic_fw/coll/goal_match.c one file against TESTS="...", or its own unit test
	@tools/deps.sh unit
	@+$(MAKE) _score
_score: $(SCORE_OF:tests/%.c=$(B)/score/ut/%) $(if $(FILE),,$(B)/score/bin/weft-sim)
	@[ -n '$(SCORE_OF)' ] || { echo 'score: no unit test has this name' >&2; exit 2; }
	@echo $(SCORE_OBJS) > $(B)/score/objects
	@printf '%s %s\n' $(foreach s,$(SCORE_OF),$(s:tests/%.c=%) $(call score_variant,$s)) > $(B)/score/tests
	@$(SCORE_ENV) tests/mutants/score.py --seed $(or $(SEED),1) --count $(or $(COUNT),300) --seconds $(or $(SECONDS),20) \
		--part $(or $(PART),1/1) $(if $(LAZY),--lazy) $(if $(NEAR),--near) \
		$(if $(FILE),--file $(FILE) --tests $(SCORE_OF:tests/%.c=%))
	@$(if $(FILE),:,tests/mutants/score.py --report)

.PHONY: tsan valgrind test-kill _tsan _valgrind _test-kill
tsan:	## ThreadSanitizer: libweft with threads, longer than in make test, ROUNDS=n; weftd with SHARDS="2 4" shards, T=name for some tests
	@tools/deps.sh test
	@+$(MAKE) _tsan
# Tests of weftd whose processes cross shards of the switch, memif and veth.
SHARD_TESTS := $(patsubst %,tests/int/%.sh,shards ud mcast rc_esp cm_data rd_faults file tag coalesce kill_client stopped_client weftd_killed hostile \
	goal_every goal_group goal_stop capture_path two_weftd_memif two_weftd_veth)
shard_tests = $(if $(T),$(foreach s,$(SHARD_TESTS),$(if $(findstring $T,$s),$s)),$(SHARD_TESTS))
# Runs them with each of these numbers of shards, further ones also when one fails, and names those at the end.
# $(call each_shards,NUMBERS,ENVIRONMENT,COMMAND BEFORE)
each_shards = failed=; $(if $3,$3 || failed=' threads.sh';) for n in $1; do echo "$$n shards:"; \
	$2 WEFT_SHARDS=$$n WEFT_TEST_LIMIT=180 WEFT_SLOW=5 tests/run.sh $(shard_tests) || failed="$$failed $$n-shards"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }
_tsan: all $(call products,san) $(INT_BINS) $(B)/tsan/bin/weftd
	@$(call each_shards,$(or $(SHARDS),2 4),WEFT_WEFTD='$(CURDIR)/$(B)/tsan/bin/weftd --seccomp off' \
		TSAN_OPTIONS='exitcode=66 $(TSAN_OPTIONS)' JOBS=2,$(if $T,,WEFT_ROUNDS=$(or $(ROUNDS),8) tests/run.sh tests/int/threads.sh))

test-shards:	## integration tests with NICs of SHARDS="2 4 8" shards each, on threads; T=name for some
	@tools/deps.sh test
	@+$(MAKE) _test-shards
_test-shards: all $(call products,san) $(INT_BINS)
	@$(call each_shards,$(or $(SHARDS),2 4 8))
.PHONY: test-shards _test-shards

valgrind:	## every function of libweft under valgrind's memcheck
	@tools/deps.sh test
	@+$(MAKE) _valgrind
_valgrind: $(call products,san) $(INT_BINS)
	@tests/run.sh tests/int/memcheck.sh

test-kill:	## clients killed at KILLS=1000 random points; what the NICs have left of them, counted
	@tools/deps.sh test
	@+$(MAKE) _test-kill
_test-kill: all $(PLAIN_BINS)
	@WEFT_KILLS=$(or $(KILLS),1000) WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_INT=$(CURDIR)/$(B)/int \
		tests/run.sh tests/int/kill_points.py
	@cat $(B)/test-logs/int_kill_points.py.log

fuzz:	## fuzz the NIC from the wire and the host for FUZZ_SECONDS= (60), JOBS= targets at a time
	@tools/deps.sh fuzz
	@+$(MAKE) _fuzz
.PHONY: fuzz

# The programs of tests/mpi, once per MPI library. MPICH's MPI_STATUSES_IGNORE looks to the compiler like an array of one.
MPI_PROGS := p2p types coll graph reduce rma threads steady
MPI_LIBRARIES := $(foreach l,openmpi mpich,$(if $(shell command -v mpicc.$l),$l))
MPI_BINS := $(foreach l,$(MPI_LIBRARIES),$(MPI_PROGS:%=$(B)/mpi/$l/%))
define mpi_program
$(B)/mpi/$1/$2: tests/mpi/$2.c tests/mpi/mt.c tests/mpi/mt.h Makefile tests/tests.mk
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@)
	$$(Q)mpicc.$1 $$(HOST) -O2 -g $$(ARCH) $$(WARN) -Wno-stringop-overflow -I. -o $$@ tests/mpi/$2.c tests/mpi/mt.c
endef
$(foreach l,$(MPI_LIBRARIES),$(foreach p,$(MPI_PROGS),$(eval $(call mpi_program,$l,$p))))

.PHONY: run-mpi _run-mpi
run-mpi:	## MPI programs on weft, unchanged, under Open MPI and MPICH on RANKS="2 4" ranks; OVER="ucx ud ofi rxm iwarp", WIRE=memif or veth, QUICK=1
	@tools/deps.sh run mpi
	@+$(MAKE) _run-mpi
_run-mpi: all $(MPI_BINS)
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_RUN=$(CURDIR)/$(B)/bin/weft-run WEFT_MPI=$(CURDIR)/$(B)/mpi \
		tools/run/run_mpi.sh $(if $(QUICK),--quick) --ranks '$(or $(RANKS),2 4)' --wire $(or $(WIRE),switch) \
			--over '$(or $(OVER),ucx ofi rxm)'

_test-clients: $(MPI_BINS)

lint:	## include rules, formatting, cppcheck, shellcheck, commit subjects
	@tools/deps.sh lint
	@tools/lint.sh

# gcc's analyzer, by folder; the parts of host_driver whose headers this machine has.
ANALYZE_lib := $(SRC_weftutil)
ANALYZE_nic_fw := $(SRC_nicfw)
ANALYZE_host_driver = $(SRC_weft) $(SRC_goal) $(if $(HAVE_VERBS),$(SRC_verbs) $(SRC_preload)) \
	$(if $(HAVE_RDMACM),$(SRC_rdmacm) $(SRC_sockets)) $(if $(HAVE_FABRIC),$(SRC_fabric))
ANALYZE_dpdk_app := $(if $(HAVE_DPDK),$(SRC_weftd) dpdk_app/main.c)
analyze: $(B)/gen/fw_layout.h $(if $(HAVE_DPDK),$(SKELS))	## gcc's -fanalyzer over nic_fw (5 min); D="lib host_driver dpdk_app" over others, with findings that are none
	@rc=0; $(foreach f,$(or $D,nic_fw),tools/analyze.sh \
		'$(CC) $(COMMON) $(CFLAGS_$f) $(if $(filter nic_fw,$f),-include $(B)/gen/fw_layout.h) -O1 $(ARCH)' \
		$(ANALYZE_$f) || rc=1;) exit $$rc
.PHONY: analyze

abi: $(STAND_INS)	## list the symbols of libibverbs and librdmacm: implemented or refusing
	$(Q)tools/verbs_symbols.sh table $(SYSTEM_LIBS)/libibverbs.so.1 $(OBJ_ibverbs)
	$(Q)$(if $(filter %/librdmacm.so.1,$(STAND_INS)),tools/verbs_symbols.sh table $(SYSTEM_LIBS)/librdmacm.so.1 $(OBJ_rdmacm))
