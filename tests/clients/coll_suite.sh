#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs and test suites of others, each with MPI's own collectives and with those of the NIC: what
# passes without weft passes with it, and results are the same. Prints what differs, what was left
# out and why, and the share of calls and bytes that ran on the NIC.
#
#	SUITES		of: openmpi mpich mpi4py espresso scalapack-openmpi scalapack-mpich hpcc lammps npb-openmpi
#			npb-mpich (default: all)
#	SUITE_WAY	force: every call that the NIC supports runs there, blocking ones, too (default);
#			default: those of the built-in rules
#	SUITE_RANKS	most ranks of a test: of MPICH's suite 10 with Open MPI, 4 with MPICH, whose ranks
#			spin (its list has up to 10); of a program 8 (it runs on 2, 4 and 8)
#	SUITE_TESTS	names of tests (default: all): allred2, test_cco_buf4, xdlu, hpcc2, melt8, ft4
#	SUITE_LIMIT	seconds of one run (60; programs: 300)
#	APPS_NPB	folder of NPB programs for Open MPI, called as its makefiles do (ft.W.4), or ft.W.x for all
#			numbers of ranks; APPS_NPB_MPICH: the same for MPICH
#
# Sources are loaded by `apt-get source` into a folder of the cache, programs are Debian's packages
# (tools/deps.sh suites).
# timeout: 14400

. tests/int/lib.sh
LIMIT=${SUITE_LIMIT:-60}
way=${SUITE_WAY:-force}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/weft-suites
mkdir -p "$cache"
component=$PWD/build/lib/openmpi
preload=$PWD/build/lib/mpich/libweft-mpich.so
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
missing=

wanted()
{
	[ -z "${SUITES:-}" ] && return
	case " $SUITES " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# chosen NAME: true if the test is to be run
chosen()
{
	[ -z "${SUITE_TESTS:-}" ] && return
	case " $SUITE_TESTS " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

left_out()
{
	say "left out: $*"
	missing=1
}

# source_of PACKAGE: unpacks its source below the cache; false: it cannot be had
source_of()
{
	local at=$cache/$1 parts
	[ ! -e "$at/ready" ] || return 0
	rm -rf "$at"
	mkdir -p "$at/lists/partial"
	# The machine's own archive, of sources, without a change to the machine.
	parts=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
		sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] *)?([^ ]+) .*/\2/p' | grep -m1 '/debian$') || return 1
	printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
		"$parts" "$(. /etc/os-release && echo "$VERSION_CODENAME")" >"$at/src.sources"
	(
		cd "$at" || exit
		options=(-o "Dir::Etc::sourcelist=$at/src.sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$at/lists"
			-o APT::Sandbox::User=root)
		apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only "$1" &&
			mkdir tree && tar -xf "$1"_*.orig.tar.* -C tree --strip-components=1
	) >"$at.log" 2>&1 && touch "$at/ready"
}

# run LIB HOW RANKS COMMAND...: HOW is plain or weft; output to $WEFT_TMP/run.out
run()
{
	local lib=$1 how=$2 ranks=$3 set=()
	shift 3
	if [ "$lib" = openmpi ]; then
		[ "$how" = plain ] || set=(env "OMPI_MCA_mca_base_component_path=$component:SYSTEM_DEFAULT" OMPI_MCA_coll_weft_verbose=1)
		[ "$how$way" != weftforce ] || set+=(OMPI_MCA_coll_weft_force=1)
		set+=(mpirun.openmpi --oversubscribe --mca pml ob1 --mca btl 'self,vader' --mca btl_vader_single_copy_mechanism none
			--mca op ^avx --mca mpi_yield_when_idle 1)
	else
		set=(mpiexec.mpich)
		[ "$how" = plain ] || set+=(-genv LD_PRELOAD "$preload" -genv WEFT_MPI_VERBOSE 1)
		[ "$how$way" != weftforce ] || set+=(-genv WEFT_MPI_RULES "$WEFT_TMP/rules")
	fi
	timeout -k 5 "$LIMIT" "${set[@]}" -n "$ranks" "$@" >"$WEFT_TMP/run.out" 2>&1 </dev/null
}

# Adds the line at the end of a run to "$1.share".
add_share()
{
	sed -nE 's/^(coll_weft|weft-mpich): rank 0: all collectives: ([0-9]+) of ([0-9]+) calls[^)]*\) and ([0-9]+) of ([0-9]+) bytes.*/\2 \3 \4 \5/p' \
		"$WEFT_TMP/run.out" >>"$WEFT_TMP/$1.share"
}

# share SUITE: prints the sum
share()
{
	touch "$WEFT_TMP/$1.share"
	awk -v suite="$1" '{ a += $1; b += $2; c += $3; d += $4 }
		END { printf "%s: %d of %d calls (%.1f %%) and %d of %d bytes (%.1f %%) of rank 0 ran on the NIC\n",
			suite, a, b, b ? 100 * a / b : 0, c, d, d ? 100 * c / d : 0 }' "$WEFT_TMP/$1.share"
}

# why_not STATUS: in a few words, why the last run failed
why_not()
{
	[ "$1" != 124 ] || { say "not over within $LIMIT s"; return; }
	grep -m1 -oiE 'signal: .*|.*(error|abort|fault|mismatch|failed|need|must).*' "$WEFT_TMP/run.out" | cut -c1-160 | grep . ||
		say "exit status $1"
}

# ranks_upto: of 2, 4 and 8 those that are wanted
ranks_upto()
{
	local n
	for n in 2 4 8; do [ "$n" -gt "${SUITE_RANKS:-8}" ] || say "$n"; done
}

# same_numbers NAME HOW: keeps the numbers at its input; those of the run with weft must be the same
# as without, but for the last digits, which are those of another order of sums
same_numbers()
{
	grep -oE '[-+]?[0-9]+(\.[0-9]*)?([eED][-+]?[0-9]+)?' >"$WEFT_TMP/$1.$2.numbers"
	[ -s "$WEFT_TMP/$1.$2.numbers" ] || { echo 'error: the results are missing' >>"$WEFT_TMP/run.out"; return 1; }
	[ "$2" = plain ] || [ ! -e "$WEFT_TMP/$1.plain.numbers" ] || paste "$WEFT_TMP/$1.plain.numbers" "$WEFT_TMP/$1.$2.numbers" | tr D e |
		awk 'function abs(x) { return x < 0 ? -x : x }
			NF != 2 || abs($1 - $2) > 1e-6 * abs($1) { print "error: a result is " $2 ", without weft " $1; bad = 1 }
			END { exit bad }' >>"$WEFT_TMP/run.out"
}

# compare SUITE LIB RANKS GOOD NAME COMMAND...: passes if it exits with 0 and GOOD, a command, likes its output
passed=0 differ=0 neither=0
compare()
{
	local suite=$1 lib=$2 ranks=$3 good=$4 name=$5 try how plain weft why status
	shift 5
	why=
	for try in 1 2; do
		for how in plain weft; do
			run "$lib" $how "$ranks" "$@"
			status=$?
			if [ $status = 0 ] && $good "$WEFT_TMP/run.out" "$how" "$name"; then
				declare $how=pass
			else
				declare $how=fail
				why=$(why_not $status)
				cp "$WEFT_TMP/run.out" "$WEFT_TMP/$suite.$name.$how.out"
			fi
		done
		add_share "$suite"
		[ "$plain$weft" = passfail ] || break
		say "$suite: $name, $ranks ranks: fails with weft alone, try $try: $why"
	done
	case $plain$weft in
	passpass) passed=$((passed + 1)) ;;
	failfail)
		neither=$((neither + 1))
		say "$suite: $name, $ranks ranks: fails without weft, too: $why"
		;;
	failpass)
		neither=$((neither + 1))
		say "$suite: $name, $ranks ranks: fails without weft alone: $why"
		;;
	passfail) differ=$((differ + 1)) ;;
	esac
}

verdict()
{
	share "$1"
	say "$1: $passed pass with and without, $neither fail without weft, $differ fail with weft alone"
	total_differ=$((${total_differ:-0} + differ))
	passed=0 differ=0 neither=0
}

weftd_start weftd --nics 4
for c in barrier bcast {,all}gather{,v} scatter{,v} alltoall{,v,w} {,all}reduce reduce_scatter{,_block} {,ex}scan \
	neighbor_{allgather{,v},alltoall{,v,w}}; do
	printf '%s: weft\ni%s: weft\n' "$c" "$c"
done >"$WEFT_TMP/rules"

# ---- the folder coll of MPICH's suite

no_errors()
{
	grep -q '^ *No [Ee]rrors' "$1"
}

mpich_suite()
{
	local lib=$1 at=$cache/mpich/tree/test/mpi b=$WEFT_TMP/suite-$1 most=10 name ranks rest words w file from
	local flags=(-O1 -w "-I$b" "-I$at/include" "-I$at/dtpools/include")
	[ "$lib" = openmpi ] || most=4
	most=${SUITE_RANKS:-$most}
	# Open MPI 4.1 has MPI 4's persistent collectives under names of its own.
	[ "$lib" = mpich ] || {
		flags+=(-include mpi.h -include mpi-ext.h)
		for w in Barrier Bcast Gather{,v} Allgather{,v} Scatter{,v} Alltoall{,v,w} Reduce Allreduce Reduce_scatter{,_block} Scan Exscan \
			Neighbor_{allgather{,v},alltoall{,v,w}}; do
			flags+=("-DMPI_${w}_init=MPIX_${w}_init")
		done
	}
	mkdir -p "$b"
	# Its configure would find these out.
	printf '#define %s 1\n' STDC_HEADERS HAVE_{STDLIB,STRING,STDINT,UNISTD,STDARG,INTTYPES,SYS_TIME,PTHREAD}_H HAVE_LONG_LONG \
		HAVE_LONG_DOUBLE HAVE_USLEEP HAVE_LONG_DOUBLE__COMPLEX HAVE_{FLOAT,DOUBLE}__COMPLEX HAVE__BOOL HAVE_MPI_WIN_CREATE >"$b/mpitestconf.h"
	echo '#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX' >>"$b/mpitestconf.h"
	for file in mtest mtest_common mtest_thread dtypes; do
		mpicc."$lib" "${flags[@]}" -c "$at/util/$file.c" -o "$b/$file.o" >"$b/log" 2>&1 ||
			{ left_out "MPICH's suite with $lib: $(head -n 2 "$b/log")"; return; }
	done
	while read -r name ranks rest; do
		case $name in '' | '#'* | @*) continue ;; esac
		chosen "$name" || continue
		[ "$ranks" -le "$most" ] || ranks=$most
		[ ! -e "$b/done.$name.$ranks.${rest//[^a-z0-9=]/_}" ] || continue
		touch "$b/done.$name.$ranks.${rest//[^a-z0-9=]/_}"
		# nbX is X with non-blocking collectives in place of the blocking ones.
		from=$at/coll/$name.c w=
		[ -e "$from" ] || from=$at/coll/${name#nb}.c w=-DUSE_MTEST_NBC
		if [ ! -e "$b/$name" ] && ! mpicc."$lib" "${flags[@]}" ${w:+"$w"} -o "$b/$name" "$from" "$b"/*.o -lpthread -lm >"$b/log" 2>&1; then
			say "$lib: $name is not compiled: $(grep -m1 -oE "undefined reference to .*|error: .*" "$b/log")"
			continue
		fi
		words=()
		for w in $rest; do [[ $w != arg=* ]] || words+=("${w#arg=}"); done
		compare "$lib" "$lib" "$ranks" no_errors "$name" "$b/$name" "${words[@]}"
	done <"$at/coll/testlist.in"
	verdict "$lib"
}

for lib in openmpi mpich; do
	wanted $lib || continue
	command -v "mpicc.$lib" >/dev/null || { left_out "$lib: mpicc.$lib is not installed"; continue; }
	if source_of mpich; then
		mpich_suite $lib
	else
		left_out "MPICH's suite: its source package cannot be loaded: $(tail -n 1 "$cache/mpich.log" 2>/dev/null)"
	fi
done

# ---- mpi4py

any_output()
{
	grep -q '^OK' "$1"
}

if wanted mpi4py; then
	if ! python3 -c 'import mpi4py' 2>/dev/null && ! /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
		left_out 'mpi4py: python3-mpi4py is not installed'
	elif ! source_of mpi4py; then
		left_out "mpi4py: its source package, which has the tests, cannot be loaded: $(grep -m1 -E '^E:' "$cache/mpi4py.log")"
	else
		LIMIT=${SUITE_LIMIT:-300}
		for file in "$cache"/mpi4py/tree/test/test_cco_*.py; do
			name=$(basename "$file" .py)
			for ranks in $(ranks_upto); do
				chosen "$name$ranks" || continue
				compare mpi4py openmpi "$ranks" any_output "$name$ranks" env PYTHONPATH="$cache/mpi4py/tree/test" \
					/usr/bin/python3 -m unittest -q "$name"
			done
		done
		verdict mpi4py
		LIMIT=${SUITE_LIMIT:-60}
	fi
fi

# ---- Quantum ESPRESSO: a cell of silicon, whose energies are compared

energies()
{
	grep -q 'JOB DONE' "$1" || return 1
	sed -nE 's/^!? *total energy *= *(-?[0-9.]+) Ry.*/\1/p; s/^ *estimated scf accuracy.*//p' "$1" >"$WEFT_TMP/energy.$2"
	[ -s "$WEFT_TMP/energy.$2" ] || return 1
	[ "$2" = plain ] || {
		# The last digits are those of another order of sums.
		[ "$(tail -n 1 "$WEFT_TMP/energy.plain" | cut -c1-11)" = "$(tail -n 1 "$WEFT_TMP/energy.weft" | cut -c1-11)" ] ||
			{ say "espresso: $(tail -n 1 "$WEFT_TMP/energy.plain") without, $(tail -n 1 "$WEFT_TMP/energy.weft") with weft"; return 1; }
	}
}

if wanted espresso; then
	packed=$(find /usr/share/doc/quantum-espresso -name 'Si.pz-vbc.UPF*' 2>/dev/null | head -n 1)
	if ! command -v pw.x >/dev/null; then
		left_out 'Quantum ESPRESSO: quantum-espresso is not installed'
	elif [ -z "$packed" ]; then
		left_out "Quantum ESPRESSO: quantum-espresso-data, which has silicon's pseudopotential, is not installed"
	else
		mkdir -p "$WEFT_TMP/si"
		zcat -f "$packed" >"$WEFT_TMP/si/Si.UPF"
		cat >"$WEFT_TMP/si/si.in" <<-END
			&control
			calculation='scf', prefix='si', pseudo_dir='$WEFT_TMP/si', outdir='$WEFT_TMP/si'
			/
			&system
			ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=16.0
			/
			&electrons
			conv_thr=1.0d-8
			/
			ATOMIC_SPECIES
			Si 28.086 Si.UPF
			ATOMIC_POSITIONS alat
			Si 0.00 0.00 0.00
			Si 0.25 0.25 0.25
			K_POINTS automatic
			2 2 2 1 1 1
		END
		LIMIT=${SUITE_LIMIT:-300}
		for ranks in $(ranks_upto); do
			chosen "si$ranks" || continue
			compare espresso openmpi "$ranks" energies "si$ranks" pw.x -in "$WEFT_TMP/si/si.in"
		done
		verdict espresso
		LIMIT=${SUITE_LIMIT:-60}
	fi
fi

# ---- ScaLAPACK's own tests

residuals()
{
	grep -qE '[1-9][0-9]* tests completed and passed' "$1" && ! grep -qE '[1-9][0-9]* tests completed and failed' "$1"
}

LIMIT=${SUITE_LIMIT:-300}
# MPICH's ranks spin: where four share two CPUs each small collective takes time slices.
for lib in openmpi mpich; do
	wanted scalapack-$lib || continue
	most=4
	[ $lib = openmpi ] || most=2
	most=${SUITE_RANKS:-$most}
	programs=$(find /usr/lib/*/scalapack/$lib-tests -maxdepth 1 -type f -perm -1 2>/dev/null | sort)
	[ -n "$programs" ] || { left_out "ScaLAPACK with $lib: scalapack-mpi-test is not installed"; continue; }
	# Its input is for four; two have grids of 1 x 2 and 2 x 1.
	mkdir -p "$WEFT_TMP/scalapack-$lib"
	for file in "$(dirname "${programs%%$'\n'*}")"/*.dat; do
		if [ "$most" = 2 ]; then
			sed -E '/number of process grids/ { s/^[0-9]+/2/; n; s/^[0-9 ]+/1 2 /; n; s/^[0-9 ]+/2 1 / }' "$file"
		else
			cat "$file"
		fi >"$WEFT_TMP/scalapack-$lib/${file##*/}"
	done
	for program in $programs; do
		case ${program##*/} in
		xdlu | xzllt | xdqr | xdls | xdinv | xdbrd) ;;
		*) continue ;;
		esac
		chosen "${program##*/}" || continue
		compare "scalapack-$lib" $lib "$most" residuals "${program##*/}" env -C "$WEFT_TMP/scalapack-$lib" "$program"
	done
	verdict "scalapack-$lib"
done

# ---- HPC Challenge: its own checks, and its results that are no times

# RandomAccess may lose up to 1 % of its updates, and does, without weft, too: it takes them in any
# order from several receives, and cancels these at the last rank's word that it has finished.
hpcc_right()
{
	local out=$WEFT_TMP/hpcc/hpccoutf.txt
	grep -q '^Success=1' "$out" && ! grep -E '[1-9][0-9]* tests completed and failed|\.\.\. FAILED|locations \(failed' "$out" >>"$1" &&
		grep -E '^(HPL_(Anorm1|AnormI|Xnorm1|XnormI|BnormI|N|nprow|npcol)|PTRANS_(residual|n)|MPI(FFT|RandomAccess)(_LCG)?_N)=' "$out" |
		sed 's/.*=//' | same_numbers "$3" "$2"
}

if wanted hpcc; then
	if [ ! -e /usr/share/doc/hpcc/examples/_hpccinf.txt ]; then
		left_out 'HPCC: hpcc is not installed'
	else
		LIMIT=${SUITE_LIMIT:-300}
		mkdir -p "$WEFT_TMP/hpcc"
		for ranks in $(ranks_upto); do
			chosen "hpcc$ranks" || continue
			rows=$((ranks > 2 ? 2 : 1))
			sed -E "s/^[0-9]+( +Ps)\$/$rows\1/; s/^[0-9]+( +Qs)\$/$((ranks / rows))\1/" /usr/share/doc/hpcc/examples/_hpccinf.txt \
				>"$WEFT_TMP/hpcc/hpccinf.txt"
			# It appends to the results of an earlier run.
			compare hpcc openmpi "$ranks" hpcc_right "hpcc$ranks" env -C "$WEFT_TMP/hpcc" sh -c 'rm -f hpccoutf.txt; exec hpcc'
		done
		verdict hpcc
	fi
fi

# ---- LAMMPS: a Lennard-Jones melt, its energies and pressure

thermo()
{
	sed -nE '/^ *Step/,/^Loop time/ { /^ *[0-9]+ +/p }' "$1" | same_numbers "$3" "$2"
}

if wanted lammps; then
	if ! command -v lmp >/dev/null; then
		left_out 'LAMMPS: lammps is not installed'
	else
		LIMIT=${SUITE_LIMIT:-300}
		for ranks in $(ranks_upto); do
			chosen "melt$ranks" || continue
			compare lammps openmpi "$ranks" thermo "melt$ranks" lmp -in tools/bench/melt.in -var n 10 -var every 10 -log none
		done
		verdict lammps
	fi
fi

# ---- FT and CG of the NAS Parallel Benchmarks, in Fortran: their own verification, and its values

verified()
{
	grep -q 'Verification *= *SUCCESSFUL' "$1" && grep -E 'Checksum =|Zeta is' "$1" | same_numbers "$3" "$2"
}

# npb LIB FOLDER
npb()
{
	local kernel ranks program
	for kernel in cg ft; do
		for ranks in $(ranks_upto); do
			chosen "$kernel$ranks" || continue
			for program in "$2/$kernel.W.$ranks" "$2/$kernel.W.x"; do
				[ -x "$program" ] && break
			done
			[ -x "$program" ] || { say "npb-$1: no $kernel.W.$ranks"; continue; }
			compare "npb-$1" "$1" "$ranks" verified "$kernel$ranks" "$program"
		done
	done
	verdict "npb-$1"
}

for lib in openmpi mpich; do
	wanted npb-$lib || continue
	from=${APPS_NPB:-}
	[ $lib = openmpi ] || from=${APPS_NPB_MPICH:-}
	if [ -d "$from" ]; then
		npb $lib "$from"
	else
		left_out "NPB with $lib: no folder of its programs (APPS_NPB, APPS_NPB_MPICH)"
	fi
done

weftd_stop weftd
[ -z "$missing" ] || say 'some suites were left out, see above'
[ "${total_differ:-0}" = 0 ] || die "$total_differ tests fail with weft alone"
[ -n "${total_differ:-}" ] || die 'no suite could be run'
