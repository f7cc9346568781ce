import argparse
import json
import logging

import tensorflow as tf

from segtool import data, runtime
from segtool.unet import Segmenter, unet

if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("-c", "--config", default="configs/base.json")
    cfg = json.load(open(ap.parse_args().config))
    runtime.setup(cfg["runtime"])
    m, t = cfg["model"], cfg["train"]
    ds = data.dataset(cfg["data"], m["classes"])
    seg = Segmenter(unet(cfg["data"]["size"], m["filters"], m["classes"]), m["classes"], t["lr"], t["ema"])
    for epoch in range(t["epochs"]):
        mean = tf.keras.metrics.Mean()
        for x, y in ds:
            mean.update_state(seg.train_step(x, y))
        logging.getLogger("segtool").info("epoch %d  loss %.4f", epoch, mean.result())
