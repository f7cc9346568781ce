# needs: absl-py
# run: {python} abseil_flags.py --steps=12 --logtostderr rest
# exit: 7
import sys

from absl import app, flags

STEPS = flags.DEFINE_integer("steps", 3, "how many")


def main(argv):
    from training import train

    print(argv[1:], STEPS.value, train(STEPS.value))
    return 7


if __name__ == "__main__":
    app.run(main)
