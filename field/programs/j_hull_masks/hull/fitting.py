import keras

from .net import unet
from .scenes import scenes


class Progress(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: " + "  ".join(f"{k} {v:.4f}" for k, v in sorted(logs.items())))


def options(settings, held_out):
    x, _ = held_out
    return {
        "batch_size": settings["batch"],
        "epochs": settings["epochs"],
        "validation_data": held_out,
        "validation_batch_size": settings["held_out_batch"] or len(x),
        "callbacks": [Progress()],
        "verbose": 0,
    }


def run(settings):
    keras.utils.set_random_seed(settings["seed"])
    x, y = scenes(settings["train_images"], settings["size"], settings["seed"])
    held_out = scenes(settings["held_out"], settings["size"], settings["seed"] + 1)
    model = unet(settings["size"], settings["filters"])
    model.compile(keras.optimizers.Adam(settings["rate"]), "binary_crossentropy",
                  metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], name="iou")])
    print(f"{model.count_params()} weights, {len(x)} images")
    history = model.fit(x, y, **options(settings, held_out))
    return history.history
