#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/ci.md as it is written: an ordinary user starts a weftd of two NICs in a folder of his own and
# runs programs of other projects on it: fio's rdma engine, and a live migration of QEMU over RDMA,
# whose guest goes on at the other end.
#
# timeout: 300

. tests/int/lib.sh
need fio qemu-system-x86_64 python3 setpriv

# The programs in a folder that the user may read; the run directory is the user's own.
user=65534
home=$WEFT_TMP/home
mkdir -p "$home/run"
cp -r "${WEFT_PLAIN%/*}/bin" "${WEFT_PLAIN%/*}/lib" "$home/" || die 'no release build'
chown -R $user "$home"
as_user=(setpriv "--reuid=$user" "--regid=$user" --clear-groups env HOME="$home" "WEFT_RUN_DIR=$home/run")
# Every folder above it must let the user pass.
"${as_user[@]}" test -x "$home/bin/weftd" || skip 'the build folder is closed to other users'

spawn weftd "${as_user[@]}" "$home/bin/weftd" --nics 2 --run-dir "$home/run"
says weftd '^weftd: ready'
run=("${as_user[@]}" "$home/bin/weft-run")
# value COUNTER: of weft1
value()
{
	"${as_user[@]}" "$home/bin/weftctl" stats weft1 | awk -v name="$1:" '$1 == name { print $2 }'
}
listens()
{
	[ "$(value cm_listeners)" = 1 ]
}

# fio's client says --rw=write whatever the verb is: to the engine --rw=read is the end that listens.
port=18001
for verb in write read; do
	spawn $verb.s "${run[@]}" --device weft1 fio --name=s --ioengine=rdma --rw=read --bs=64k --size=8m --port=$port
	wait_until 'fio listens' listens
	spawn $verb.c "${run[@]}" --device weft0 fio --name=c --ioengine=rdma --hostname=10.77.0.2 --port=$port \
		--verb=$verb --rw=write --bs=64k --size=8m --iodepth=8 --output-format=json
	expect_ok $verb.c
	python3 - "$WEFT_TMP/$verb.c.out" <<'PY' || die "fio: $(cat "$WEFT_TMP/$verb.c.out")"
import json, sys
text = open(sys.argv[1]).read()
(job,) = json.loads(text[text.index("{"):])["jobs"]
assert job["error"] == 0, job["error"]
assert job["write"]["io_kbytes"] + job["read"]["io_kbytes"] == 8192, job
PY
	finish $verb.s
	say "fio: 8 MiB by RDMA ${verb^}s"
	port=$((port + 1))
	[ $verb = read ] || [ "$(value reads_executed)" = 0 ] || die 'fio reads in place of Writes'
done
[ "$(value reads_executed)" -ge 128 ] || die "fio read $(value reads_executed) times"

# A guest without a disk counts on a serial line; it is moved while it counts.
qemu=(qemu-system-x86_64 -accel tcg -M pc -m 32 -display none -nodefaults)
spawn there "${run[@]}" --device weft1 "${qemu[@]}" -qmp "unix:$home/there.qmp,server=on,wait=off" \
	-incoming rdma:10.77.0.2:18100
spawn here "${run[@]}" --device weft0 "${qemu[@]}" -qmp "unix:$home/here.qmp,server=on,wait=off"
cat >"$WEFT_TMP/migrate.py" <<'PY'
import json, socket, sys, time
class Qmp:
    def __init__(self, path):
        end = time.monotonic() + 30
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                assert time.monotonic() < end, "no QEMU at " + path
                time.sleep(0.2)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.call("qmp_capabilities")
    def call(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "event" not in answer:
                assert "return" in answer, answer
                return answer["return"]
here, there = Qmp(sys.argv[1] + "/here.qmp"), Qmp(sys.argv[1] + "/there.qmp")
time.sleep(2)
here.call("migrate", uri="rdma:10.77.0.2:18100")
end = time.monotonic() + float(sys.argv[2])
while True:
    state = here.call("query-migrate")
    if state.get("status") in ("completed", "failed"):
        break
    assert time.monotonic() < end, state
    time.sleep(0.2)
assert state["status"] == "completed", state
while not there.call("query-status")["running"]:
    assert time.monotonic() < end, "the guest does not go on"
    time.sleep(0.2)
print("migrated %.1f MiB in %d ms" % (state["ram"]["transferred"] / 2**20, state["total-time"]))
here.call("quit")
there.call("quit")
PY
python3 "$WEFT_TMP/migrate.py" "$home" 200 || die 'the migration'
expect_ok here there
weftd_stop weftd
