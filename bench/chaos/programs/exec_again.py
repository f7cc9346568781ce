import os
import sys

from training import train

if "again" not in sys.argv:
    print("first", train(10, "first.bin"))
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
print("second", train(20, "second.bin"), sys.argv[1:])
sys.exit(6)
