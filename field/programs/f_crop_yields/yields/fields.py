import numpy as np


def make_fields(n=8192, days=180, bands=6, seed=0):
    """Reflectance of each field over the season, and its yield in t/ha."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, days)
    peak, height = rng.uniform(0.4, 0.7, (n, 1, 1)), rng.uniform(0.4, 1.0, (n, 1, 1))
    season = height * np.exp(-((t[None, :, None] - peak) ** 2) / 0.03)
    bands_gain = rng.normal(1, 0.3, (1, 1, bands))
    x = season * bands_gain + rng.normal(0, 0.05, (n, days, bands))
    y = 8 * height[:, 0] * (1 - np.abs(peak[:, 0] - 0.55)) + rng.normal(0, 0.1, (n, 1))
    return x.astype(np.float32).reshape(n, -1), y.astype(np.float32)
