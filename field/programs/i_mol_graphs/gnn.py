"""Message passing over batches of small molecule-like graphs; every batch has its own number of atoms and bonds."""
import dataclasses

import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class Options:
    graphs: int = 2400
    per_batch: int = 48
    hidden: int = 96
    rounds: int = 4
    epochs: int = 4
    features: int = 16


def random_graph(rng, features):
    n = rng.integers(14, 40)
    kinds = rng.integers(0, features, n)
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n], 1)
    extra = rng.integers(0, n, (n // 2, 2))
    bonds = np.concatenate([ring, extra])
    bonds = np.concatenate([bonds, bonds[:, ::-1]])
    same = (kinds[bonds[:, 0]] == kinds[bonds[:, 1]]).sum()
    return np.eye(features, dtype=np.float32)[kinds], bonds.astype(np.int32), np.float32(same / 4 + n / 20)


def collate(graphs):
    atoms, bonds, owner, target, start = [], [], [], [], 0
    for i, (x, e, y) in enumerate(graphs):
        atoms.append(x)
        bonds.append(e + start)
        owner.append(np.full(len(x), i, np.int32))
        target.append(y)
        start += len(x)
    return np.concatenate(atoms), np.concatenate(bonds), np.concatenate(owner), np.array(target, np.float32)


class Propagate(tf.keras.layers.Layer):
    def __init__(self, hidden):
        super().__init__()
        self.message = tf.keras.layers.Dense(hidden, activation="relu")
        self.gate = tf.keras.layers.Dense(hidden, activation="sigmoid")
        self.update = tf.keras.layers.Dense(hidden, activation="tanh")

    def call(self, h, bonds):
        pair = tf.concat([tf.gather(h, bonds[:, 0]), tf.gather(h, bonds[:, 1])], 1)
        m = tf.math.unsorted_segment_sum(self.message(pair), bonds[:, 1], tf.shape(h)[0])
        both = tf.concat([h, m], 1)
        z = self.gate(both)
        return (1 - z) * h + z * self.update(both)


class Net(tf.keras.Model):
    def __init__(self, o):
        super().__init__()
        self.embed = tf.keras.layers.Dense(o.hidden)
        self.rounds = [Propagate(o.hidden) for _ in range(o.rounds)]
        self.readout = tf.keras.layers.Dense(1)

    def call(self, atoms, bonds, owner, count):
        h = self.embed(atoms)
        for layer in self.rounds:
            h = layer(h, bonds)
        return tf.math.segment_sum(self.readout(h), owner)[:count, 0]


def main(o=Options()):
    tf.keras.utils.set_random_seed(9)
    rng = np.random.default_rng(9)
    graphs = [random_graph(rng, o.features) for _ in range(o.graphs)]
    net, opt = Net(o), tf.keras.optimizers.Adam(1e-3)

    @tf.function(input_signature=[
        tf.TensorSpec([None, o.features], tf.float32), tf.TensorSpec([None, 2], tf.int32),
        tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.float32)])
    def step(atoms, bonds, owner, target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(atoms, bonds, owner, tf.shape(target)[0]) - target))
        grads = tape.gradient(loss, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        return loss

    for epoch in range(o.epochs):
        order = rng.permutation(o.graphs)
        losses, sizes = [], set()
        for i in range(0, o.graphs, o.per_batch):
            batch = collate([graphs[j] for j in order[i:i + o.per_batch]])
            sizes.add(batch[0].shape + batch[1].shape)
            losses.append(step(*batch).numpy())
        print("epoch %d  mse %.4f  %d different batch shapes" % (epoch + 1, np.mean(losses), len(sizes)))


if __name__ == "__main__":
    main()
