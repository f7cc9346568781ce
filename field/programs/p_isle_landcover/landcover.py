# %% [markdown]
# # Land cover of small islands from 6-band tiles
# tf_keras notebook, exported with jupytext.

# %%
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tf_keras as keras
from tf_keras import layers
from tf_keras.utils import to_categorical

N_TILES, SIZE, BANDS, N_CLASSES = 560, 96, 6, 14
keras.utils.set_random_seed(21)

# %%
# tiles: smooth class maps (nearest of a few random seeds), one spectrum per class
rng = np.random.default_rng(21)
spectra = rng.uniform(0, 1, (N_CLASSES, BANDS)).astype("float32")
yy, xx = np.mgrid[:SIZE, :SIZE]


def make_tile():
    k = 9
    cy, cx = rng.integers(0, SIZE, k), rng.integers(0, SIZE, k)
    cls = rng.integers(0, N_CLASSES, k)
    nearest = ((yy[..., None] - cy) ** 2 + (xx[..., None] - cx) ** 2).argmin(-1)
    return cls[nearest].astype("uint8")


masks = np.stack([make_tile() for _ in range(N_TILES)])
images = spectra[masks] + rng.standard_normal((N_TILES, SIZE, SIZE, BANDS), dtype="float32") * 0.15
print("images", images.shape, images.dtype, " masks", masks.shape, masks.dtype)

# %%
labels = to_categorical(masks, num_classes=N_CLASSES)
split = int(N_TILES * 0.85)
x_train, x_val = images[:split], images[split:]
y_train, y_val = labels[:split], labels[split:]
print("labels", labels.shape)

# %%
def conv(x, f):
    x = layers.SeparableConv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(x)


inp = layers.Input((SIZE, SIZE, BANDS))
a = conv(inp, 12)
b = conv(layers.MaxPooling2D()(a), 20)
c = conv(layers.MaxPooling2D()(b), 28)
u = conv(layers.concatenate([layers.UpSampling2D()(c), b]), 20)
u = conv(layers.concatenate([layers.UpSampling2D()(u), a]), 12)
out = layers.Conv2D(N_CLASSES, 1, activation="softmax")(u)
model = keras.Model(inp, out)
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])

# %%
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=14, epochs=2, verbose=2)

# %%
pred = model.predict(x_val, batch_size=28, verbose=0).argmax(-1)
truth = y_val.argmax(-1)
inter = [np.sum((pred == k) & (truth == k)) for k in range(N_CLASSES)]
union = [np.sum((pred == k) | (truth == k)) for k in range(N_CLASSES)]
print("mean IoU %.3f" % np.mean(np.array(inter) / np.maximum(union, 1)))
