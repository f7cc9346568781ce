import subprocess
import sys

child = "from training import train; print(train(10, 'child.bin', 3)); raise SystemExit(4)"
done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
print(done.returncode, done.stdout, done.stderr)
piped = subprocess.run([sys.executable, "-"], input="print(1 + 1)", capture_output=True, text=True)
print(piped.stdout, subprocess.check_output(["sh", "-c", "echo from a shell"]))
clean = subprocess.run([sys.executable, "-c", child], env={}, capture_output=True, check=False)
print(clean.returncode, clean.stdout)
from training import train

print(train())
