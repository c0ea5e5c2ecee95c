# SPDX-License-Identifier: BSD-3-Clause
#
# The whole build of weft, by hand and without configuration. `make help` lists the targets.
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
FLAGS_cov := -O0 -g --coverage $(ARCH)
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
$2: $3 $4 Makefile
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

# ---- tests ----------------------------------------------------------------------------------

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
WRAPS_dpdk_app/unmap_ut := munmap
WRAPS_dpdk_app/wire_queues_ut := rte_flow_validate rte_flow_create
WRAPS_host_driver/weft_silent_ut := poll
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

.PHONY: FORCE all abi san run test test-unit test-int test-clients test-interop soak bench install uninstall lint fw-cross clean help \
	mutants _run _test _test-unit _test-int _test-clients _test-interop _soak _mutants _mutants-check _bench _fw-cross _fw-cross-linux

all: $(call products,release) $(STAND_INS) $(PROVIDERS) $(if $(STAND_INS),$(B)/bin/weft-run) \
	$(if $(HAVE_OMPI),$(OMPI_DIR)/mca_coll_weft.so $(B)/bin/$(MPI_TOOL)) \
	$(if $(HAVE_MPICH),$(MPICH_PRELOAD))	## build the libraries, weftd and the tools into build/
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
$(B)/int/gaps.so: tests/ops/gaps.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -shared -fPIC -o $@ $< -ldl

test-int:	## the integration tests alone; T=name runs those whose path contains it
	@tools/deps.sh test
	@+$(MAKE) _test-int
_test-int: all $(call products,san) $(INT_BINS)
	@tests/run.sh $(if $(T),$(foreach s,$(INT_SCRIPTS),$(if $(findstring $T,$s),$s)),$(INT_SCRIPTS))

# The tests of the firmware for arm64: COV_NEAR's, and the simulator's, linked with the arm64 archives.
# Its firmware is weftd's, which counts no walks.
ARM_UT := $(filter-out $(shell grep -ls fw_walk_steps tests/nic_fw/*/*_ut.c tests/pair/*_ut.c),\
	$(filter tests/nic_fw/% tests/pair/% tests/shared_defs/%,$(UT_SRCS)))
ARM_BINS := $(ARM_UT:tests/%.c=$(OUT_aarch64)/ut/%)
CFLAGS_tests_aarch64 := $(CFLAGS_tests) $(SYSROOT_CFLAGS)
$(eval $(call compile,aarch64,tests))
$(foreach f,bench pair nic_fw,$(if $(call ut_helpers,$f),$(eval $(call archive,aarch64,ut_$f,$(call ut_helpers,$f)))))
$(foreach s,$(ARM_UT),$(eval $(call link,aarch64,$(s:tests/%.c=$(OUT_aarch64)/ut/%),\
	$(patsubst $(B)/obj/san/%,$(B)/obj/aarch64/%,$(s:%.c=$(B)/obj/aarch64/%.o) $(call ut_stubs,$s)),\
	$(patsubst $(B)/san/%,$(OUT_aarch64)/%,$(call ut_archives,$(call ut_folder,$s))),\
	$(call ut_flags,$s) -lcunit -ljansson -lm)))
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
	$(foreach t,db share rd_hello slice neigh neigh_full rd_withdraw rd_flow rd_grant_loss congestion esp_rdmap esp_rdmap_gone esp_answer goal_circle goal_still goal_op memif_check memif_ring hostcopy tag_match tag_match_random tag_order tag_rtr tag_share tag_eager tag_forge borrow cq_late cmd mem mem_window guess chains walks recv_many goal_heap client_mem \
	port_right random slow_atomic esp_refused fw_renew station esp_rx rd_term rd_stopped tag_turns cm_end tag_notice mgrp idle,\
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
SCORE_SO = $(CC_score) $(LD_score) -shared -Wl,-soname,libnicfw.so $(SCORE_WRAP_$1)
define score_library
$(B)/score/lib/$1/libnicfw.so: $(SCORE_OBJS) Makefile
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(call SCORE_SO,$1) -o $$@ $(SCORE_OBJS)
endef
$(foreach v,plain pool tcp,$(eval $(call score_library,$v)))
SCORE_SIM := igmp mcast srq moder xrc rd_errors rd_ops rd_fair rc_esp rc_tcp ud uc cm mgrp mgrp_forged $(patsubst %,goal_%,run fail lost stall coll_move coll_reduce)
SCORE_UT := $(filter tests/nic_fw/% tests/pair/% tests/sim/tcp_% $(SCORE_SIM:%=tests/sim/%_ut.c),$(UT_SRCS))
score_variant = $(if $(filter $1,$(WRAPPED_TCP)),tcp,$(if $(filter tests/pair/%,$1),pool,plain))
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
	$(foreach v,plain pool tcp,SCORE_SO_$v='$(call SCORE_SO,$v) OBJECTS' SCORE_WRAP_$v='$(SCORE_WRAP_$v)') \
	$(foreach f,nic_fw pair,SCORE_TEST_$f='$(call score_test,$f)')
.PHONY: score _score
score:	## the share of drawn changes of nic_fw that tests catch; SEED=1, COUNT=300, SECONDS=20 of each soak, PART=1/2 for one of two at a time
	@tools/deps.sh unit
	@+$(MAKE) _score
_score: $(SCORE_UT:tests/%.c=$(B)/score/ut/%) $(B)/score/bin/weft-sim
	@echo $(SCORE_OBJS) > $(B)/score/objects
	@printf '%s %s\n' $(foreach s,$(SCORE_UT),$(s:tests/%.c=%) $(call score_variant,$s)) > $(B)/score/tests
	@$(SCORE_ENV) tests/mutants/score.py --seed $(or $(SEED),1) --count $(or $(COUNT),300) --seconds $(or $(SECONDS),20) \
		--part $(or $(PART),1/1) $(if $(LAZY),--lazy) $(if $(NEAR),--near)
	@tests/mutants/score.py --report

.PHONY: pictures _pictures
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

bench:	## measure beside the kernel's UDP and TCP and Open MPI; rows into build/bench.json
	@tools/deps.sh bench
	@+$(MAKE) _bench
_bench: all $(INTEROP_BINS) $(if $(shell command -v $(MPICC)),$(B)/bin/mpi_base $(B)/bin/mpi_tag $(B)/bin/mpi_coll)
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) \
		tools/bench/bench.py

beside:	## measure a client's delays beside each kind of attack: the table of docs/security.md, all rows (12 min), as root
	@tools/deps.sh test
	@+$(MAKE) _beside
_beside: all $(patsubst %,$(B)/san/int/%,slow_page punch stage long_turns)
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) tools/bench/beside.py --every
.PHONY: beside _beside

apps:	## measure programs that no one here wrote, by defaults, beside kernel TCP and shared memory; APPS="hpcc redis" for some
	@tools/deps.sh apps
	@+$(MAKE) _apps
_apps: all $(if $(shell command -v $(MPICC)),$(B)/bin/mpi_base)
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) tools/bench/apps.py $(APPS)
.PHONY: apps _apps

# The MPI side of the goal rows, where there is an MPI library. Its own flags: the wrapper's headers are
# not held to our warnings.
MPI_SRCS := lib/stats.c tools/bench/mpi/mpi_base.c tools/goal-bench/spec.c tools/goal-bench/matmul.c
$(B)/bin/mpi_base: $(MPI_SRCS) $(wildcard tools/goal-bench/*.h) Makefile
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -o $@ $(MPI_SRCS)

# MPI programs for make iwarp-tables, likewise.
KERN_SRCS := lib/stats.c $(sort $(wildcard tools/bench/mpi/kern*.c))
$(B)/bin/mpi_kern: $(KERN_SRCS) tools/bench/mpi/kern.h Makefile
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -Wno-stringop-overflow -I. -o $@ $(KERN_SRCS) -lm

# Messages between two ranks, for the rows tag_* and make tagged-tables, likewise.
MPI_TAG_SRCS := lib/stats.c $(sort $(wildcard tools/bench/mpi/tag*.c))
$(B)/bin/mpi_tag: $(MPI_TAG_SRCS) tools/bench/mpi/tag.h Makefile
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -o $@ $(MPI_TAG_SRCS)

# Collectives, for the rows coll_* and make coll-tables, likewise.
MPI_COLL_SRCS := lib/stats.c tools/bench/mpi/coll.c
$(B)/bin/mpi_coll: $(MPI_COLL_SRCS) Makefile
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -o $@ $(MPI_COLL_SRCS)

pictures:	## measure with weft-sim and goal-run, redraw docs/pictures (1 min); the same sources give the same bytes
	@tools/deps.sh run plot
	@+$(MAKE) _pictures
_pictures: $(B)/bin/weft-sim $(B)/bin/goal-run $(B)/bin/goal-dump
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/pictures.py docs/pictures
	@tools/plot/congestion.py --draw docs
	@tools/plot/diagram.py docs/pictures/parts.txt

pictures-check:	## measure with weft-sim and goal-run, compare with the figures of docs/pictures (1 min)
	@tools/deps.sh build
	@+$(MAKE) _pictures-check
_pictures-check: $(B)/bin/weft-sim $(B)/bin/goal-run $(B)/bin/goal-dump
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/pictures.py --check docs/pictures
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/congestion.py --check docs --senders 32
	@tools/plot/diagram.py --check docs/pictures/parts.txt
.PHONY: pictures-check _pictures-check

counters-page: all	## write docs/counters.md from the tables of counters
	@$(B)/bin/weftctl counters --markdown > docs/counters.md
.PHONY: counters-page

cost:	## count the instructions of a message by path and folder (callgrind, 1 min), rewrite the tables of docs/cost.md
	@tools/deps.sh run test
	@+$(MAKE) _cost
_cost: $(B)/bin/weft-sim $(B)/bin/handover
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/bench/cost.py --write docs/cost.md
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/bench/cost.py --handover --write docs/cost.md
	@tools/bench/scaling.py --write docs/scaling.md
.PHONY: cost _cost
# Passes frames from core to core as weftd does.
$(B)/obj/release/tools/bench/handover.o: CFLAGS_tools = $(HOST) -I$(B)/gen $(DPDK_CFLAGS)
$(eval $(call link,release,$(B)/bin/handover,$(B)/obj/release/tools/bench/handover.o,\
	$(foreach l,weftd nicfw weftutil,$(B)/lib/lib$l.a),$(WEFTD_LIBS)))

memory-tables:	## measure memory and message passing (weft-bench reg), redraw docs/memory.md; PART=reg_cost for one
	@tools/deps.sh run plot
	@+$(MAKE) _memory-tables
_memory-tables: all
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/memory.py $(patsubst %,--part %,$(subst $(comma), ,$(PART))) docs
.PHONY: memory-tables _memory-tables

tagged-tables:	## measure tagged messages of MPI (overlap, progress, announcements, frequent buffers; 15 min), redraw docs/tagged-tables.md; PART=overlap for one, WINDOWS=1
	@tools/deps.sh run plot mpi bench
	@+$(MAKE) _tagged-tables
_tagged-tables: all $(B)/bin/mpi_tag $(B)/bin/mpi_kern
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) tools/plot/tagged.py \
		$(if $(WINDOWS),--windows $(WINDOWS)) $(patsubst %,--part %,$(subst $(comma), ,$(PART))) docs
.PHONY: tagged-tables _tagged-tables

coll-tables:	## measure collectives of MPI on the NIC (overlap, latency, blocking ones; 15 min), redraw docs/coll-tables.md; PART=overlap for one, WINDOWS=1
	@tools/deps.sh run plot mpi bench
	@+$(MAKE) _coll-tables
_coll-tables: all $(B)/bin/mpi_coll
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) tools/plot/collectives.py \
		$(if $(WINDOWS),--windows $(WINDOWS)) $(patsubst %,--part %,$(subst $(comma), ,$(PART))) docs
.PHONY: coll-tables _coll-tables

iwarp-tables:	## measure datagrams beside RC over TCP (verbs, MPI, kernels, memory), redraw docs/iwarp.md; PART=verbs for one
	@tools/deps.sh run plot mpi
	@+$(MAKE) _iwarp-tables
_iwarp-tables: all $(B)/bin/mpi_kern
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/iwarp.py $(patsubst %,--part %,$(subst $(comma), ,$(PART))) docs
.PHONY: iwarp-tables _iwarp-tables

tuning-tables:	## the study of ESPGOAL 6.2 by weft-tune, simulated (5 min) and on NICs (5 min); redraw docs/tuning.md
	@tools/deps.sh run plot
	@+$(MAKE) _tuning-tables
_tuning-tables: all
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/tuning.py docs
.PHONY: tuning-tables _tuning-tables

overhead-table:	## count wake-ups, switches, softirqs and CPU time per message beside the kernel's UDP and TCP (1 min), as root; redraw docs/host-overhead.md
	@tools/deps.sh run plot
	@+$(MAKE) _overhead-table
_overhead-table: all
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/overhead.py $(if $(QUICK),--quick) docs
.PHONY: overhead-table _overhead-table

.PHONY: goal-table
goal-table: $(B)/bin/goal-run	## the firmware beside the LogGOPS model, into docs/goal-sim.md; GOAL_SAMPLES=dir
	@[ -n '$(GOAL_SAMPLES)' ] || { echo 'make goal-table GOAL_SAMPLES=dir: a folder of schedules with predicted.tsv' >&2; exit 2; }
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/goal_table.py '$(GOAL_SAMPLES)'

.PHONY: congestion-table _congestion-table
congestion-table:	## measure incast and outcast with weft-sim from seed to seed (an hour), rewrite the tables of docs/congestion.md; SEEDS=10, SENDERS=32 for rows of up to so many (4 min), CELLS=file of runs to go on from
	@tools/deps.sh run plot
	@+$(MAKE) _congestion-table
_congestion-table: $(B)/bin/weft-sim
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/congestion.py --seeds $(or $(SEEDS),10) \
		$(if $(SENDERS),--senders $(SENDERS)) --cells $(or $(CELLS),$(B)/congestion.cells) --write docs
	@tools/plot/congestion.py --draw docs

# The programs of tests/mpi, once per MPI library. MPICH's MPI_STATUSES_IGNORE looks to the compiler like an array of one.
MPI_PROGS := p2p types coll graph reduce rma threads steady
MPI_LIBRARIES := $(foreach l,openmpi mpich,$(if $(shell command -v mpicc.$l),$l))
MPI_BINS := $(foreach l,$(MPI_LIBRARIES),$(MPI_PROGS:%=$(B)/mpi/$l/%))
define mpi_program
$(B)/mpi/$1/$2: tests/mpi/$2.c tests/mpi/mt.c tests/mpi/mt.h Makefile
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
	@sed -n 's/^\([a-z][a-z-]*\):.*	## \(.*\)/  \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

# ---- installation ---------------------------------------------------------------------------

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib
# weftd looks for its firmware from its own place.
FIRMWAREDIR ?= $(PREFIX)/lib/weft
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share/weft
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
DOCDIR ?= $(PREFIX)/share/doc/weft
# libfabric looks for providers in one folder beside itself.
FABRICDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),$(SYSTEM_LIBS),$(LIBDIR))/libfabric
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d

subst_dirs = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@SBINDIR@|$(SBINDIR)|g' \
	-e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' \
	-e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' -e 's|@DOCDIR@|$(DOCDIR)|g' -e 's|@VERSION@|$(VERSION)|g' \
	-e 's|@MODULES@|$(TUNE_FROM_BIN)|g' -e 's|@PLOT@|$(TUNE_FROM_BIN)|g' -e 's|@CACHE@||g' \
	-e 's|@LIBS@|$(LIBS_FROM_BIN)|g'
D = $(DESTDIR)
PUBLIC_HEADERS := weft.h weft_device.h weft_mr.h weft_cq.h weft_qp.h weft_coalesce.h weft_tag.h
GOAL_HEADERS := goal/goal.h goal/goal_coll.h goal/goal_bpf.h
# Every page, and what pages show: their links lead from one to the other as they do here.
DOCS = $(sort $(filter-out $(B)/%,$(wildcard *.md LICENSE docs/*.md docs/pictures/*.svg docs/examples/*.c docs/examples/*/*.c \
	$(addprefix host_driver/,$(PUBLIC_HEADERS)) */README.md */*/README.md */*/*/README.md)))

# The descriptions that programs give of themselves: NAME.SECTION of man, NAME of bash.
DESCRIBED = $(if $(HAVE_DPDK),weftd:8) weft-sim:1 $(foreach t,$(TOOLS),$t:$(if \
	$(filter weftctl weft-irqs,$t),8,1)) $(if $(HAVE_OMPI),$(MPI_TOOL):1)
described_man = $(subst :,.,$(DESCRIBED:%=$(B)/share/man/%))
described_bash = $(foreach d,$(DESCRIBED),$(B)/share/bash/$(firstword $(subst :, ,$d)))
$(B)/share/man/%.1 $(B)/share/man/%.8: $(B)/bin/%
	@mkdir -p $(@D)
	$(Q)$< --help=man > $@
$(B)/share/bash/%: $(B)/bin/%
	@mkdir -p $(@D)
	$(Q)$< --help=bash > $@
# Programs without a table of options in C: pages from --help. Public headers: pages from their comments.
PAGES := tools/pages/pages.py
PAGES_FROM := $(sort $(wildcard tools/pages/*.py)) Makefile
HAVE_PYTHON := $(call have_program,python3)
SUMMARY_weft-run := runs unchanged programs of RDMA, MPI or sockets on weft
SUMMARY_weft-tune := finds the interrupt moderation of a NIC by measuring
SCRIPTED = $(if $(HAVE_PYTHON),$(if $(STAND_INS),weft-run) $(if $(HAVE_BPF),weft-tune))
described_man += $(foreach s,$(SCRIPTED),$(B)/share/man/$s.1)
described_bash += $(foreach s,$(SCRIPTED),$(B)/share/bash/$s)
define scripted_pages
$(B)/share/man/$1.1: $(B)/bin/$1 $(PAGES_FROM)
	@mkdir -p $$(@D)
	$$(Q)python3 -B $(PAGES) man $$< 1 $(VERSION) '$(SUMMARY_$1)' > $$@
$(B)/share/bash/$1: $(B)/bin/$1 $(PAGES_FROM)
	@mkdir -p $$(@D)
	$$(Q)python3 -B $(PAGES) bash $$< > $$@
endef
$(foreach s,weft-run weft-tune,$(eval $(call scripted_pages,$s)))
PUBLIC := $(addprefix host_driver/,$(PUBLIC_HEADERS) $(GOAL_HEADERS))
header_man = $(if $(HAVE_PYTHON),$(foreach h,$(PUBLIC),$(B)/share/man/$(basename $(notdir $h)).3))
define header_page
$(B)/share/man/$(basename $(notdir $1)).3: $1 $(PAGES_FROM)
	@mkdir -p $$(@D)
	$$(Q)python3 -B $(PAGES) header $(VERSION) $$< $$(@D)
endef
$(foreach h,$(PUBLIC),$(eval $(call header_page,$h)))
# Items of INSTALLED: a header's page, and one for each of its functions that leads there.
header_items = $(if $(HAVE_PYTHON),$(shell python3 -B $(PAGES) names $(PUBLIC) | while read -r page names; do for n in $$page $$names; do \
	echo lib$${page%%_*}-dev:644:$(B)/share/man/$$n.3:$(MANDIR)/man3/$$n.3; done; done))
options-page: all	## write docs/options.md from the tables of options
	@python3 -B $(PAGES) options $$($(MAKE) -s described) > docs/options.md
.PHONY: options-page described
described:
	@echo $(foreach d,$(DESCRIBED),$(B)/bin/$(firstword $(subst :, ,$d)))

# Files as package:mode:file:place, by the Debian package (dist/debian) that has them; `make install` installs all packages.
# A file that was not built is not installed; places are removed by uninstall.
TOOLS_OF_OPENMPI := $(MPI_TOOL)
TOOLS_OF_VERBS := weft-run
package_of = $(if $(filter $1,weftd),weft,$(if $(filter $1,$(TOOLS_OF_OPENMPI)),weft-openmpi,$(if $(filter $1,$(TOOLS_OF_VERBS)),weft-verbs,weft-tools)))
INSTALLED = weft:755:$(B)/bin/weftd:$(SBINDIR)/weftd \
	$(foreach t,$(ALL_TOOLS) $(MPI_TOOL) weft-sim,$(call package_of,$t):755:$(B)/bin/$t:$(BINDIR)/$t) \
	$(foreach l,libibverbs.so.1 librdmacm.so.1 libweft-preload.so libweft-sockets.so,weft-verbs:644:$(VERBS_DIR)/$l:$(LIBDIR)/weft/verbs/$l) \
	$(foreach d,$(LIBDIR)/weft/openmpi $(if $(HAVE_OMPI),$(OMPI_COMPONENTS)),weft-openmpi:644:$(OMPI_DIR)/mca_coll_weft.so:$d/mca_coll_weft.so) \
	weft:644:$(B)/lib/weft/firmware.so:$(FIRMWAREDIR)/firmware.so \
	weft-mpich:644:$(MPICH_PRELOAD):$(LIBDIR)/weft/mpich/libweft-mpich.so \
	$(foreach l,weft goal,lib$l-dev:644:$(B)/lib/lib$l.a:$(LIBDIR)/lib$l.a) \
	$(foreach l,weft goal,lib$l$(SOVERSION):644:$(B)/lib/lib$l.so.$(SOVERSION):$(LIBDIR)/lib$l.so.$(SOVERSION)) \
	weft-ofi:644:$(FABRIC_PROVIDER):$(FABRICDIR)/$(notdir $(FABRIC_PROVIDER)) \
	$(foreach f,weft.lua weft_esp.lua,weft-tools:644:tools/wireshark/$f:$(DATADIR)/$f) \
	$(foreach f,$(TUNE_FILES),weft-tools:644:$f:$(DATADIR)/weft-tune/$(notdir $f)) \
	$(foreach f,$(described_man),$(call package_of,$(basename $(notdir $f))):644:$f:$(MANDIR)/man$(subst .,,$(suffix $f))/$(notdir $f)) \
	$(foreach f,$(described_bash),$(call package_of,$(notdir $f)):644:$f:$(BASHDIR)/$(notdir $f)) \
	$(header_items) \
	weft:644:dist/weft.sysusers:$(SYSUSERSDIR)/weft.conf weft:644:dist/weftd.conf:$(DATADIR)/weftd.conf.example \
	$(foreach f,$(wildcard dist/prometheus/*.yml dist/grafana/*.json),weft-tools:644:$f:$(DATADIR)/$(f:dist/%=%)) \
	$(foreach f,$(wildcard dist/slurm/*),weft-tools:755:$f:$(DATADIR)/$(f:dist/%=%)) \
	$(foreach f,$(DOCS),weft-doc:644:$f:$(DOCDIR)/$f)
# Headers, which include one another by their installed names, and files with place holders, as package:file:place.
INSTALLED_HEADERS = $(foreach h,$(PUBLIC_HEADERS) $(GOAL_HEADERS),lib$(firstword $(subst _, ,$(basename $(notdir $h))))-dev:host_driver/$h:$(INCLUDEDIR)/$(notdir $h))
INSTALLED_FILLED = $(foreach l,weft goal,lib$l-dev:dist/$l.pc.in:$(LIBDIR)/pkgconfig/$l.pc) weft:dist/weftd.service.in:$(UNITDIR)/weftd.service \
	weft-tools:dist/weft-exporter.service.in:$(UNITDIR)/weft-exporter.service
# Programs with place holders, which find their modules and libraries from their own place, staged or not.
TUNE_FROM_BIN = $(shell realpath -m --relative-to='$(BINDIR)' '$(DATADIR)/weft-tune')
LIBS_FROM_BIN = $(shell realpath -m --relative-to='$(BINDIR)' '$(LIBDIR)/weft')
INSTALLED_STARTERS = $(if $(HAVE_BPF),weft-tools:tools/weft-tune/weft-tune.in:$(BINDIR)/weft-tune) \
	$(if $(STAND_INS),weft-verbs:tools/weft-run.sh:$(BINDIR)/weft-run)
INSTALLED_LINKS = $(foreach l,weft goal,lib$l-dev:lib$l.so.$(SOVERSION):$(LIBDIR)/lib$l.so)
INSTALLED_CONF = $(SYSCONFDIR)/weft/weftd.conf
INSTALLED_ALL = $(INSTALLED) $(INSTALLED_HEADERS) $(INSTALLED_FILLED) $(INSTALLED_STARTERS) $(INSTALLED_LINKS)
# Folders that are weft's own.
INSTALLED_FOLDERS = $(LIBDIR)/weft $(filter $(LIBDIR)/libfabric,$(FABRICDIR)) $(DATADIR) $(DOCDIR) $(SYSCONFDIR)/weft

# $1 items, $2 what is done with $$1, $$2, ...: the parts of each
each_item = for i in $1; do IFS=:; set -- $$i; unset IFS; $2; done

# Pages and completions are products like any other.
all: $(described_man) $(described_bash) $(header_man)

install: all	## install under PREFIX= (/usr/local), staged below DESTDIR=; an existing weftd.conf stays
	$(Q)$(call each_item,$(INSTALLED),[ ! -e $$3 ] || install -D -m $$2 $$3 '$D'$$4 || exit 1)
	$(Q)$(call each_item,$(INSTALLED_LINKS),ln -sf $$2 '$D'$$3 || exit 1)
	$(Q)$(call each_item,$(INSTALLED_HEADERS),install -d '$D$(INCLUDEDIR)' && \
		sed 's|"host_driver/\(goal/\)*\([a-z_]*\).h"|"\2.h"|' $$2 > '$D'$$3 || exit 1)
	$(Q)$(call each_item,$(INSTALLED_FILLED),install -D -m 644 /dev/null '$D'$$3 && $(subst_dirs) $$2 > '$D'$$3 || exit 1)
	$(Q)$(call each_item,$(INSTALLED_STARTERS),install -D -m 755 /dev/null '$D'$$3 && $(subst_dirs) $$2 > '$D'$$3 || exit 1)
	$(Q)[ -e '$D$(INSTALLED_CONF)' ] || install -D -m 644 dist/weftd.conf '$D$(INSTALLED_CONF)'
	@echo 'installed under $D$(PREFIX); configuration $(INSTALLED_CONF)'
	@$(call each_item,$(INSTALLED),[ -e $$3 ] || echo "not built and so not installed: $$4")
	@[ -n '$D' ] || [ ! -e $(B)/bin/weftd ] || echo 'next: ldconfig; systemd-sysusers; systemctl daemon-reload; systemctl enable --now weftd ($(DOCDIR)/docs/operating.md)'

# A daemon that runs goes on: systemctl disable --now weftd comes first.
uninstall:	## remove what install puts under PREFIX=, below DESTDIR=; a weftd.conf that was changed stays
	$(Q)rm -f $(foreach i,$(INSTALLED_ALL),'$D$(lastword $(subst :, ,$i))')
	$(Q)rm -rf '$D$(DATADIR)/weft-tune/__pycache__'
	$(Q)if cmp -s dist/weftd.conf '$D$(INSTALLED_CONF)'; then rm '$D$(INSTALLED_CONF)'; fi
	$(Q)for d in $(foreach d,$(INSTALLED_FOLDERS),'$D$d'); do [ ! -d "$$d" ] || find "$$d" -depth -type d -empty -delete; done
	$(Q)[ -z '$D' ] || [ ! -d '$D$(OMPI_COMPONENTS)' ] || \
		(cd '$D' && rmdir -p --ignore-fail-on-non-empty '$(OMPI_COMPONENTS:/%=%)')
	@[ ! -e '$D$(INSTALLED_CONF)' ] || echo 'left, for it was changed: $D$(INSTALLED_CONF)'

# ---- packages -------------------------------------------------------------------------------

# Built from a copy of the tree, which keeps its objects from one time to the next.
DEB_SOURCE := $(B)/deb/source
.PHONY: deb _deb deb-lists
deb:	## Debian packages into build/deb, with lintian
	@tools/deps.sh run mpi deb
	@+$(MAKE) _deb
_deb:
	@dist/build_deb.sh $(DEB_SOURCE) $(VERSION)
# dist/debian/rules takes from it which package has a place.
deb-lists:
	@$(call each_item,$(INSTALLED),[ ! -e $$3 ] || echo "$$1 $$4")
	@$(call each_item,$(filter-out $(INSTALLED),$(INSTALLED_ALL)),echo "$$1 $$3")
	@echo weft '$(INSTALLED_CONF)'

-include $(shell find $(B)/obj $(B)/gen -name '*.d' 2>/dev/null)
