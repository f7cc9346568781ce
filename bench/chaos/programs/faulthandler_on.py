import faulthandler
import sys
import tempfile

from training import train

faulthandler.enable()
with tempfile.TemporaryFile("w+") as file:
    faulthandler.dump_traceback(file=file, all_threads=False)
    file.seek(0)
    print(file.read().count("File "))
faulthandler.dump_traceback_later(300)
print(train())
faulthandler.cancel_dump_traceback_later()
print(faulthandler.is_enabled(), file=sys.stderr)
