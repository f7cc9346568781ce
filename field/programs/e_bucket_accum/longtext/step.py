import keras
import tensorflow as tf

MICRO = 2


class AccumulatingStep(tf.Module):
    """One optimizer update from MICRO micro-batches."""

    def __init__(self, model, rate=1e-3):
        super().__init__()
        self.model = model
        self.opt = keras.optimizers.Adam(rate)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(input_signature=[tf.TensorSpec([MICRO, None, None], tf.int32),
                                  tf.TensorSpec([MICRO, None, None], tf.int32)])
    def __call__(self, ids, tags):
        variables = self.model.trainable_variables
        total, sums = 0.0, [tf.zeros_like(v) for v in variables]
        for m in range(MICRO):
            with tf.GradientTape() as tape:
                loss = self.loss(tags[m], self.model(ids[m], training=True))
            grads = tape.gradient(loss, variables)
            sums = [s + tf.convert_to_tensor(g) for s, g in zip(sums, grads)]
            total += loss
        self.opt.apply_gradients([(s / MICRO, v) for s, v in zip(sums, variables)])
        return total / MICRO
