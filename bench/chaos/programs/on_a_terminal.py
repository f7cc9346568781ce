# run: script -qec '{python} on_a_terminal.py' /dev/null
# mask: \d+(ms|s|us)(/step)?|ETA: \S+
# input: yes\n
import os
import sys

from training import keras_data, keras_model, train

print(sys.stdout.isatty(), os.get_terminal_size() is not None, train())
x, y = keras_data()
keras_model().fit(x, y, epochs=1, batch_size=64, verbose=2, shuffle=False)
input("\033[1mgo on?\033[0m ")
