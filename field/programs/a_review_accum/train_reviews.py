import os
import tempfile

import numpy as np
import tensorflow as tf

# ---- settings
vocab, length, micro, accum, updates = 12000, 48, 64, 4, 50
out_dir = os.environ.get("REVIEW_OUT") or tempfile.mkdtemp(prefix="reviews_")
tf.keras.utils.set_random_seed(99)

# ---- data: token ids with a few sentiment-bearing words
n = micro * accum * 10
tokens = np.random.randint(100, vocab, (n, length)).astype("int32")
labels = np.random.randint(0, 2, n).astype("float32")
for row, lab in enumerate(labels):
    tokens[row, np.random.randint(0, length, 6)] = np.random.randint(0, 50, 6) + int(lab) * 50

# ---- model
inp = tf.keras.Input((length,), dtype="int32")
emb = tf.keras.layers.Embedding(vocab, 96)(inp)
att = tf.keras.layers.Dense(1, activation="tanh")(emb)
att = tf.keras.layers.Softmax(axis=1)(att)
ctx = tf.keras.layers.Flatten()(tf.keras.layers.Dot(axes=1)([att, emb]))
h = tf.keras.layers.Dense(64, activation="relu")(ctx)
h = tf.keras.layers.Dense(64, activation="relu")(h)
model = tf.keras.Model(inp, [tf.keras.layers.Dense(1)(h), att, emb])
optimizer = tf.keras.optimizers.Adam(3e-3)
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
manager = tf.train.CheckpointManager(checkpoint, out_dir, max_to_keep=3)

# ---- training
accumulators = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
analysis = {"loss": [], "attention": [], "vectors": []}
pos = 0
for update in range(updates):
    for a in accumulators:
        a.assign(tf.zeros_like(a))
    total = 0.0
    for k in range(accum):
        bx, by = tokens[pos:pos + micro], labels[pos:pos + micro]
        pos = (pos + micro) % n
        with tf.GradientTape() as tape:
            logit, attention, vectors = model(bx, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
                labels=by, logits=tf.squeeze(logit, -1))) / accum
        grads = tape.gradient(loss, model.trainable_variables)
        for a, g in zip(accumulators, grads):
            a.assign_add(tf.convert_to_tensor(g))
        total += loss
        analysis["attention"].append(attention)
        analysis["vectors"].append(vectors)
    optimizer.apply_gradients(zip(accumulators, model.trainable_variables))
    analysis["loss"].append(float(total))
    manager.save()
    if update % 10 == 9:
        print("update %d  loss %.4f  %s" % (update + 1, analysis["loss"][-1],
                                          os.path.basename(manager.latest_checkpoint)))

peaks = [float(tf.reduce_max(a)) for a in analysis["attention"]]
print("attention peak: first %.3f last %.3f" % (peaks[0], peaks[-1]))
print("vector norm of the last batch %.3f" % float(tf.norm(analysis["vectors"][-1])))
