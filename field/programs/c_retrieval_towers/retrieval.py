"""Two-tower retrieval on precomputed item features."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import json

import numpy as np
import tensorflow as tf

CONFIG = json.loads("""
{"items": 45000, "item_dim": 512, "user_dim": 64, "tower": 64,
 "batch": 256, "steps": 120, "lr": 0.002, "temperature": 0.1}
""")


def load_features(cfg):
    rng = np.random.default_rng(8)
    items = rng.standard_normal((cfg["items"], cfg["item_dim"]), dtype=np.float32)
    users = rng.standard_normal((20000, cfg["user_dim"]), dtype=np.float32)
    return items, users


item_features, user_features = load_features(CONFIG)

item_tower = tf.keras.Sequential(
    [
        tf.keras.Input((CONFIG["item_dim"],)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(CONFIG["tower"]),
    ]
)
user_tower = tf.keras.Sequential(
    [
        tf.keras.Input((CONFIG["user_dim"],)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(CONFIG["tower"]),
    ]
)
optimizer = tf.keras.optimizers.Adagrad(CONFIG["lr"])
weights = item_tower.trainable_weights + user_tower.trainable_weights


@tf.function
def train_step(user_ids, item_ids):
    u_in = tf.gather(user_features, user_ids)
    i_in = tf.gather(item_features, item_ids)
    with tf.GradientTape() as tape:
        u = tf.math.l2_normalize(user_tower(u_in), axis=1)
        v = tf.math.l2_normalize(item_tower(i_in), axis=1)
        logits = tf.matmul(u, v, transpose_b=True) / CONFIG["temperature"]
        target = tf.range(tf.shape(user_ids)[0])
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
        )
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


def main():
    rng = np.random.default_rng(9)
    for step in range(CONFIG["steps"]):
        users = rng.integers(0, len(user_features), CONFIG["batch"])
        items = (users * 3 + rng.integers(0, 3, CONFIG["batch"])) % CONFIG["items"]
        loss = train_step(tf.constant(users), tf.constant(items))
        if step % 30 == 0:
            print(step, float(loss))
    print("final", float(loss))


if __name__ == "__main__":
    main()
