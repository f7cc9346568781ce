# run: {python} -S without_site.py
import sys

print("site" in sys.modules, "sitecustomize" in sys.modules)
sys.exit(8)
