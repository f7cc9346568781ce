# run: {python} -q -i
# env: PYTHONSTARTUP=interactive_startup.py
# input: print(kept, len(sys.argv))\nloss = training.train(30)\nprint(loss)\n1 / 0\nfor _ in range(2):\n    print(training.train(5))\n\ntraining.keep()\n
import sys

from training import Training

kept = "from the start-up file"
training = Training()
