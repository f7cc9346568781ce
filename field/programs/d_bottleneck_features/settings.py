SETTINGS = {
    "image_size": 64,
    "classes": 7,
    "photos": 224,
    "alpha": 0.25,
    "blocks": 6,
    "head": {"units": 64, "dropout": 0.3, "lr": 2e-3, "epochs": 6, "batch": 32},
    "seed": 77,
}
