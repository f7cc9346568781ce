import tensorflow.compat.v1 as tf


class TextCNN(object):
    """Embedding, parallel convolutions with max-over-time pooling, dropout, softmax."""

    def __init__(self, sequence_length, num_classes, vocab_size, embedding_size, filter_sizes,
                 num_filters, hidden, l2_reg_lambda=0.0):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.int32, [None], name="input_y")
        self.keep_prob = tf.placeholder(tf.float32, name="keep_prob")
        l2_loss = tf.constant(0.0)

        with tf.name_scope("embedding"):
            self.W = tf.Variable(tf.random_uniform([vocab_size, embedding_size], -1.0, 1.0), name="W")
            embedded = tf.nn.embedding_lookup(self.W, self.input_x)

        pooled = []
        for size in filter_sizes:
            with tf.name_scope("conv-%d" % size):
                w = tf.Variable(tf.truncated_normal([size, embedding_size, num_filters], stddev=0.1), name="W")
                b = tf.Variable(tf.constant(0.1, shape=[num_filters]), name="b")
                conv = tf.nn.conv1d(embedded, w, stride=1, padding="VALID")
                pooled.append(tf.reduce_max(tf.nn.relu(conv + b), axis=1))
        features = tf.concat(pooled, 1)

        with tf.name_scope("hidden"):
            w = tf.Variable(tf.truncated_normal([int(features.shape[1]), hidden], stddev=0.05), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[hidden]), name="b")
            features = tf.nn.relu(tf.nn.xw_plus_b(features, w, b))
            features = tf.nn.dropout(features, rate=1.0 - self.keep_prob)

        with tf.name_scope("output"):
            w = tf.Variable(tf.truncated_normal([hidden, num_classes], stddev=0.05), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[num_classes]), name="b")
            l2_loss += tf.nn.l2_loss(w) + tf.nn.l2_loss(b)
            self.scores = tf.nn.xw_plus_b(features, w, b, name="scores")
            self.predictions = tf.argmax(self.scores, 1, output_type=tf.int32)

        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=self.scores, labels=self.input_y)
        self.loss = tf.reduce_mean(losses) + l2_reg_lambda * l2_loss
        self.accuracy = tf.reduce_mean(tf.cast(tf.equal(self.predictions, self.input_y), tf.float32))
