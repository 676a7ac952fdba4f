#!/usr/bin/env python3
"""Start-up and memory of whole processes, each beside its peers, interleaved in one run.

processes.py [ROUNDS]

Prints the median wall time, the peak resident memory and the ratio to rtl's own.  A peer that is
not on this machine is left out by name.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RTL = os.path.abspath("build/rtl")
LAB = os.environ.get("RTL_LAB", os.path.expanduser("~/.cache/rtl-lab"))
# The memory of what ends too soon to be looked at is that of the same program saying it itself.
SAY = "for l in io.lines('/proc/self/status') do if l:match('^VmHWM') then print(l) end end"
PEERS = [
    ("rtl -e ''", [RTL, "-e", ""], [RTL, "-e", SAY]),
    ("rtl help", [RTL, "help"], None),
    ("lua5.4 -e ''", ["lua5.4", "-e", ""], ["lua5.4", "-e", SAY]),
    ("kubectl version --client", [LAB + "/bin/kubectl", "version", "--client"], None),
    ("aws --version", [os.path.abspath("build/venv/bin/aws"), "--version"], None),
]


def spawn(command, environment):
    silence = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, silence, fd) for fd in (0, 1, 2)]
    pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
    os.close(silence)
    return pid


def check(command, status):
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        sys.exit(f"{' '.join(command)} ended with {code}")


def wall(command, environment):
    """-> wall seconds of one run, its output thrown away."""
    started = time.perf_counter()
    _, status = os.waitpid(spawn(command, environment), 0)
    elapsed = time.perf_counter() - started
    check(command, status)
    return elapsed


def peak(command, environment):
    """-> peak resident KiB of one run.

    Read from /proc until the process ends: its resource usage would count the memory of this
    program, which it shares until it has started.
    """
    pid, highest = spawn(command, environment), 0
    program = os.path.basename(command[0])[:15]
    while True:
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                fields = dict(line.split(":", 1) for line in f)
            if fields["Name"].strip() == program or highest:
                highest = max(highest, int(fields.get("VmHWM", "0 kB").split()[0]))
        except (OSError, KeyError):
            pass
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            check(command, status)
            return highest


def said(command):
    return int(subprocess.run(command, check=True, capture_output=True).stdout.split()[1])


def compare(rounds):
    present = [peer for peer in PEERS if shutil.which(peer[1][0])]
    for name, _, _ in PEERS:
        if name not in [p[0] for p in present]:
            print(f"left out, not on this machine: {name}")
    figures = {name: [] for name, _, _ in present}
    for i in range(rounds + 1):
        for name, command, _ in present:
            elapsed = wall(command, os.environ)
            if i > 0:  # the first round warms the caches
                figures[name].append(elapsed)
    own = statistics.median(figures["rtl -e ''"])
    print(f"{'command':28} {'median ms':>10} {'/ rtl':>7} {'peak MB':>8}")
    for name, command, saying in present:
        median = statistics.median(figures[name])
        memory = (said(saying) if saying else peak(command, os.environ)) / 1024
        print(f"{name:28} {median * 1e3:10.2f} {median / own:7.2f} {memory:8.1f}")


def rehearsal(rounds):
    """The whole rehearsed deploy, each time in a world of its own."""
    command = [RTL, "--rehearse", "recipes/deploy.lua"]
    times, memory = [], 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as state:
            times.append(wall(command, dict(os.environ, RTL_STATE=state)))
    with tempfile.TemporaryDirectory() as state:
        memory = peak(command, dict(os.environ, RTL_STATE=state)) / 1024
    print(f"{'rehearsed deploy':28} {statistics.median(times) * 1e3:10.1f} {'':7} {memory:8.1f}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    compare(count)
    rehearsal(max(5, count // 3))
