# SPDX-License-Identifier: BSD-3-Clause
#
# Targets that measure, and that make tables and pictures of docs/. Included by the Makefile, whose
# functions it uses. tools/bench/README.md, tools/plot/README.md.

.PHONY: pictures _pictures
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
$(B)/bin/mpi_base: $(MPI_SRCS) $(wildcard tools/goal-bench/*.h) Makefile tools/bench/bench.mk
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -o $@ $(MPI_SRCS)

# MPI programs for make iwarp-tables, likewise.
KERN_SRCS := lib/stats.c $(sort $(wildcard tools/bench/mpi/kern*.c))
$(B)/bin/mpi_kern: $(KERN_SRCS) tools/bench/mpi/kern.h Makefile tools/bench/bench.mk
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -Wno-stringop-overflow -I. -o $@ $(KERN_SRCS) -lm

# Messages between two ranks, for the rows tag_* and make tagged-tables, likewise.
MPI_TAG_SRCS := lib/stats.c $(sort $(wildcard tools/bench/mpi/tag*.c))
$(B)/bin/mpi_tag: $(MPI_TAG_SRCS) tools/bench/mpi/tag.h Makefile tools/bench/bench.mk
	@mkdir -p $(@D)
	$(call say,MPICC,$@)
	$(Q)$(MPICC) $(HOST) -O2 -g $(ARCH) $(WARN) -I. -o $@ $(MPI_TAG_SRCS)

# Collectives, for the rows coll_* and make coll-tables, likewise.
MPI_COLL_SRCS := lib/stats.c tools/bench/mpi/coll.c
$(B)/bin/mpi_coll: $(MPI_COLL_SRCS) Makefile tools/bench/bench.mk
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

copies-tables:	## measure what copies of MPI messages cost, IS, memory by ranks (10 min), redraw docs/copies.md; PART=sort for one, WINDOWS=1
	@tools/deps.sh run plot mpi bench
	@+$(MAKE) _copies-tables
_copies-tables: all $(B)/bin/mpi_kern $(B)/bin/memcpy_base
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/copies.py $(if $(WINDOWS),--windows $(WINDOWS)) \
		$(patsubst %,--part %,$(subst $(comma), ,$(PART))) docs
.PHONY: copies-tables _copies-tables

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

barrier-table:	## measure Bruck's barrier over 2 to 16 ranks beside the simulator and Open MPI (ESPGOAL 6.10; 4 min), redraw it in docs/collectives.md; WINDOWS=1
	@tools/deps.sh run plot mpi bench
	@+$(MAKE) _barrier-table
_barrier-table: all $(B)/bin/mpi_base
	@WEFT_BIN=$(CURDIR)/$(B)/bin WEFT_BUILD=$(CURDIR)/$(B) tools/plot/barrier.py $(if $(WINDOWS),--windows $(WINDOWS)) docs
.PHONY: barrier-table _barrier-table

iwarp-tables:	## measure datagrams beside RC over TCP (verbs, MPI, kernels, memory), redraw docs/iwarp.md; PART=verbs for one
	@tools/deps.sh run plot mpi
	@+$(MAKE) _iwarp-tables
_iwarp-tables: all $(B)/bin/mpi_kern
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/iwarp.py $(patsubst %,--part %,$(subst $(comma), ,$(PART))) docs
.PHONY: iwarp-tables _iwarp-tables

tuning-tables:	## the study of ESPGOAL 6.2 by weft-tune, simulated (5 min) and on NICs (5 min); redraw docs/tuning.md; SIMULATED=1 leaves the NICs out
	@tools/deps.sh run plot
	@+$(MAKE) _tuning-tables
_tuning-tables: all
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/tuning.py $(if $(SIMULATED),--simulated) docs
.PHONY: tuning-tables _tuning-tables

tuning-genetic:	## the genetic searches of that study with ESPGOAL's population of 500 (17 min of one CPU, goes on where it was stopped), behind tuning-tables; redraw docs/tuning.md
	@tools/deps.sh run plot
	@+$(MAKE) _tuning-genetic
_tuning-genetic: $(B)/bin/weft-measure $(B)/bin/weft-tune
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/genetic.py docs
.PHONY: tuning-genetic _tuning-genetic

wake-times:	## measure how long wake-ups take (10 s of both CPUs, as root), for the simulated hosts of weft-tune: tools/weft-measure/wake_times.h, a table of docs/tuning.md
	@tools/deps.sh run
	@+$(MAKE) _wake-times
_wake-times: $(B)/bin/weftd $(B)/bin/weft-bench
	@WEFT_BIN=$(CURDIR)/$(B)/bin tools/plot/wakes.py
.PHONY: wake-times _wake-times

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
