# env: PYTHONPATH=site
from training import train

print(train())
