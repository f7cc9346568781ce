# run: {python} -W error::UserWarning -W error::ResourceWarning -X dev warnings_are_errors.py
import sys

from training import train

print(train(), sys.flags.dev_mode)
