# SPDX-License-Identifier: BSD-3-Clause
#
# Installation and packages: which file has which place. Included by the Makefile. dist/README.md.

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
PUBLIC_HEADERS := weft.h weft_device.h weft_mr.h weft_cq.h weft_qp.h weft_atomic.h weft_coalesce.h weft_tag.h
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
PAGES_FROM := $(sort $(wildcard tools/pages/*.py)) dist/dist.mk
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
