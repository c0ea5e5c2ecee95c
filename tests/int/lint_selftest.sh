#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the checks of tools/ on a small tree: the sound tree passes, and each broken rule is found.
# Covers check_layers.sh, check_tidy.sh with check_source.py and check_docs.py,
# check_commit.sh, check_freestanding.sh.

set -u
tools=$PWD/tools
tree=$WEFT_TMP/tree
wrong=0

say_wrong()
{
	echo "$1"
	wrong=1
}

# A source file with everything that tidy asks for, then the text given.
source_file()
{
	mkdir -p "$(dirname "$1")"
	printf '/* SPDX-License-Identifier: BSD-3-Clause */\n/*\n * A file.\n */\n%s\n' "$2" >"$1"
}

fresh_tree()
{
	local d
	rm -rf "$tree"
	mkdir -p "$tree"
	for d in lib shared_defs nic_fw host_driver sim_harness dpdk_app tests tools; do
		source_file "$tree/$d/x.h" 'extern int x;'
		echo "# $d" >"$tree/$d/README.md"
	done
	cp "$tools/../.clang-format" "$tree"
	source_file "$tree/nic_fw/fw.h" '#include "nic_fw/x.h"'
	source_file "$tree/nic_fw/y.c" '#include "nic_fw/fw.h"'
	cd "$tree" || exit 1
}

# passes CHECK: on the fresh tree
passes()
{
	local out
	fresh_tree
	out=$("$tools/$1" "$tree" 2>&1) || say_wrong "$1 complains about a sound tree: $out"
}

# fails CHECK WHAT: exit status 1, and the output names WHAT
fails()
{
	local out rc
	out=$("$tools/$1" "$tree" 2>&1)
	rc=$?
	[ "$rc" -eq 1 ] || say_wrong "$1 exits with $rc, not 1: should have found $2"
	grep -qF -- "$2" <<<"$out" || say_wrong "$1 does not name '$2': $out"
	fresh_tree
}

# include FILE HEADER: one include that breaks a rule of layers
include()
{
	source_file "$1" "#include $2"
	fails check_layers.sh "$1:5: $2"
}

passes check_floors.py
mkdir nic_fw/net nic_fw/coll
source_file nic_fw/coll/up.h 'void coll_up(void);'
source_file nic_fw/net/down.c 'void net_down(void) { coll_up(); }'
fails check_floors.py 'nic_fw/net/down.c: not for its floor: coll_up (nic_fw/coll/up.h)'
mkdir nic_fw/cellar
source_file nic_fw/cellar/x.c 'int cellar_x;'
fails check_floors.py 'the folder cellar has no rule'
passes check_layers.sh
include lib/bad.c '<rte_mbuf.h>'
include lib/bad.c '<jansson.h>'
include lib/bad.c '"nic_fw/fw.h"'
include lib/bad.c '"tools/x.h"'
include shared_defs/bad.h '"lib/clock.h"'
include nic_fw/bad.c '"lib/clock.h"'
include host_driver/bad.c '"lib/stats.h"'
include host_driver/ompi/bad.c '"host_driver/weft.h"'
include shared_defs/bad.h '<rte_mbuf.h>'
include shared_defs/bad.h '<pthread.h>'
include shared_defs/bad.h '"nic_fw/fw.h"'
include nic_fw/bad.c '<stdio.h>'
include nic_fw/bad.c '<rte_ring.h>'
include nic_fw/bad.c '"dpdk_app/x.h"'
include nic_fw/bad.c '"fw.h"'
include host_driver/bad.c '<rte_eal.h>'
include host_driver/bad.c '<bpf/libbpf.h>'
include host_driver/bad.c '"nic_fw/fw.h"'
include host_driver/sub/bad.c '"dpdk_app/x.h"'
include host_driver/bad.c '"host_driver/goal/x.h"'
include host_driver/goal/bad.c '"nic_fw/fw.h"'
include host_driver/fabric/bad.c '"host_driver/weft_priv.h"'
include host_driver/verbs/bad.c '"host_driver/fabric/fi_weft.h"'
include dpdk_app/bad.c '"nic_fw/x.h"'
include dpdk_app/bad.c '"host_driver/x.h"'
include sim_harness/bad.c '"nic_fw/x.h"'
include sim_harness/bad.c '<rte_eal.h>'
include tools/bad.c '"x.h"'
include tests/bad.c '"../nic_fw/x.h"'
source_file host_driver/weft.h '#include "shared_defs/x.h"'
fails check_layers.sh 'host_driver/weft.h:5: the public header'
for call in 'malloc(3)' 'printf("x")' 'pthread_self()' 'clock_gettime(0, 0)' 'abort()'; do
	source_file nic_fw/bad.c "/* malloc( */ int f(void) { return $call; }"
	fails check_layers.sh "nic_fw/bad.c:5: ${call%%(*}()"
done
# ... but not in comments, strings, members or longer names
source_file nic_fw/good.c '/* calls malloc(3) */
int f(void) { g("printf(", p->free(1), rx_free(2)); }'
source_file host_driver/goal/good.c '#include "host_driver/x.h"
#include "lib/crc32c.h"'
source_file sim_harness/good.c '#include "lib/stats.h"'
out=$("$tools/check_layers.sh" "$tree" 2>&1) || say_wrong "check_layers.sh complains: $out"

passes check_tidy.sh
sed -i 1d nic_fw/y.c
fails check_tidy.sh 'nic_fw/y.c:1: first line'
printf '/* SPDX-License-Identifier: BSD-3-Clause */\nint x;\n' >nic_fw/bad.c
fails check_tidy.sh 'nic_fw/bad.c:2: no header comment'
printf '#!/bin/sh\necho\n' >tools/bad.sh
fails check_tidy.sh 'tools/bad.sh:1: no line SPDX'
source_file nic_fw/bad.c 'int x; '
fails check_tidy.sh 'nic_fw/bad.c:5: blanks'
printf 'words \n' >docs.md
fails check_tidy.sh 'docs.md:1: blanks'
for word in TO''DO FIX''ME XX''X 'not ''implemented'; do
	source_file nic_fw/bad.c "/* $word */"
	fails check_tidy.sh 'nic_fw/bad.c:5: unfinished work'
done
source_file nic_fw/bad.c "const char *p = \"/ro""ot/x\";"
fails check_tidy.sh 'nic_fw/bad.c:5: path of one machine'
source_file nic_fw/bad.c "$(yes 'extern int x;' | head -n 597)"
fails check_tidy.sh 'nic_fw/bad.c:601: more than 600'
# A file of the list of long ones has a limit, too, and stands there while it needs it.
long_file()
{
	mkdir -p tests/int
	echo '# int' >tests/int/README.md
	source_file tests/int/goal_every.c "$(yes 'extern int x;' | head -n $(($1 - 4)))"
}
long_file 701
fails check_tidy.sh 'tests/int/goal_every.c:701: more than 700'
long_file 600
fails check_tidy.sh 'tests/int/goal_every.c:600: no long file any more'
long_file 700
source_file nic_fw/good.c "$(yes 'extern int x;' | head -n 596)"
out=$("$tools/check_tidy.sh" "$tree" 2>&1) || say_wrong "check_tidy.sh complains: $out"
fresh_tree
source_file nic_fw/bad.c '   int   x;'
fails check_tidy.sh 'clang-format -i mends'
printf '%s\n' "$(yes 'a word' | head -n 20 | tr '\n' ' ')end" >page.md
fails check_tidy.sh 'page.md:1: 143 columns'
# ... but not in a table, nor where a line has no blank
printf '| %s |\n%s\n' "$(yes 'a word' | head -n 20 | tr '\n' ' ')" "$(yes a | head -n 120 | tr -d '\n')" >page.md
out=$("$tools/check_tidy.sh" "$tree" 2>&1) || say_wrong "check_tidy.sh complains: $out"
source_file nic_fw/good.c $'static void flip(void)\n{\n}'
echo '| Where does it flip? | `nic_fw/good.c` | `flip()` |' >CONTRIBUTING.md
out=$("$tools/check_tidy.sh" "$tree" 2>&1) || say_wrong "check_tidy.sh complains: $out"
echo '| Where does it flip? | `nic_fw/good.c` | `flop()` |' >CONTRIBUTING.md
fails check_tidy.sh 'CONTRIBUTING.md:1: flop() is in none'

# stale TEXT WHAT [LINE]: a page with this text names what does not exist; without WHAT it does not
stale()
{
	local out rc
	mkdir -p docs
	printf '# Docs\n\n## A heading\n' >docs/README.md
	printf '| `--nics` | `N` | weftd | NICs |\n| `--op` | `a\\|b` | weft-bench, weftctl | x |\n' >docs/options.md
	printf '# SPDX-License-Identifier: BSD-3-Clause\nall test:\n' >Makefile
	printf '# A page\n\n%s\n' "$1" >docs/page.md
	out=$(find . -type f -printf '%P\0' | "$tools/check_docs.py" 2>&1)
	rc=$?
	if [ "$rc" -ne "$((${#2} > 0))" ] || [ "$out" != "${2:+docs/page.md:${3:-3}: $2}" ]; then
		say_wrong "check_docs.py should say '${2:-}': status $rc, $out"
	fi
}
stale 'see [this](gone.md)' 'link to no file: gone.md'
stale 'see [this](README.md#no-heading)' 'link to no heading: README.md#no-heading'
stale 'in `nic_fw/gone.c`' 'no such file: nic_fw/gone.c'
stale 'in `nic_fw/{x,gone}.h`' 'no such file: nic_fw/gone.h'
stale 'in `gone.c`' 'no such file: gone.c'
stale 'by `gone_func()`' 'no source has a function gone_func()'
stale '`WEFT_GONE=1`' 'no source has WEFT_GONE'
stale '`make gone`' 'the Makefile has no target gone'
stale '`weftd --gone 3`' 'weftd has no option --gone'
stale '`--gone`' 'the tree has no option --gone'
stale $'a block\n\n    make test && build/bin/weftd --op a' 'weftd has no option --op' 5
stale $'```\nbuild/bin/weftctl gone\n```' 'weftctl has no command gone' 4
# ... but not what is there, what stands for something, or is said of other programs
stale $'[here](README.md#a-heading), `nic_fw/{x,fw}.h`, `y.c`, `NAME.c`, `tests/NAME/x.h`, `make test`,
`weftd --nics 2`, `weft-bench --op a | cat`, `ls --gone`, `rdma_gone()`

    make all           makes nothing --gone' ''
echo '[here](gone.md)' >docs/page.md
fails check_tidy.sh 'docs/page.md:1: link to no file: gone.md'

# A README.md with a table of files has all sources of its folder.
printf '# nic_fw\n\n| file | subject |\n| --- | --- |\n| `y.c`, `z*.c` | words |\n| `stem` | words |\n' >nic_fw/README.md
for name in z_1.c stem.c of_y.h; do
	source_file "nic_fw/$name" 'extern int x;'
done
out=$("$tools/check_tidy.sh" "$tree" 2>&1) || say_wrong "check_tidy.sh complains: $out"
source_file nic_fw/words.c 'extern int x;'
fails check_tidy.sh 'nic_fw/README.md:3: the table of files lacks words.c'
printf '# shared\n\n| file | subject |\n| --- | --- |\n| others | words |\n' >shared_defs/README.md
fails check_tidy.sh 'shared_defs/README.md:3: the table of files lacks x.h'

rm nic_fw/README.md
fails check_tidy.sh 'nic_fw/README.md: missing'
mkdir left
echo 7 >left/pid
fails check_tidy.sh 'left/README.md: missing'
mkdir -p nic_fw/net tests/nic_fw/net
source_file nic_fw/net/y.h 'extern int y;'
source_file tests/nic_fw/net/y.h 'extern int y;'
fails check_tidy.sh 'nic_fw/net/README.md: missing'
out=$("$tools/check_tidy.sh" "$tree" 2>&1)
[[ $out != *tests/nic_fw* ]] || say_wrong "check_tidy.sh complains: $out"

# Comments begin with their subject, in whatever form the comment comes.
printf '%s\n' '/* SPDX-License-Identifier: BSD-3-Clause */' '/*' ' * Whose they are.' ' */' >bad.c
fails check_tidy.sh "bad.c:3: a comment begins with its subject, not 'Whose'"
for comment in '/* What it does. */' $'/*\n * Those of others.\n */' '// Nobody is here.' 'int x; /* Of y. */'; do
	source_file bad.c "$comment"
	fails check_tidy.sh 'a comment begins with its subject'
done
printf '%s\n' '#!/bin/sh' '# SPDX-License-Identifier: BSD-3-Clause' '#' '# What it does.' >bad.sh
fails check_tidy.sh "bad.sh:4: a comment begins with its subject, not 'What'"
printf '%s\n' '# SPDX-License-Identifier: BSD-3-Clause' 'x = 1' '    # One that is.' >bad.py
fails check_tidy.sh "bad.py:3: a comment begins with its subject, not 'One that'"
printf '%s\n' '# SPDX-License-Identifier: BSD-3-Clause' 'def f():' '    """What it does."""' >bad.py
fails check_tidy.sh "bad.py:3: a comment begins with its subject, not 'What'"
printf '%s\n' '-- SPDX-License-Identifier: BSD-3-Clause' 'x = 1' '-- Whether it is.' >bad.lua
fails check_tidy.sh "bad.lua:3: a comment begins with its subject, not 'Whether'"
source_file bad.c $'/*\n * Words. Called by\n * others.\n */'
fails check_tidy.sh 'bad.c:6: list of callers'
for name in absent.c nic_fw/x.c sub/fw.h absent.md; do
	source_file bad.c "/* See $name. */"
	fails check_tidy.sh "bad.c:5: no such file: $name"
done
source_file bad.c "$(printf 'int f(void)\n{\n'; yes $'\tf();' | head -n 71; printf '}\n')"
fails check_tidy.sh 'bad.c:6: function of 71 lines'
mkdir -p lib
echo '# lib' >lib/README.md
source_file lib/bad.h $'int bad_used(int (*f)(int),\n             int x);\nvoid bad_unused(int x);'
source_file lib/bad.c $'#include "lib/bad.h"\n\nvoid bad_unused(int x)\n{\n}'
source_file lib/user.c $'#include "lib/bad.h"\n\nint x = bad_used(0, 0);'
fails check_tidy.sh 'lib/bad.h:7: bad_unused() is used by no other file'
source_file nic_fw/a.c $'static int take(int x)\n{\n\treturn x;\n}'
source_file nic_fw/b.c $'static struct x *\ntake(int a, int b)\n{\n\treturn take(a, b);\n}'
fails check_tidy.sh 'nic_fw/b.c:6: take() is in nic_fw/a.c, too'
# ... but not a name that is declared twice in one file, nor outside the firmware
source_file nic_fw/a.c $'static int take(int x);\n\nstatic int take(int x)\n{\n\treturn x;\n}'
source_file tools/b.c $'static int take(int x)\n{\n\treturn x;\n}'
out=$("$tools/check_tidy.sh" "$tree" 2>&1) || say_wrong "check_tidy.sh complains: $out"
fresh_tree
# ... and comments that keep the rules
source_file good.c $'/*\n * The subject comes first. Of more than one sentence only the first is looked at.\n */
/* fw.h, nic_fw/fw.h, x_*.c, NAME.c, $file.sh, linux/skbuff.h, <x/y.h>, 10.0.0.h.1 */
const char *p = "/* What? */";'
source_file good.h "$(printf 'int f(void)\n{\n'; yes $'\tf();' | head -n 70; printf '}\n')"
out=$("$tools/check_tidy.sh" "$tree" 2>&1) || say_wrong "check_tidy.sh complains: $out"

subject()
{
	local out rc
	printf '%s\n' "$2" >"$WEFT_TMP/message"
	out=$("$tools/check_commit.sh" --message "$WEFT_TMP/message" 2>&1)
	rc=$?
	[ "$rc" -eq "$1" ] || say_wrong "check_commit.sh exits with $rc for '$2': $out"
}
subject 0 'nic_fw: resend a hole after one RTT'
subject 0 'nic_fw, tests: count refused packets'
subject 0 'docs/wire-format: draw the acknowledgement'
subject 0 'nic_fw/tcp, docs: resend'
subject 1 'nic_fw: a hole is resent'
subject 1 'nic_fw: output that is lost is a failure'
subject 1 'nic_fw: resends a hole'
subject 1 'Resend a hole'
subject 1 'nic_fw: resend a hole.'
subject 1 'nic_fw:resend'
subject 1 'nic_fw: '
subject 1 "nic_fw: $(yes a | head -n 80 | tr -d '\n')"
"$tools/check_commit.sh" --message "$WEFT_TMP/absent" 2>/dev/null
[ $? -eq 2 ] || say_wrong 'check_commit.sh: an absent message is not a usage error'
# Commits of a repository
cd "$WEFT_TMP" && git init -q repo && cd repo || exit 1
commit()
{
	git -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m "$1"
}
commit 'all: begin'
"$tools/check_commit.sh" || say_wrong 'check_commit.sh complains about a good history'
commit 'Oops'
"$tools/check_commit.sh" >/dev/null && say_wrong 'check_commit.sh finds nothing in a bad history'
# Commits that have landed are not looked at.
git clone -q . ../clone && cd ../clone || exit 1
"$tools/check_commit.sh" || say_wrong 'check_commit.sh complains about a commit that has landed'
commit 'all: count'
"$tools/check_commit.sh" || say_wrong 'check_commit.sh complains about a commit that its base has'
commit 'Again'
"$tools/check_commit.sh" | grep -q Again || say_wrong 'check_commit.sh misses a commit of a clone'
git checkout -q -b own && WEFT_BASE=own "$tools/check_commit.sh" ||
	say_wrong 'check_commit.sh looks at commits of WEFT_BASE'
"$tools/check_commit.sh" | grep -q Again || say_wrong 'check_commit.sh misses a commit of a branch'

archive()
{
	printf '%s\n' "$1" >"$WEFT_TMP/a.c"
	gcc -O1 -c "$WEFT_TMP/a.c" -o "$WEFT_TMP/a.o" && rm -f "$WEFT_TMP/a.a" &&
		ar rcs "$WEFT_TMP/a.a" "$WEFT_TMP/a.o" || exit 1
	"$tools/check_freestanding.sh" nm "$WEFT_TMP/a.a" 2>&1
}
archive 'static const int t[2] = {1, 2}; const int *f(int i) { return &t[i]; }' ||
	say_wrong 'check_freestanding.sh complains about constants'
archive 'void *memcpy(void *, const void *, unsigned long); void f(void *a, void *b, long n) { memcpy(a, b, n); }' ||
	say_wrong 'check_freestanding.sh complains about memcpy'
archive 'void g(void); void f(void) { g(); }' | grep -q 'needs g' ||
	say_wrong 'check_freestanding.sh lets a foreign function pass'
archive 'static int n; int f(void) { return ++n; }' | grep -q 'variable n' ||
	say_wrong 'check_freestanding.sh lets a static variable pass'
archive 'int n = 3;' | grep -q 'variable n' ||
	say_wrong 'check_freestanding.sh lets a global variable pass'

exit "$wrong"
