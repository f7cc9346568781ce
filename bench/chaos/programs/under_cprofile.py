# run: sh -c '{python} -m cProfile -o prof under_cprofile.py one && {python} -c "import pstats; print(len(pstats.Stats(\"prof\").stats) > 100)"'
# ignore: prof
import cProfile
import pstats
import sys

from training import Training

print(sys.argv, sys.getprofile() is not None)
training = Training()
training.train(50)
training.keep()
