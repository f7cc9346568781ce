import numpy as np


def admissions(wards, features, seed=0):
    rng = np.random.default_rng(seed)
    for ward in range(wards):
        patients = 24 + 8 * (ward % 3)
        shift = rng.normal(0, 0.4, features)
        yield "ward-%02d" % ward, rng.normal(shift, 1.0, (patients, features)).astype(np.float32)
