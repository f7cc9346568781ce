import tensorflow as tf


class StageTrainer:
    """One compiled step for every stage; the stage decides what is in the loss."""

    def __init__(self, model, classes, lr):
        self.model, self.classes = model, classes
        self.opt = tf.keras.optimizers.SGD(lr, momentum=0.9, nesterov=True)
        self.opt.build(model.trainable_variables)
        self.history = []

    @tf.function
    def step(self, x, y, stage: str, smoothing: float, l2: float):
        hot = tf.one_hot(y, self.classes) * (1.0 - smoothing) + smoothing / self.classes
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=hot, logits=logits))
            if l2:
                loss += l2 * tf.add_n([tf.nn.l2_loss(v) for v in self.model.trainable_variables])
        grads = tape.gradient(loss, self.model.trainable_variables)
        if stage == "warmup":
            grads, _ = tf.clip_by_global_norm(grads, 0.5)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    @tf.function
    def accuracy(self, x, y):
        pred = tf.argmax(self.model(x, training=False), axis=1, output_type=tf.int32)
        return tf.reduce_mean(tf.cast(pred == y, tf.float32))

    def run(self, plan, batches):
        for _ in range(plan.steps):
            x, y = next(batches)
            loss = self.step(x, y, plan.name, plan.smoothing, plan.l2)
            self.history.append(float(loss))
        return self.history[-1]
