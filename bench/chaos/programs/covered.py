# needs: coverage
# run: sh -c '{python} -m coverage run --include=covered.py,training.py covered.py && {python} -m coverage report -m'
# ignore: .coverage
from training import train


def used():
    return train(10)


def unused():
    return 3


if used() > 1e9:
    print("never")
print("done")
