"""Runs a program on a pseudo terminal: python3 test/terminal.py PROGRAM WORD…

Standard input is typed into the terminal, what the terminal shows goes to standard output; ends
with the program's own exit status (128 + number when a signal ended it)."""
import os
import pty
import select
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])

sources = [terminal, 0]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 4096)
        except OSError:  # the program has ended
            data = b""
        if not data:
            sources.remove(source)
        else:
            os.write(1 if source == terminal else terminal, data)

status = os.waitpid(pid, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
