import tempfile
from collections import Counter

import numpy as np

from ensemble.members import CLASSES, FEATURES, write_members
from ensemble.vote import VotingEnsemble

ROWS = 240
CHUNK = 16


def read_chunks():
    rng = np.random.default_rng(31)
    for start in range(0, ROWS, CHUNK):
        yield start, rng.normal(size=(CHUNK, FEATURES)).astype("float32")


def main():
    paths = write_members(tempfile.mkdtemp(prefix="members_"), ["wide", "deep", "conv"])
    ensemble = VotingEnsemble(paths, weights=[1.0, 2.0, 1.0])
    votes = Counter()
    for start, rows in read_chunks():
        votes.update(ensemble.predict(rows).tolist())
    print({c: votes[c] for c in range(CLASSES)})


if __name__ == "__main__":
    main()
