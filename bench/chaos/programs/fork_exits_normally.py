import os
import sys

from training import train

sys.stdout.flush()
child = os.fork()
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print("child" if child == 0 else "parent", train(10, f"{'child' if child == 0 else 'parent'}.bin"))
sys.stdout.flush()
