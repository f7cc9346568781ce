import os
import sys

child = os.fork()
if child:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
from training import train

name = "parent" if child else "child"
print(name, train(10, f"{name}.bin"))
if child:
    print(code)
sys.stdout.flush()
sys.exit(0 if child else 3)
