DEFAULTS = {
    "size": 80,
    "train_images": 192,
    "held_out": 288,
    "filters": 12,
    "batch": 16,
    "held_out_batch": None,
    "epochs": 3,
    "rate": 2e-3,
    "seed": 19,
}


def merge(overrides):
    unknown = set(overrides) - set(DEFAULTS)
    if unknown:
        raise KeyError(f"unknown settings: {sorted(unknown)}")
    return {**DEFAULTS, **overrides}
