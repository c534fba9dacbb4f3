"""What psql completes: for each beginning of a line (one a line of standard input) Tab is pressed twice in a psql on a pseudo-terminal.

Arguments: host, port, an inputrc. Prints what the terminal shows for each.
"""

import os
import pty
import select
import sys
import time

host, port, inputrc = sys.argv[1:4]
beginnings = [line.rstrip("\n") for line in sys.stdin]
environment = dict(os.environ, PSQL_HISTORY="/dev/null", TERM="dumb", PAGER="", INPUTRC=inputrc, LANG="C.UTF-8")
command = ["psql", "-X", "-h", host, "-p", port, "-U", "postgres", "-d", "postgres"]
process, terminal = pty.fork()
if process == 0:
    os.execvpe(command[0], command, environment)


def read_until(what):
    """What is shown up to `what`; the time limit ends in a failure."""
    shown = b""
    end = time.monotonic() + 60
    while not shown.endswith(what):
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        if not ready:
            sys.exit(f"waited for {what!r}, and found {shown!r}")
        shown += os.read(terminal, 65536)
    return shown.decode(errors="replace")


read_until(b"postgres=# ")
for beginning in beginnings:
    # Then the line is taken back, and something said that tells the end.
    os.write(terminal, beginning.encode() + b"\t\t\x15\\echo don''e\n")
    print(repr(beginning), read_until(b"\r\ndone\r\npostgres=# ").replace("\r", ""), sep="\n")
os.write(terminal, b"\\q\n")
