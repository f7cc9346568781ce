import numpy as np


def synthetic_people(people, shots, size, seed):
    """One random 'identity' picture per person plus a few noisy shots of it."""
    rng = np.random.default_rng(seed)
    for person in range(people):
        identity = rng.uniform(0, 1, (size, size, 3))
        for shot in range(shots):
            noise = rng.normal(0, 0.08, identity.shape)
            yield f"person_{person:02d}", np.clip(identity + noise, 0, 1).astype("float32")
