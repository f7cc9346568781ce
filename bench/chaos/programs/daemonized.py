import os
import sys
import time
from pathlib import Path

# The parent waits only for a file: the child is in a session of its own and closed everything.
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 256)
    os.open(os.devnull, os.O_RDWR)
    os.dup2(0, 1)
    os.dup2(0, 2)
    os.umask(0o027)
    from training import train

    train(20, "daemon.part")
    print("into nothing")
    Path("daemon.part").rename("daemon.bin")
    sys.exit(0)
os.waitpid(child, 0)
while not Path("daemon.bin").exists():
    time.sleep(0.05)
print(oct(Path("daemon.bin").stat().st_mode))
