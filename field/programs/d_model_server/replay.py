"""Replays a log of ranking requests against the handler (what the HTTP front end does in production)."""
import argparse
import json
import os
import tempfile

import numpy as np

from service.export import export
from service.handler import RankHandler


def request_log(n, rng):
    for _ in range(n):
        yield json.dumps({"user": int(rng.integers(2000)), "candidates": rng.integers(0, 5000, 200).tolist()})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=70)
    ap.add_argument("--model-dir")
    args = ap.parse_args()
    model_dir = args.model_dir or export(os.path.join(tempfile.mkdtemp(prefix="ranker_"), "1"))
    handler = RankHandler(model_dir)
    last = None
    for body in request_log(args.requests, np.random.default_rng(1)):
        last = handler.handle(body)
    print("served", handler.served, "last answer", last)


if __name__ == "__main__":
    main()
