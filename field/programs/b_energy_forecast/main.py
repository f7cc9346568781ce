import json
import sys

from tensorflow import keras

from forecast import data, model, monitor


def main(path):
    with open(path) as f:
        cfg = json.load(f)
    keras.utils.set_random_seed(cfg["seed"])
    x, y = data.windows(data.load_series(cfg["hours"], cfg["seed"]), cfg["history"], cfg["horizon"])
    split = 30 * cfg["batch"]
    net = model.build(cfg)
    net.fit(
        x[:split],
        y[:split],
        validation_data=(x[split:], y[split:]),
        batch_size=cfg["batch"],
        epochs=cfg["epochs"],
        callbacks=[monitor.WeightMonitor(cfg["log_dir"])],
        verbose=2,
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.json")
