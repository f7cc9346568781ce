import tensorflow as tf


class Captioner(tf.Module):
    """Convolutional encoder and a GRU decoder with greedy decoding in one graph."""

    def __init__(self, vocab, width, max_len, bos=1, eos=2):
        super().__init__()
        self.max_len, self.bos, self.eos = max_len, bos, eos
        init = tf.keras.initializers.GlorotUniform(seed=4)
        self.convs = [tf.Variable(init([3, 3, a, b])) for a, b in ((3, 24), (24, 48), (48, 96))]
        self.project = tf.Variable(init([96, width]))
        self.embedding = tf.Variable(init([vocab, width]))
        self.gates = tf.Variable(init([2 * width, 2 * width]))
        self.cell = tf.Variable(init([2 * width, width]))
        self.out = tf.Variable(init([width, vocab]))

    def encode(self, images):
        x = images
        for k in self.convs:
            x = tf.nn.relu(tf.nn.conv2d(x, k, 2, "SAME"))
        return tf.tanh(tf.reduce_mean(x, [1, 2]) @ self.project)

    def step(self, token, state):
        x = tf.gather(self.embedding, token)
        r, z = tf.split(tf.sigmoid(tf.concat([x, state], 1) @ self.gates), 2, axis=1)
        proposal = tf.tanh(tf.concat([x, r * state], 1) @ self.cell)
        state = z * state + (1.0 - z) * proposal
        return state @ self.out, state

    @tf.function(input_signature=[tf.TensorSpec([None, 96, 96, 3])])
    def caption(self, images):
        state = self.encode(images)
        n = tf.shape(images)[0]
        token = tf.fill([n], self.bos)
        done = tf.zeros([n], tf.bool)
        tokens = tf.TensorArray(tf.int32, self.max_len)
        for t in tf.range(self.max_len):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(token, tf.TensorShape([None]))])
            logits, state = self.step(token, state)
            token = tf.where(done, self.eos, tf.argmax(logits, axis=1, output_type=tf.int32))
            done = done | (token == self.eos)
            tokens = tokens.write(t, token)
        return tf.transpose(tokens.stack())
