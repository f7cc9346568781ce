# run: {python} -X utf8 own_command_line.py --name 'a b' '' '*' ü
import os
import sys
from pathlib import Path

from training import train

print(Path("/proc/self/cmdline").read_bytes().split(b"\0")[1:])
print(Path("/proc/self/comm").read_text(), os.path.basename(os.readlink("/proc/self/exe")))
print(sys.argv, sys.orig_argv[1:], sys.flags, sys._xoptions, sys.warnoptions)
print(sys.path[0] == os.getcwd(), sys.path[1:3], __file__, __name__, __spec__, __builtins__)
print(os.getpgrp() == os.getppid(), sorted(name for name in os.environ if name.startswith("TF")))
print(train(60))
print(sorted(set(globals())), sys.excepthook is sys.__excepthook__, sys.stdin.name)
