#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The systemd unit: its score of `systemd-analyze security` (0 is closed, 10 open), and no line that
# systemd does not understand. The sysusers file creates the user that the unit names.

. tests/int/lib.sh
need systemd-analyze

readonly MOST=29 # tenths, as docs/security.md says

sed -e "s,@SBINDIR@,$WEFT_BIN,; s,@[A-Z]*@,$WEFT_TMP,g" dist/weftd.service.in >"$WEFT_TMP/weftd.service"
tool 0 systemd-analyze security --offline=true --no-pager "$WEFT_TMP/weftd.service"
# "→ Overall exposure level for weftd.service: 2.8 OK"
score=$(sed -n 's/.*exposure level for .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p' "$out")
[ -n "$score" ] || die "systemd-analyze says: $(tail -n 1 "$out")"
[ "$((10#$score))" -le $MOST ] || die "$(tail -n 1 "$out")"
say "$(tail -n 1 "$out")"

# systemd ignores an unknown word with a message.
systemd-analyze verify --man=no "$WEFT_TMP/weftd.service" >"$out" 2>&1
if grep -E 'weftd\.service:[0-9]+:' "$out"; then
	die 'systemd does not understand a line of the unit'
fi
user=$(sed -n 's/^User=//p' dist/weftd.service.in)
grep -qE "^u $user " dist/weft.sysusers || die "user $user of the unit is not made"
# has LINE WHY: a line of the unit, by a regular expression for the whole of it
has()
{
	grep -qxE -- "$1" dist/weftd.service.in || die "$2: no $1"
}
has 'WatchdogSec=[0-9]+' 'a core that hangs is not noticed'
has 'Restart=on-failure' 'it does not come back'
has 'ExecReload=.*kill -HUP .*' 'no reload of the configuration'
has 'ExecReload=.*weftctl upgrade' 'no upgrade'
has 'OOMScoreAdjust=-[0-9]+' 'it is ended as early as a process when memory is short'
has 'LimitMEMLOCK=infinity' 'memory of processes is not locked'
has 'MemorySwapMax=0' 'its own memory is swapped out'
has 'ProtectSystem=strict' 'files are open to it'
has 'NoNewPrivileges=yes' 'it may gain rights'
has 'SystemCallFilter=@system-service .*' 'all system calls are open to it'
has 'SystemCallFilter=~.*@mount .*' 'it may mount'

# The unit's rights are what weftd needs, and not more.
bound=$(sed -n 's/^CapabilityBoundingSet=//p' dist/weftd.service.in)
ambient=$(sed -n 's/^AmbientCapabilities=//p' dist/weftd.service.in)
[ "$bound" = "$ambient" ] || die 'ambient capabilities and bounding set differ'
case $bound in *SYS_ADMIN* | *SYS_PTRACE* | *DAC_OVERRIDE*) die "the unit's capabilities are root: $bound" ;; esac

# weftd notifies the watchdog, and only while it runs.
python3 - "$WEFT_BIN/weftd" <<'PY' || die 'the watchdog is not fed'
import os, signal, socket, subprocess, sys, time

manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = "\0weft-unit-%d" % os.getpid()
manager.bind(name)
manager.settimeout(60)
weftd = subprocess.Popen([sys.argv[1], "--nics", "2"], env=dict(
    os.environ, NOTIFY_SOCKET="@" + name[1:], WATCHDOG_USEC="600000"),
    stdout=subprocess.DEVNULL)
try:
    heard = []
    while heard.count(b"WATCHDOG=1") < 5:
        heard.append(manager.recv(256))
    assert heard[0] == b"READY=1", heard
    # A stopped weftd sends nothing. Notifications sent before are read first.
    os.kill(weftd.pid, signal.SIGSTOP)
    while "\nState:\tT" not in open("/proc/%d/status" % weftd.pid).read():
        time.sleep(0.01)
    manager.settimeout(0)
    try:
        while True:
            manager.recv(256)
    except BlockingIOError:
        pass
    manager.settimeout(1.0)
    try:
        raise SystemExit("it says %s" % manager.recv(256))
    except socket.timeout:
        pass
    os.kill(weftd.pid, signal.SIGCONT)
    manager.settimeout(60)
    while manager.recv(256) != b"WATCHDOG=1":
        pass
    os.kill(weftd.pid, signal.SIGTERM)
    heard = [manager.recv(256)]
    while heard[-1] != b"STOPPING=1":
        heard.append(manager.recv(256))
    assert weftd.wait(60) == 0
finally:
    if weftd.poll() is None:
        weftd.kill()
PY
