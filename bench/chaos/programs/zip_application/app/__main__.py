import sys

sys.path.append(".")
from training import train

print(train(), sys.argv[1:], __file__.endswith("app.pyz/__main__.py"))
raise ValueError("from within a zip")
