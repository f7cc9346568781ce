import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

from shop import Visits, per_shopper_auc

tf.keras.utils.set_random_seed(6)
visits = Visits()
s, p, y = visits.draw(50_000)
ts, tp, ty = visits.draw(9_000)

who = layers.Input((), dtype="int32")
what = layers.Input((), dtype="int32")
a = layers.Embedding(visits.shoppers, 16)(who)
b = layers.Embedding(visits.products, 16)(what)
x = layers.Concatenate()([a, b, layers.Multiply()([a, b])])
x = layers.Dense(64, activation="relu")(x)
x = layers.Dense(1, activation="sigmoid")(x)
model = tf.keras.Model([who, what], x)
model.compile("adam", "binary_crossentropy")
model.fit([s, p], y, batch_size=500, epochs=5, verbose=2)

table = per_shopper_auc(model, ts, tp, ty)
values = np.array(list(table.values()))
print(f"{len(table)} shoppers, AUC mean {values.mean():.3f}, worst {values.min():.3f}")
worst = sorted(table, key=table.get)[:5]
print("look at", worst)
