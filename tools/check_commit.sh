#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the subjects of commits: "area: verb object", the verb in its base form ("nic_fw: resend
# a hole after one RTT"), without a full stop, at most 75 characters. The verb comes first, so that
# a log reads as a list of actions; the script knows common verbs.
#
#	tools/check_commit.sh [RANGE]		commits of RANGE (default: those of HEAD that its base lacks)
#	tools/check_commit.sh --message FILE	a message not yet committed (a commit-msg hook)
#
# The base is the revision WEFT_BASE, else the branch's upstream, else the default branch of origin,
# else $landed: a commit that has landed cannot change any more. Merges are left out.
# Exit status 0, 1 when a subject breaks a rule, 2 usage.

set -u

usage()
{
	echo "usage: check_commit.sh [RANGE | --message FILE]" >&2
	exit 2
}

# For a repository that has no remote.
landed=e60e5fae
verbs='
accept account acknowledge add adjust agree align allocate allow announce answer apply arm ask assert
attach avoid backport base batch begin bind bound branch break bring build bump bundle cache call
cancel cap capture carry catch change charge check choose clamp clean clear close collapse collect combine
compare compile complete compute configure connect consume convert copy correct count cover create
cut date deal debounce decide declare decode deduplicate defer define delay delete deliver demand
derive describe destroy detect determine diagnose disable discard disconnect display distinguish
distribute divide document do double downgrade drain draw drive drop dump echo edit emit empty
enable encode end enforce enlarge ensure enter enumerate erase escape estimate evict examine
exchange exclude execute exit expand expect explain export expose extend extract fail fall feed
fence fetch fill filter find finish fit fix flatten flush fold follow forbid force forge format
forward free freeze fuzz gather generate get give go grant group grow guard halve hand handle harden hash
have hide hold honour identify ignore implement import improve include increase index inform initialize
inline insert inspect install interpret introduce invalidate isolate join judge keep kill label
launch lay lead leave lend lengthen let lift limit link lint list listen load lock log look loop lower
make map mark match measure merge mention mend migrate mirror modify monitor move multiply name
narrow negotiate normalize note notify number offer omit open optimize order overlap pace pack pad
parse part pass patch pause permit pick pin place plan play plot poison poll port post prefer
prefetch prepare prevent print probe process produce prove provide prune publish pull punch push
put quarantine query queue quote raise randomize reach read rearm rebuild receive reclaim recognize
recompute record recover reduce refer refresh refuse regenerate register reject relax release
remember remove rename render renew reorder repair repeat replace replay reply report request require
rerun resend reserve reset resize resolve respect respond restart restore restrict resume retain
retire retransmit retry return reuse revert review revise rewrite round route run sample save say scale
scan schedule score search seal see segment select send separate serialize serve set share shorten
show shrink shut sign simplify simulate size skip sleep slow sort speak specify spell split spread
stage stamp start state stay steer stop store stream strengthen stress stretch strip stub submit
subtract suggest supply support suppress survive swap switch synchronize tag take teach tell
terminate test throttle tidy tie time tolerate trace track transfer translate treat trim truncate
trust try tune turn type undo unify unlock unmap unpin update upgrade use validate verify void wait
wake walk warn watch widen withdraw wrap write yield zero
'

# commit_verb SUBJECT: true if the first word after "area: " is one of the verbs
commit_verb()
{
	local words=${1#*: }
	[[ "${verbs//$'\n'/ }" == *" ${words%% *} "* ]]
}

broken=0
# check ID SUBJECT
check()
{
	local id=$1 subject=$2
	if ! grep -qE '^(Makefile|[a-z0-9_][a-z0-9_./-]*)(, [a-z0-9_][a-z0-9_./-]*)*: [^[:space:]]' <<<"$subject"; then
		echo "$id '$subject': not 'area: verb object'"
		broken=1
	elif [ "${subject%.}" != "$subject" ]; then
		echo "$id '$subject': ends with a full stop"
		broken=1
	elif [ "${#subject}" -gt 75 ]; then
		echo "$id '$subject': ${#subject} characters, at most 75"
		broken=1
	elif ! commit_verb "$subject"; then
		echo "$id '$subject': no verb first after 'area: ' (tools/check_commit.sh lists them)"
		broken=1
	fi
}

# Prints the commits to check by default, as arguments of git log.
unlanded()
{
	local base
	if [ -n "${WEFT_BASE:-}" ]; then
		echo "HEAD ^$WEFT_BASE"
		return
	fi
	for base in '@{upstream}' refs/remotes/origin/HEAD "$landed"; do
		if git rev-parse -q --verify "$base^{commit}" >/dev/null 2>&1; then
			echo "HEAD ^$base"
			return
		fi
	done
	echo HEAD
}

case ${1:-} in
--message)
	[ $# -eq 2 ] || usage
	[ -r "$2" ] || { echo "check_commit.sh: cannot read $2" >&2; exit 2; }
	check message "$(head -n 1 "$2")"
	exit "$broken"
	;;
-*) usage ;;
esac
[ $# -le 1 ] || usage

git rev-parse --git-dir >/dev/null 2>&1 || exit 0 # an unpacked archive has no history
git rev-parse -q --verify HEAD >/dev/null || exit 0 # nothing is committed yet
read -ra range <<<"${1:-$(unlanded)}"
if ! list=$(git log --no-merges --format='%h %s' "${range[@]}"); then
	usage
fi
while read -r id subject; do
	[ -z "$id" ] || check "$id" "$subject"
done <<<"$list"
exit "$broken"
