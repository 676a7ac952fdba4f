#!/usr/bin/env python3
"""Start-up and memory of whole processes, each beside its peers, interleaved in one run.

processes.py [ROUNDS]

Prints the median wall time, the peak resident memory and the ratio to rtl's own.  A peer that is
not on this machine is left out by name.
"""
import os
import shutil
import statistics
import sys
import tempfile
import time

RTL = os.path.abspath("build/rtl")
LAB = os.environ.get("RTL_LAB", os.path.expanduser("~/.cache/rtl-lab"))
PEERS = [
    ("rtl -e ''", [RTL, "-e", ""]),
    ("rtl help", [RTL, "help"]),
    ("lua5.4 -e ''", ["lua5.4", "-e", ""]),
    ("kubectl version --client", [LAB + "/bin/kubectl", "version", "--client"]),
    ("aws --version", [os.path.abspath("build/venv/bin/aws"), "--version"]),
]


def run(command, environment):
    """-> (wall seconds, peak resident KiB) of one run, its output thrown away."""
    silence = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, silence, fd) for fd in (0, 1, 2)]
    started = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    elapsed = time.perf_counter() - started
    os.close(silence)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        sys.exit(f"{' '.join(command)} ended with {code}")
    return elapsed, usage.ru_maxrss


def compare(rounds):
    present = [(name, command) for name, command in PEERS if shutil.which(command[0])]
    for name, _ in PEERS:
        if name not in [p[0] for p in present]:
            print(f"left out, not on this machine: {name}")
    figures = {name: [] for name, _ in present}
    for i in range(rounds + 1):
        for name, command in present:
            figure = run(command, os.environ)
            if i > 0:  # the first round warms the caches
                figures[name].append(figure)
    own = statistics.median(t for t, _ in figures["rtl -e ''"])
    print(f"{'command':28} {'median ms':>10} {'peak MB':>8} {'/ rtl':>7}")
    for name, list_ in figures.items():
        median = statistics.median(t for t, _ in list_)
        peak = max(m for _, m in list_) / 1024
        print(f"{name:28} {median * 1e3:10.2f} {peak:8.1f} {median / own:7.2f}")


def rehearsal(rounds):
    """The whole rehearsed deploy, each time in a world of its own."""
    figures = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as state:
            environment = dict(os.environ, RTL_STATE=state)
            figures.append(run([RTL, "--rehearse", "recipes/deploy.lua"], environment))
    print(f"{'rehearsed deploy':28} {statistics.median(t for t, _ in figures) * 1e3:10.1f} "
          f"{max(m for _, m in figures) / 1024:8.1f}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    compare(count)
    rehearsal(max(5, count // 3))
