SETTINGS = {
    "data": {"count": 3000, "side": 32, "batch": 96, "seed": 8},
    "augment": {"crop": 24, "jitter": 0.4, "noise": 0.05, "flip": 0.5},
    "encoder": {"filters": (24, 32, 48), "dim": 64},
    "moco": {"queue": 1024, "momentum": 0.99, "temperature": 0.1},
    "train": {"steps": 180, "lr": 1e-3, "report": 30},
}
