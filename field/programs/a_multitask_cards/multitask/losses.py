import tensorflow as tf


def fraud_loss(logit, y, smoothing):
    y = y * (1.0 - smoothing) + 0.5 * smoothing
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logit))


def amount_loss(pred, y):
    return tf.reduce_mean(tf.abs(pred - y))


def rank_loss(score, relevance, margin):
    """Every row against all others of the batch: a more relevant row should score higher by the margin."""
    def one_row(args):
        s, r = args
        better = tf.cast(r > relevance, tf.float32)
        hinge = tf.nn.relu(margin - (s - score)) * better
        return tf.reduce_sum(hinge) / (tf.reduce_sum(better) + 1e-6)

    rows = tf.map_fn(one_row, (score, relevance), fn_output_signature=tf.float32)
    return tf.reduce_mean(rows)
