import numpy as np


def load_series(n_hours, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(n_hours, dtype="float32")
    load = (
        2.0
        + np.sin(2 * np.pi * t / 24)
        + 0.5 * np.sin(2 * np.pi * t / 168)
        + 0.1 * rng.normal(size=n_hours)
    )
    temp = 12 + 8 * np.sin(2 * np.pi * t / 8760) + rng.normal(size=n_hours)
    return np.stack([load, temp / 20.0], axis=1).astype("float32")


def windows(series, history, horizon):
    view = np.lib.stride_tricks.sliding_window_view(series, history + horizon, axis=0)
    view = view.transpose(0, 2, 1)
    return np.ascontiguousarray(view[:, :history]), np.ascontiguousarray(view[:, history:, 0])
