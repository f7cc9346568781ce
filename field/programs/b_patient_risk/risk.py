# coding: utf-8

# In[1]:
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

# In[2]:
rng = np.random.default_rng(31)
hospitals = [f"H{k:02d}" for k in range(18)]
frames = {}
for h in hospitals:
    n = int(rng.integers(80, 120))
    labs = rng.normal(size=(n, 20)).astype("float32")
    risk = (labs[:, :5].sum(1) + rng.normal(size=n) > 0).astype("float32")
    frames[h] = (labs, risk)

# In[3]:
train_x = np.concatenate([frames[h][0] for h in hospitals[6:]])[:640]
train_y = np.concatenate([frames[h][1] for h in hospitals[6:]])[:640]
train_x.shape, train_y.mean()

# In[4]:
model = models.Sequential([
    layers.Input((20,)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy", "AUC"], run_eagerly=True)
model.summary()

# In[5]:
table = []


class PerHospital(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        row = {}
        for h in hospitals[:6]:
            x, y = frames[h]
            scores = [model.predict(x[i : i + 32], verbose=0)[:, 0] for i in range(0, len(x), 32)]
            row[h] = float(np.mean((np.concatenate(scores) > 0.5) == y))
        table.append(row)
        print(epoch, {k: round(v, 2) for k, v in row.items()})


# In[6]:
history = model.fit(train_x, train_y, epochs=3, batch_size=16, callbacks=[PerHospital()], verbose=0)

# In[7]:
print("mean over hospitals", np.mean([list(r.values()) for r in table], axis=0).round(3))
