# SPDX-License-Identifier: BSD-3-Clause
#
# The whole build of weft, by hand and without configuration. `make help` lists the targets. Parts of
# it lie where they are used: tests/tests.mk, tests/fuzz/fuzz.mk, tools/bench/bench.mk, dist/dist.mk.
#
# Sources are found by wildcard, one library or program per folder:
#
#	lib/*.c			libweftutil.a	parts that the other folders share; not installed
#	nic_fw/*.c, */*.c	libnicfw.a	the firmware
#	host_driver/*.c		libweft.a, .so	the host driver
#	host_driver/goal/*.c,	libgoal.a, .so	GOAL schedules
#	host_driver/goal/*/*.c
#	host_driver/verbs/*.c	verbs/libibverbs.so.1	stands in for the library of that name; needs its headers
#	host_driver/rdmacm/*.c	verbs/librdmacm.so.1	likewise
#	host_driver/verbs/preload/*.c	verbs/libweft-preload.so	what weft-run puts in front of the C library
#	host_driver/sockets/*.c	verbs/libweft-sockets.so	likewise, with --sockets
#	host_driver/fabric/*.c	libfabric/libweft-fi.so	provider of libfabric; needs its headers
#	host_driver/ompi/*.c	openmpi/mca_coll_weft.so	a component of Open MPI; needs libopenmpi-dev
#	host_driver/mpich/*.c	mpich/libweft-mpich.so	MPICH's collectives; needs libmpich-dev
#	host_driver/mpi/*.c	in both of them
#	sim_harness/*.c, */*.c	libsim.a	(sim_main.c: weft-sim)
#	dpdk_app/*.c, */*.c	libweftd.a	(main.c: weftd); needs DPDK
#	dpdk_app/xdp/*.bpf.c,	build/gen/*.skel.h
#	tools/weft*/*.bpf.c
#	tools/weft*/*.c,	one program per folder with a main.c, called as the folder is
#	tools/goal-*/*.c	and tools/usage.c in all of them
#	tools/<other>/*.c	one program per file, called as the file is
#	tests/<folder>/*_ut.c,	one CUnit program each; other .c files of the folder help all of them
#	tests/<folder>/*/*_ut.c
#	tests/bench/*.c		libut_bench.a, for every test that runs the firmware
#	tests/int/*.c		one program each, for the integration tests; tests/security/*.c likewise
#	tests/interop/*.c	mpa_sock, rc_peer and lossy_wire, for tests with others
#
# in two variants: release in build/bin and build/lib, and san (ASan, UBSan), which the tests
# run, in build/san. A third, aarch64, is made by fw-cross; a fourth, tsan (ThreadSanitizer), has the
# host library, the tests/int programs thr_* and weftd alone. Objects lie in build/obj/<variant>.

VERSION := 0.2.0
SOVERSION := 0

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

B := build

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
CLANG ?= clang
BPFTOOL := $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
MPICC ?= mpicc
CROSS ?= aarch64-linux-gnu-

Q := $(if $(V),,@)
say = @printf '  %-7s %s\n' '$1' '$2'

# ---- flags ----------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wshadow -Wswitch-enum -Wmissing-prototypes -Wstrict-prototypes -Werror
COMMON := $(WARN) -I. -DWEFT_VERSION=\"$(VERSION)\"
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)

# The oldest processors weft runs on; faster instructions are chosen at run time.
ARCH_x86_64 := -march=x86-64-v2
ARCH_aarch64 := -march=armv8-a+crc
ARCH := $(ARCH_$(firstword $(subst -, ,$(MACHINE))))

CC_release := $(CC)
FLAGS_release := -O2 -g $(ARCH)
OUT_release := $(B)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
# Reports of sanitizers need lines alone: -g1 builds in 0.85 of the time and in a third of the room of -g.
CC_san := $(CC)
FLAGS_san := -O1 -g1 -fno-omit-frame-pointer $(SANITIZE) $(ARCH)
LD_san := $(SANITIZE)
OUT_san := $(B)/san

# ThreadSanitizer: the host library, the threaded programs of tests/int and weftd alone. It does not know fences: those of
# weftd and the firmware order flags that are atomic themselves, or memory that processes share. DPDK's rings in the form
# that it follows.
CC_tsan := $(CC)
FLAGS_tsan := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread $(ARCH)
LD_tsan := -fsanitize=thread
OUT_tsan := $(B)/tsan
WEFTD_LIBS_tsan = $(WEFTD_LIBS)

# gcov's counts: the firmware alone, and the tests that have it to themselves. The other archives are those of san.
CC_cov := $(CC)
# A copy of an inlined function would count its branches once more.
FLAGS_cov := -O0 -g --coverage -Dalways_inline= $(ARCH)
LD_cov := --coverage $(SANITIZE)
OUT_cov := $(B)/cov

CC_aarch64 := $(CROSS)gcc
FLAGS_aarch64 := -O2 -g $(ARCH_aarch64)
OUT_aarch64 := $(B)/aarch64

# The firmware alone, with no header and no function of a C library but those of
# tools/freestanding.
CC_fw := $(CROSS)gcc
FLAGS_fw := -O2 -g $(ARCH_aarch64) -mno-outline-atomics -ffreestanding -fno-pic -fbuiltin -nostdinc \
	-isystem $(shell $(CROSS)gcc -print-file-name=include 2>/dev/null) -isystem tools/freestanding
OUT_fw := $(B)/aarch64/freestanding

# arm64 packages, unpacked by tools/cross_sysroot.sh
SYSROOT := $(B)/aarch64/sysroot
# The arm64 libraries that those need in turn are not all there: their symbols are not looked at.
SYSROOT_LDFLAGS := -L$(SYSROOT)/usr/lib/aarch64-linux-gnu -L$(SYSROOT)/lib/aarch64-linux-gnu -Wl,--unresolved-symbols=ignore-in-shared-libs
LD_aarch64 = $(SYSROOT_LDFLAGS)
SYSROOT_CFLAGS := -isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/aarch64-linux-gnu

# pkg-config puts -march=corei7 into libdpdk's flags: ours takes its place. System headers do
# not have to meet our warnings.
DPDK_CFLAGS := $(patsubst -I%,-isystem %,$(filter-out -march=%,$(shell $(PKG_CONFIG) --cflags libdpdk 2>/dev/null)))
DPDK_LIBS := $(shell $(PKG_CONFIG) --libs libdpdk 2>/dev/null)

# Packages that the machine has not got, by their Debian names: of everything, of weftd, and of the tools that
# count in the kernel. deps.sh installs them; a build says once which are missing.
have_program = $(shell command -v $(firstword $1) 2>/dev/null)
have_module = $(shell $(PKG_CONFIG) --exists $1 2>/dev/null && echo yes)
MISSING := $(if $(call have_program,$(CC)),,gcc libc6-dev)
MISSING += $(if $(call have_program,$(PKG_CONFIG)),,pkg-config)
MISSING += $(if $(or $(call have_module,jansson),$(wildcard /usr/include/jansson.h)),,libjansson-dev)
MISSING += $(if $(or $(call have_module,libmicrohttpd),$(wildcard /usr/include/microhttpd.h)),,libmicrohttpd-dev)
MISSING += $(if $(or $(call have_module,ncurses),$(wildcard /usr/include/curses.h)),,libncurses-dev)
MISSING += $(if $(or $(call have_module,libmd),$(wildcard /usr/include/sha2.h)),,libmd-dev)
MISSING += $(if $(or $(call have_module,pmix),$(wildcard /usr/include/pmix.h /usr/lib/*/pmix*/include/pmix.h)),,libpmix-dev)
MISSING_bpf := $(if $(wildcard /usr/include/bpf/libbpf.h),,libbpf-dev) $(if $(call have_program,$(CLANG)),,clang) \
	$(if $(call have_program,$(BPFTOOL)),,bpftool)
MISSING_weftd := $(strip $(if $(DPDK_LIBS),,libdpdk-dev) $(if $(wildcard /usr/include/isa-l.h),,libisal-dev) $(MISSING_bpf))
MISSING_counting := $(strip $(MISSING_bpf) $(if $(wildcard /usr/include/libmnl/libmnl.h),,libmnl-dev))
# Goals that compile in this make. The others install what is missing and call make again, or compile nothing.
ifneq ($(filter all san abi install _% $(B)/%,$(or $(MAKECMDGOALS),all)),)
ifneq ($(strip $(MISSING)),)
$(error packages are missing; type, as root: apt-get install $(strip $(MISSING)), or tools/deps.sh run for all that weft can use)
endif
endif
HAVE_DPDK := $(if $(MISSING_weftd),,yes)
HAVE_BPF := $(if $(MISSING_counting),,yes)
DPDK_LIBS += -lrte_net_ring

PMIX_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags-only-I pmix 2>/dev/null))
HOST := -std=gnu11 -D_GNU_SOURCE -pthread
# gcc clears and copies structs of some hundred bytes by "rep", which takes longer to start than their stores take.
STRUCT_x86_64 = $(foreach f,memset memcpy,-m$f-strategy=vector_loop:512:noalign$(comma)libcall:-1:noalign)
# Nor may it read several fields, each just stored, as one word: such a load waits for all earlier stores, also those to lines
# that another processor has. cq_post() lost 30 ns by it.
STRUCTS = $(if $(findstring clang,$(CC)),,$(STRUCT_$(firstword $(subst -, ,$(MACHINE)))) -fno-tree-slp-vectorize)
CFLAGS_nic_fw := -std=c11
CFLAGS_nic_fw_release = $(CFLAGS_nic_fw) $(STRUCTS)
# Variants that unit tests are linked with count steps along lists (nic_fw/base/walk.h).
$(foreach v,san cov score,$(eval CFLAGS_nic_fw_$v = $(CFLAGS_nic_fw) -DFW_COUNT_WALKS))
CFLAGS_lib := $(HOST)
CFLAGS_host_driver := $(HOST) -fPIC -fvisibility=hidden $(PMIX_CFLAGS)
CFLAGS_sim_harness := $(HOST)
CFLAGS_dpdk_app := $(HOST) -I$(B)/gen $(DPDK_CFLAGS)
CFLAGS_dpdk_app_tsan = $(CFLAGS_dpdk_app) -DRTE_USE_C11_MEM_MODEL -Wno-tsan
CFLAGS_nic_fw_tsan = $(CFLAGS_nic_fw) -Wno-tsan
CFLAGS_tools := $(HOST) -I$(B)/gen
CFLAGS_dpdk_app_aarch64 := $(HOST) -I$(B)/gen -isystem $(SYSROOT)/usr/include/dpdk \
	-isystem $(SYSROOT)/usr/include/aarch64-linux-gnu/dpdk -include rte_config.h $(SYSROOT_CFLAGS)
CFLAGS_tools_aarch64 := $(HOST) -I$(B)/gen $(SYSROOT_CFLAGS)
CFLAGS_tests := $(HOST) -I$(B)/gen

# ---- sources --------------------------------------------------------------------------------

SRC_weftutil := $(sort $(wildcard lib/*.c))
SRC_nicfw := $(sort $(wildcard nic_fw/*.c nic_fw/*/*.c))
SRC_weft := $(sort $(wildcard host_driver/*.c))
SRC_goal := $(sort $(wildcard host_driver/goal/*.c host_driver/goal/*/*.c))
SRC_verbs := $(sort $(wildcard host_driver/verbs/*.c))
SRC_rdmacm := $(sort $(wildcard host_driver/rdmacm/*.c))
SRC_preload := $(sort $(wildcard host_driver/verbs/preload/*.c))
SRC_sockets := $(sort $(wildcard host_driver/sockets/*.c))
SRC_fabric := $(sort $(wildcard host_driver/fabric/*.c))
SRC_ompi := $(sort $(wildcard host_driver/ompi/*.c)) \
	$(sort $(wildcard host_driver/mpi/*.c))
SRC_mpich := $(sort $(wildcard host_driver/mpi/*.c host_driver/mpich/*.c))
SRC_sim := $(sort $(filter-out sim_harness/sim_main.c,$(wildcard sim_harness/*.c sim_harness/*/*.c)))
SRC_weftd := $(sort $(filter-out dpdk_app/main.c %.bpf.c,$(wildcard dpdk_app/*.c dpdk_app/*/*.c)))
# BPF programs, and the headers that put them into weftd and into tools.
SRC_bpf := $(sort $(wildcard dpdk_app/xdp/*.bpf.c tools/weft*/*.bpf.c))
skels = $(patsubst %.bpf.c,$(B)/gen/%.skel.h,$(notdir $(filter $1/%,$(SRC_bpf))))
SKELS := $(call skels,dpdk_app)
SKELS_tools := $(if $(HAVE_BPF),$(call skels,tools))

# An MPI program: built beside the component of Open MPI.
MPI_TOOL := weft-coll-tune
ALL_TOOLS := $(sort $(filter-out $(MPI_TOOL),$(patsubst tools/%/main.c,%,$(wildcard tools/weft*/main.c tools/goal-*/main.c))))
COUNTING_TOOLS := weft-irqs weft-measure
TOOLS := $(if $(HAVE_BPF),$(ALL_TOOLS),$(filter-out $(COUNTING_TOOLS),$(ALL_TOOLS)))
# Every tool is linked with usage.c, the messages about its command line.
tool_sources = $(sort tools/usage.c $(filter-out %.bpf.c,$(wildcard tools/$1/*.c)) $(TOOL_SRCS_$1))
# All of weft-measure but its main(): its unit tests are linked with that, too.
SRC_measure := $(sort tools/usage.c $(filter-out tools/weft-measure/main.c,$(wildcard tools/weft-measure/*.c)))
# weft-tune is Python: what is installed of it beside its starter.
TUNE_FILES := $(sort $(wildcard tools/weft-tune/*.py tools/weft-tune/*.j2) tools/plot/figures.py)
HELPER_SRCS := $(sort $(filter-out tools/weft% tools/goal-% %.bpf.c tools/bench/handover.c,$(wildcard tools/*/*.c)))
HELPERS := $(basename $(notdir $(HELPER_SRCS)))
UT_SRCS := $(sort $(wildcard tests/*/*_ut.c tests/*/*/*_ut.c))
# Fuzz targets whose headers this machine has not got.
FUZZ_LACKS := $(if $(HAVE_DPDK),,options control gso) $(if $(wildcard /usr/include/bpf/libbpf.h),,xdp) \
	$(if $(wildcard /usr/include/rdma/rsocket.h),,rsock rsock_dgram)
UT_SRCS := $(filter-out $(FUZZ_LACKS:%=tests/fuzz/%_ut.c),$(UT_SRCS))
# weft-measure counts by BPF.
ifeq ($(HAVE_BPF),)
UT_SRCS := $(filter-out tests/tools/measure_%,$(UT_SRCS))
endif
ifeq ($(HAVE_DPDK),)
UT_SRCS := $(filter-out tests/dpdk_app/%,$(UT_SRCS))
endif
ifeq ($(wildcard /usr/include/rdma/rsocket.h),)
UT_SRCS := $(filter-out tests/rdmacm/% tests/sockets/%,$(UT_SRCS))
endif
# The stand-in for libibverbs is built, and tested, where its headers are.
ifeq ($(wildcard /usr/include/infiniband/verbs.h),)
UT_SRCS := $(filter-out tests/verbs/%,$(UT_SRCS))
endif
HAVE_FABRIC := $(wildcard /usr/include/rdma/providers/fi_prov.h)
ifeq ($(HAVE_FABRIC),)
UT_SRCS := $(filter-out tests/fabric/%,$(UT_SRCS))
endif
# A test belongs to the first folder below tests/, whose helpers and libraries it is linked with.
ut_folder = $(firstword $(subst /, ,$(patsubst tests/%,%,$1)))
UT_FOLDERS := $(sort $(foreach s,$(UT_SRCS),$(call ut_folder,$s)))
INT_PROGS := $(patsubst tests/int/%.c,%,$(sort $(wildcard tests/int/*.c)))
SEC_PROGS := $(patsubst tests/security/%.c,%,$(sort $(filter-out %_ut.c,$(wildcard tests/security/*.c))))
ifeq ($(HAVE_DPDK),)
INT_PROGS := $(filter-out xdp_% memif_dpdk,$(INT_PROGS))
endif

# ---- rules, made per variant ----------------------------------------------------------------

# $1 variant, $2 folder: objects, rebuilt when the flags change
define compile
$(B)/obj/$1/$2.flags: FORCE
	@mkdir -p $$(@D)
	@echo '$$(CC_$1) $$(FLAGS_$1) $$(or $$(CFLAGS_$2_$1),$$(CFLAGS_$2)) $$(COMMON) $$(CFLAGS)' | cmp -s - $$@ || \
		echo '$$(CC_$1) $$(FLAGS_$1) $$(or $$(CFLAGS_$2_$1),$$(CFLAGS_$2)) $$(COMMON) $$(CFLAGS)' > $$@
$(B)/obj/$1/$2/%.o: $2/%.c $(B)/obj/$1/$2.flags | $3
	@mkdir -p $$(@D)
	$$(call say,CC,$$<$(if $(filter release,$1),, ($1)))
	$$(Q)$$(CC_$1) $$(COMMON) $$(or $$(CFLAGS_$2_$1),$$(CFLAGS_$2)) $$(FLAGS_$1) $$(CFLAGS) -MMD -MP -c $$< -o $$@
endef

# $1 variant, $2 library, $3 sources: an archive of exactly these objects
define archive
$(B)/obj/$1/$2.list: FORCE
	@mkdir -p $$(@D)
	@echo '$3' | cmp -s - $$@ || echo '$3' > $$@
$(OUT_$1)/lib/lib$2.a: $(3:%.c=$(B)/obj/$1/%.o) $(B)/obj/$1/$2.list
	@mkdir -p $$(@D)
	$$(call say,AR,$$@)
	@rm -f $$@
	$$(Q)$(if $(filter aarch64 fw,$1),$$(CROSS)ar,$$(AR)) rcs $$@ $$(filter %.o,$$^)
endef

# SHA-256 of users' operations, where libgoal is a part.
DIGEST_LIB := -Wl,--push-state,--as-needed -lmd -Wl,--pop-state
# $1 variant, $2 file made, $3 objects, $4 archives, $5 further flags
define link
$2: $3 $4 Makefile tests/tests.mk
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC_$1) $$(LD_$1) -pthread $$(LDFLAGS) -o $$@ $3 \
		$(if $4,-Wl$(comma)--start-group $4 -Wl$(comma)--end-group) $5 $(DIGEST_LIB)
endef
comma := ,

# $1 variant, $2 library, $3 sources: a shared library, and the name that programs link with. libweft has a thread, so it
# stays when the last that needs it is unloaded.
define shared
$(call link,$1,$(OUT_$1)/lib/lib$2.so.$(SOVERSION),$(3:%.c=$(B)/obj/$1/%.o),$4,\
	-shared -Wl$(comma)-soname$(comma)lib$2.so.$(SOVERSION) -Wl$(comma)-z$(comma)nodelete \
	$(if $(filter san,$1),,-Wl$(comma)--no-undefined))
$(OUT_$1)/lib/lib$2.so: $(OUT_$1)/lib/lib$2.so.$(SOVERSION)
	@ln -sf lib$2.so.$(SOVERSION) $$@
endef

# The firmware as an image that a running weftd can take: no data that is written, and no names but
# those of the C library. Built with sanitizers it would not be one: that weftd takes the same.
$(B)/lib/weft/firmware.so: $(B)/lib/libnicfw.a tools/firmware.map Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -nostdlib $(LDFLAGS) -o $@ -Wl,-e,weft_firmware -Wl,-u,weft_firmware \
		-Wl,--version-script=tools/firmware.map -Wl,-z,now -Wl,-z,noexecstack $<
$(B)/san/lib/weft/firmware.so: $(B)/lib/weft/firmware.so
	@mkdir -p $(@D)
	@cp $< $@

# The layout of the firmware's state as a number, which its image carries.
$(B)/gen/fw_layout.h: tools/fw_layout.sh nic_fw/fw.c $(wildcard nic_fw/*.h nic_fw/*/*.h shared_defs/*.h)
	@mkdir -p $(@D)
	$(Q)tools/fw_layout.sh $(CC) -std=c11 > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
	@touch $@

# In every variant of the firmware.
FW_IMAGES := $(foreach v,release san tsan cov score aarch64 fw,$(B)/obj/$v/nic_fw/fw_image.o)
$(FW_IMAGES): COMMON += -include $(B)/gen/fw_layout.h
$(FW_IMAGES): $(B)/gen/fw_layout.h

define library_rules
$(eval $(call compile,$1,lib))
$(eval $(call archive,$1,weftutil,$(SRC_weftutil)))
$(eval $(call compile,$1,nic_fw))
$(eval $(call compile,$1,host_driver))
$(eval $(call compile,$1,sim_harness))
$(eval $(call compile,$1,dpdk_app,$(SKELS)))
$(eval $(call compile,$1,tools,$(SKELS_tools)))
$(eval $(call archive,$1,nicfw,$(SRC_nicfw)))
$(eval $(call archive,$1,weft,$(SRC_weft)))
$(eval $(call archive,$1,goal,$(SRC_goal)))
$(eval $(call archive,$1,sim,$(SRC_sim)))
$(eval $(call archive,$1,weftd,$(SRC_weftd)))
$(eval $(call shared,$1,weft,$(SRC_weft)))
$(eval $(call shared,$1,goal,$(SRC_goal),$(OUT_$1)/lib/libweft.so))
$(eval $(call link,$1,$(OUT_$1)/bin/weftd,$(B)/obj/$1/dpdk_app/main.o,\
	$(foreach l,weftd nicfw weftutil,$(OUT_$1)/lib/lib$l.a),$(WEFTD_LIBS_$1)))
$(eval $(call link,$1,$(OUT_$1)/bin/weft-sim,$(B)/obj/$1/sim_harness/sim_main.o,\
	$(foreach l,sim goal weft nicfw weftutil,$(OUT_$1)/lib/lib$l.a),-lm))
$(foreach t,$(TOOLS),$(eval $(call link,$1,$(OUT_$1)/bin/$t,\
	$(patsubst %.c,$(B)/obj/$1/%.o,$(call tool_sources,$t)),\
	$(foreach l,$(or $(TOOL_ARCHIVES_$t),goal weft) weftutil,$(OUT_$1)/lib/lib$l.a),$(TOOL_LIBS_$1) $(TOOL_LIBS_OF_$t))))
$(foreach s,$(HELPER_SRCS),$(eval $(call link,$1,$(OUT_$1)/bin/$(basename $(notdir $s)),\
	$(s:%.c=$(B)/obj/$1/%.o),$(foreach l,weft weftutil,$(OUT_$1)/lib/lib$l.a),$(TOOL_LIBS_$1))))
endef

# Runs schedules in the simulator, too.
TOOL_ARCHIVES_goal-run := sim goal weft nicfw
# Measures simulated NICs, too.
TOOL_ARCHIVES_weft-measure := sim goal weft nicfw
# Sets Linux's interfaces over netlink.
TOOL_LIBS_OF_weft-measure := -lmnl -lbpf
# Serves metrics by HTTP.
# Draws a screen.
TOOL_LIBS_OF_weftctl := -lmicrohttpd -lncurses -ltinfo
# Names the folder of a Debian package's libraries.
$(B)/obj/release/tools/weftctl/cdi.o $(B)/obj/san/tools/weftctl/cdi.o: CFLAGS_tools += -DWEFT_MACHINE=\"$(MACHINE)\"
$(B)/obj/aarch64/tools/weftctl/cdi.o: CFLAGS_tools_aarch64 += -DWEFT_MACHINE=\"aarch64-linux-gnu\"
# Makes frames itself.
TOOL_SRCS_weft-bench := tests/bench/frame.c
TOOL_ARCHIVES_weft-bench := goal weft nicfw
# Compares files by their SHA-256.
TOOL_LIBS_OF_weft-bench := -lmd
# Counts in the kernel. What another program links to count with it: these, and -lbpf.
IRQS_SRCS := $(patsubst %,tools/weft-irqs/%.c,irqs irqs_read irqs_report hist)
TOOL_SRCS_weft-measure := $(IRQS_SRCS)
TOOL_LIBS_OF_weft-irqs := -lbpf

WEFTD_LIBS = $(DPDK_LIBS) -lisal -lbpf -ljansson -lm -ldl
WEFTD_LIBS_release = $(WEFTD_LIBS)
WEFTD_LIBS_san = $(WEFTD_LIBS)
TOOL_LIBS_release := -ljansson -lm
TOOL_LIBS_san := -ljansson -lm

WEFTD_LIBS_aarch64 = $(filter-out -lbsd,$(WEFTD_LIBS))
TOOL_LIBS_aarch64 := -ljansson -lm

$(eval $(call library_rules,release))
$(eval $(call library_rules,san))
$(eval $(call library_rules,aarch64))
$(eval $(call compile,tsan,host_driver))
$(eval $(call compile,tsan,lib))
$(eval $(call compile,tsan,nic_fw))
$(eval $(call compile,tsan,dpdk_app,$(SKELS)))
$(eval $(call archive,tsan,weftutil,$(SRC_weftutil)))
$(eval $(call archive,tsan,nicfw,$(SRC_nicfw)))
$(eval $(call archive,tsan,weftd,$(SRC_weftd)))
$(eval $(call link,tsan,$(B)/tsan/bin/weftd,$(B)/obj/tsan/dpdk_app/main.o,\
	$(foreach l,weftd nicfw weftutil,$(B)/tsan/lib/lib$l.a),$(WEFTD_LIBS)))
$(eval $(call compile,tsan,tests))
$(eval $(call compile,release,tests))
$(eval $(call archive,san,verbs,$(SRC_verbs)))
$(eval $(call archive,san,fabric,$(SRC_fabric)))
$(eval $(call archive,tsan,weft,$(SRC_weft)))
$(B)/obj/cov/nic_fw/fw_image.o: COMMON += -include $(B)/gen/fw_layout.h
$(B)/obj/cov/nic_fw/fw_image.o: $(B)/gen/fw_layout.h
$(eval $(call compile,cov,nic_fw))
$(eval $(call archive,cov,nicfw,$(SRC_nicfw)))
$(eval $(call compile,fw,nic_fw))
$(eval $(call archive,fw,nicfw,$(SRC_nicfw)))

$(eval $(call archive,san,measure,$(SRC_measure) $(IRQS_SRCS)))

# Stand-ins for shared libraries of rdma-core: the names and symbol versions are those of the real one,
# which is asked for them; $1 library, $2 its objects, $3 functions of ours that it exports besides. A process that has
# several of weft's libraries has one libweft: each of two would see the memory that the other has moved as foreign, and
# reach it by system calls.
VERBS_DIR := $(B)/lib/verbs
# libweft.so lies one folder above those built, two above those installed.
NEAR_LIBWEFT := -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..'
SYSTEM_LIBS := /usr/lib/$(MACHINE)
define stand_in
$(B)/gen/$1.map: tools/verbs_symbols.sh Makefile
	@mkdir -p $$(@D)
	$$(Q)tools/verbs_symbols.sh map $(SYSTEM_LIBS)/$1 $3 > $$@
$(B)/gen/$1.fillers.c: tools/verbs_symbols.sh $2
	@mkdir -p $$(@D)
	$$(Q)tools/verbs_symbols.sh fillers $(SYSTEM_LIBS)/$1 $2 > $$@
endef
# $1 variant, $2 library, $3 objects, $4 libraries it is linked with, $5 functions of ours
define stand_in_link
$(OUT_$1)/lib/verbs/$2: $3 $(B)/gen/$2.fillers.c $(B)/gen/$2.map $4 Makefile
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC_$1) -shared -fPIC -O1 -fvisibility=hidden -pthread $$(LDFLAGS) -o $$@ -Wl,-soname,$2 $$(NEAR_LIBWEFT) \
		-Wl,--version-script,$(B)/gen/$2.map -Wl,--no-undefined $(addprefix -Wl$(comma)-u$(comma),$5) $(B)/gen/$2.fillers.c $3 $4
endef
# Functions beyond verbs that librdmacm.so.1 needs of libibverbs.so.1 (host_driver/verbs/vb_private.h).
IBVERBS_PRIVATE := weft_cm_context weft_cm_cq
HAVE_VERBS := $(and $(wildcard /usr/include/infiniband/verbs.h),$(wildcard $(SYSTEM_LIBS)/libibverbs.so.1))
HAVE_RDMACM := $(and $(HAVE_VERBS),$(wildcard /usr/include/rdma/rdma_cma.h),$(wildcard $(SYSTEM_LIBS)/librdmacm.so.1))
obj_of = $(2:%.c=$(B)/obj/$1/%.o)
OBJ_ibverbs := $(call obj_of,release,$(SRC_verbs))
OBJ_rdmacm := $(call obj_of,release,$(SRC_rdmacm))
# Functions beyond rsocket(3) that libweft-sockets.so needs of librdmacm.so.1
# (host_driver/rdmacm/rs_private.h).
RDMACM_PRIVATE := weft_rppoll
$(eval $(call stand_in,libibverbs.so.1,$(OBJ_ibverbs),$(IBVERBS_PRIVATE)))
$(eval $(call stand_in,librdmacm.so.1,$(OBJ_rdmacm),$(RDMACM_PRIVATE)))
# $1 variant
define stand_ins
$(call stand_in_link,$1,libibverbs.so.1,$(call obj_of,$1,$(SRC_verbs)),$(OUT_$1)/lib/libweft.so,$(IBVERBS_PRIVATE))
$(call stand_in_link,$1,librdmacm.so.1,$(call obj_of,$1,$(SRC_rdmacm)),$(OUT_$1)/lib/verbs/libibverbs.so.1 $(OUT_$1)/lib/libweft.so,$(RDMACM_PRIVATE))
$(OUT_$1)/lib/verbs/libweft-sockets.so: $(call obj_of,$1,$(SRC_sockets)) $(OUT_$1)/lib/verbs/librdmacm.so.1 $(OUT_$1)/lib/verbs/libibverbs.so.1 \
		$(OUT_$1)/lib/libweft.so Makefile
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC_$1) -shared -fPIC -pthread $$(LDFLAGS) -o $$@ -Wl,-soname,libweft-sockets.so -Wl,-rpath,'$$$$ORIGIN' $$(NEAR_LIBWEFT) \
		-Wl,--no-undefined $$(filter %.o %.so.1 %.so,$$^) -ldl
$(OUT_$1)/lib/verbs/libweft-preload.so: $(call obj_of,$1,$(SRC_preload)) Makefile
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC_$1) -shared -fPIC $$(LDFLAGS) -o $$@ -Wl,--no-undefined $$(filter %.o,$$^) -ldl
$(OUT_$1)/bin/weft-run: tools/weft-run.sh Makefile
	@mkdir -p $$(@D)
	$$(Q)sed -e 's|@LIBS@|../lib|g' $$< > $$@
	@chmod 755 $$@
endef
$(eval $(call stand_ins,release))
$(eval $(call stand_ins,aarch64))
stand_ins_of = $(if $(and $(HAVE_VERBS),$(SRC_verbs)),$1/libibverbs.so.1 $1/libweft-preload.so) \
	$(if $(and $(HAVE_RDMACM),$(SRC_rdmacm)),$1/librdmacm.so.1 $1/libweft-sockets.so)
STAND_INS := $(call stand_ins_of,$(VERBS_DIR))
# Programs on arm64 need them, too: products of fw-cross.
ARM_STAND_INS := $(if $(STAND_INS),$(call stand_ins_of,$(OUT_aarch64)/lib/verbs) $(OUT_aarch64)/bin/weft-run)
# The provider of libfabric: named so, and alone in a folder, as libfabric looks for it.
FABRIC_PROVIDER := $(B)/lib/libfabric/libweft-fi.so
$(FABRIC_PROVIDER): $(SRC_fabric:%.c=$(B)/obj/release/%.o) $(B)/lib/libgoal.so $(B)/lib/libweft.so Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -fPIC -pthread $(LDFLAGS) -o $@ -Wl,-soname,libweft-fi.so -Wl,-z,nodelete $(NEAR_LIBWEFT) \
		-Wl,--no-undefined $(filter %.o %.so,$^) -lfabric
PROVIDERS := $(if $(and $(HAVE_FABRIC),$(SRC_fabric)),$(FABRIC_PROVIDER))

# The component of Open MPI, in an own folder, which weft-run names to Open MPI. The internal headers of
# libopenmpi-dev are not held to our warnings; one of them is missing and lies in host_driver/ompi/missing.
OMPI_INCLUDE := $(firstword $(wildcard $(SYSTEM_LIBS)/openmpi/include))
HAVE_OMPI := $(wildcard $(OMPI_INCLUDE)/openmpi/ompi/mca/coll/coll.h)
# Where Open MPI looks for components by itself.
OMPI_COMPONENTS ?= $(SYSTEM_LIBS)/openmpi/lib/openmpi3
OMPI_DIR := $(B)/lib/openmpi
$(B)/obj/release/host_driver/ompi/%.o: CFLAGS_host_driver += -isystem host_driver/ompi/missing \
	-isystem $(OMPI_INCLUDE) -isystem $(OMPI_INCLUDE)/openmpi
$(OMPI_DIR)/mca_coll_weft.so: $(SRC_ompi:%.c=$(B)/obj/release/%.o) $(B)/lib/libgoal.so $(B)/lib/libweft.so Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -fPIC -pthread $(LDFLAGS) -o $@ $(NEAR_LIBWEFT) $(filter %.o %.so,$^)

# MPICH's collectives, in an own folder, preloaded by weft-run --mpi.
MPICH_INCLUDE := $(SYSTEM_LIBS:/usr/lib/%=/usr/include/%)/mpich
MPICH_LIBRARY := $(firstword $(wildcard $(SYSTEM_LIBS)/libmpich.so))
HAVE_MPICH := $(and $(MPICH_LIBRARY),$(wildcard $(MPICH_INCLUDE)/mpi.h))
MPICH_PRELOAD := $(B)/lib/mpich/libweft-mpich.so
$(B)/obj/release/host_driver/mpich/%.o: CFLAGS_host_driver += -isystem $(MPICH_INCLUDE)
$(MPICH_PRELOAD): $(SRC_mpich:%.c=$(B)/obj/release/%.o) $(B)/lib/libgoal.so $(B)/lib/libweft.so Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -fPIC -pthread $(LDFLAGS) -o $@ -Wl,-soname,libweft-mpich.so $(NEAR_LIBWEFT) -Wl,--no-undefined \
		$(filter %.o %.so,$^) $(MPICH_LIBRARY)

$(B)/obj/release/tools/$(MPI_TOOL)/%.o: CFLAGS_tools += -isystem $(OMPI_INCLUDE)
$(B)/bin/$(MPI_TOOL): $(patsubst %.c,$(B)/obj/release/%.o,tools/usage.c $(sort $(wildcard tools/$(MPI_TOOL)/*.c))) \
		$(B)/lib/libweftutil.a Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -pthread $(LDFLAGS) -o $@ $(filter %.o %.a,$^) -L$(OMPI_INCLUDE)/../lib -lmpi -lm

# Starts the modules where they are: here in the sources, seen from bin/; once installed in a folder of their own.
define tune_starter
$(OUT_$1)/bin/weft-tune: tools/weft-tune/weft-tune.in Makefile
	@mkdir -p $$(@D)
	$$(Q)sed -e 's|@MODULES@|$2/tools/weft-tune|g' -e 's|@PLOT@|$2/tools/plot|g' -e 's|@CACHE@|../pycache|g' \
		-e 's|@VERSION@|$(VERSION)|g' $$< > $$@
	@chmod 755 $$@
endef
$(eval $(call tune_starter,release,../..))
$(eval $(call tune_starter,san,../../..))

# Products of a variant. A library without sources is left out, and weftd where there is no DPDK.
products = $(if $(SRC_nicfw),$(OUT_$1)/lib/libnicfw.a) $(if $(filter release san,$1),$(OUT_$1)/lib/weft/firmware.so) \
	$(foreach l,weft goal,$(if $(SRC_$l),$(OUT_$1)/lib/lib$l.a $(OUT_$1)/lib/lib$l.so)) \
	$(if $(SRC_sim),$(OUT_$1)/lib/libsim.a) \
	$(if $(wildcard sim_harness/sim_main.c),$(OUT_$1)/bin/weft-sim) \
	$(if $(and $(HAVE_DPDK),$(wildcard dpdk_app/main.c)),$(OUT_$1)/bin/weftd) \
	$(if $(SRC_weft),$(patsubst %,$(OUT_$1)/bin/%,$(TOOLS) $(HELPERS) $(if $(filter release san,$1),$(if $(HAVE_BPF),weft-tune))))

# The C library's headers ask which machine this is, and take none for a 32-bit one.
BPF_MACHINE := $(if $(findstring x86_64,$(MACHINE)),-D__x86_64__)
# Atomic additions that tell what was there before: Linux 5.12.
BPF_FLAGS_weft_irqs := -mcpu=v3
define bpf_object
$(B)/gen/$(notdir $(1:.c=.o)): $1
	@mkdir -p $$(@D)
	$$(call say,BPF,$$<)
	$$(Q)$$(CLANG) -target bpf $$(BPF_MACHINE) $(BPF_FLAGS_$(basename $(basename $(notdir $1)))) -O2 -g -Wall -Werror -I. \
		-I/usr/include/$$(MACHINE) -MMD -MP -c $$< -o $$@
endef
$(foreach s,$(SRC_bpf) tools/run/lossy.bpf.c,$(eval $(call bpf_object,$s)))
$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@
.SECONDARY:

include tests/tests.mk

# ---- targets --------------------------------------------------------------------------------

.PHONY: FORCE all abi san run test test-unit test-int test-clients test-interop soak bench install uninstall lint fw-cross clean help \
	mutants _run _test _test-unit _test-int _test-clients _test-interop _soak _mutants _mutants-check _bench _fw-cross _fw-cross-linux

all:	## build the libraries, weftd and the tools into build/
all: $(call products,release) $(STAND_INS) $(PROVIDERS) $(if $(STAND_INS),$(B)/bin/weft-run) \
	$(if $(HAVE_OMPI),$(OMPI_DIR)/mca_coll_weft.so $(B)/bin/$(MPI_TOOL)) \
	$(if $(HAVE_MPICH),$(MPICH_PRELOAD))
	@$(say_missing)

# Parts that this machine's packages do not suffice for, one line each.
define say_missing
$(if $(HAVE_DPDK),:,echo 'not built: weftd; packages are missing: $(MISSING_weftd) (as root: tools/deps.sh run)'); \
$(if $(HAVE_BPF),:,echo 'not built: $(COUNTING_TOOLS); packages are missing: $(MISSING_counting) (as root: tools/deps.sh run)'); \
$(if $(HAVE_RDMACM),:,echo 'not built: stand-ins for $(if $(HAVE_VERBS),librdmacm,libibverbs and librdmacm); packages are missing: \
libibverbs-dev librdmacm-dev (as root: tools/deps.sh run)'); \
$(if $(PROVIDERS),:,echo 'not built: the provider of libfabric; package is missing: libfabric-dev (as root: tools/deps.sh run)'); \
$(if $(HAVE_OMPI),:,echo 'not built: the component of Open MPI; packages are missing: libopenmpi-dev (as root: tools/deps.sh run)'); \
$(if $(HAVE_MPICH),:,echo 'not built: libweft-mpich.so; package is missing: libmpich-dev (as root: tools/deps.sh mpi)')
endef

san: $(call products,san) $(UT_BINS) $(INT_BINS)	## build everything with sanitizers, and the tests, into build/san

run:	## install what is missing, build, start four NICs and move data; exits 0 if every byte was right
	@tools/deps.sh run
	@+$(MAKE) _run
# The wire that loses frames, for the kernel's side of it.
RUN_BPF := $(if $(HAVE_BPF),$(B)/gen/lossy.bpf.o)
_run: all $(RUN_BPF)
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) \
		$(or $(firstword $(wildcard tools/run/run.sh tools/run.sh tools/run/*.py)),tools/run/run.sh)

fw-cross:	## cross-compile: the firmware freestanding for aarch64; libweft, stand-ins, weftd and the tools for arm64 Linux
	@tools/deps.sh run cross
	@+$(MAKE) _fw-cross
_fw-cross: $(if $(SRC_nicfw),$(OUT_fw)/lib/libnicfw.a) $(filter %.a,$(call products,aarch64))
	@$(if $(SRC_nicfw),tools/check_freestanding.sh $(CROSS)nm $(OUT_fw)/lib/libnicfw.a)
	@if tools/cross_sysroot.sh $(SYSROOT); then \
		$(MAKE) _fw-cross-linux; \
	else \
		echo 'weftd, shared libraries and the tools are not linked for aarch64: no arm64 packages; the archives are'; \
	fi
	@echo 'for aarch64, in $(OUT_aarch64):'; \
	find $(OUT_aarch64) -path $(SYSROOT) -prune -o -type f -print | sort | xargs -r ls -s --block-size=1K
_fw-cross-linux: $(call products,aarch64) $(ARM_STAND_INS)

clean:	## remove build/
	@rm -rf $(B)

help:	## this list
	@echo 'weft $(VERSION): make [target] [V=1: show commands] [CFLAGS=, LDFLAGS=: added to ours]'
	@sed -n 's/^\([a-z][a-z-]*\):.*	## \(.*\)/  \1	\2/p' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | expand -t 20

include tools/bench/bench.mk
include dist/dist.mk

-include $(shell find $(B)/obj $(B)/gen -name '*.d' 2>/dev/null)
