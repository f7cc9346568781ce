import tensorflow as tf


class Ranker(tf.Module):
    """Two-layer ranking model behind a fixed serving signature."""

    def __init__(self, users, items, width):
        super().__init__()
        rng = tf.random.Generator.from_seed(99)
        self.users = tf.Variable(rng.normal([users, width], stddev=0.1))
        self.items = tf.Variable(rng.normal([items, width], stddev=0.1))
        self.hidden = [tf.Variable(rng.normal([2 * width, 2 * width], stddev=0.1)) for _ in range(6)]
        self.out = tf.Variable(rng.normal([2 * width, 1], stddev=0.1))

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, "user"), tf.TensorSpec([None], tf.int32, "items")])
    def rank(self, user, items):
        u = tf.repeat(tf.gather(self.users, [user]), tf.size(items), axis=0)
        x = tf.concat([u, tf.gather(self.items, items)], axis=1)
        for w in self.hidden:
            x = tf.nn.relu(tf.matmul(x, w)) + x
        score = tf.squeeze(tf.matmul(x, self.out), 1)
        order = tf.argsort(score, direction="DESCENDING")
        return {"items": tf.gather(items, order), "scores": tf.gather(score, order)}


def export(path, users=2000, items=5000, width=32):
    model = Ranker(users, items, width)
    tf.saved_model.save(model, path, signatures={"rank": model.rank})
    return path
