# skip-gram with sampled softmax, adapted from the old word2vec_basic tutorial
import math
import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

vocabulary_size = 3600
embedding_size = 96
batch_size = 512
num_sampled = 64
num_steps = 200
start_lr, end_lr = 1.0, 0.05
report_every = 50

random.seed(3)
np.random.seed(3)


def synthetic_corpus(n):
    topics = np.random.randint(0, 30, n // 20)
    ids = np.repeat(topics, 20) * 100 + np.random.zipf(1.6, n // 20 * 20) % 100
    return ids.astype(np.int32)


data = synthetic_corpus(200000)


def generate_batch(size):
    centre = np.random.randint(2, len(data) - 2, size)
    offs = np.random.choice([-2, -1, 1, 2], size)
    return data[centre], data[centre + offs].reshape(-1, 1)


graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
    learning_rate = tf.Variable(start_lr, trainable=False, name="lr", use_resource=True)

    embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
    embed = tf.nn.embedding_lookup(embeddings, train_inputs)
    nce_weights = tf.Variable(
        tf.truncated_normal(
            [vocabulary_size, embedding_size], stddev=1.0 / math.sqrt(embedding_size)
        )
    )
    nce_biases = tf.Variable(tf.zeros([vocabulary_size]))

    loss = tf.reduce_mean(
        tf.nn.sampled_softmax_loss(
            weights=nce_weights,
            biases=nce_biases,
            labels=train_labels,
            inputs=embed,
            num_sampled=num_sampled,
            num_classes=vocabulary_size,
        )
    )
    optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(loss)

    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    normalized_embeddings = embeddings / norm
    similarity = tf.matmul(normalized_embeddings, normalized_embeddings, transpose_b=True)
    init = tf.global_variables_initializer()

probe_words = [5, 105, 1202, 2010]

with tf.Session(graph=graph) as session:
    session.run(init)
    average_loss = 0
    for step in range(num_steps):
        lr = start_lr + (end_lr - start_lr) * step / num_steps
        session.run(tf.assign(learning_rate, lr))

        batch_inputs, batch_labels = generate_batch(batch_size)
        feed_dict = {train_inputs: batch_inputs, train_labels: batch_labels}
        _, loss_val, sim = session.run([optimizer, loss, similarity], feed_dict=feed_dict)
        average_loss += loss_val

        if step % report_every == report_every - 1:
            print(
                "Average loss at step", step, ":", average_loss / report_every, "lr", round(lr, 3)
            )
            average_loss = 0
            for w in probe_words:
                nearest = (-sim[w]).argsort()[1:6]
                print("   nearest to %d: %s" % (w, ", ".join(str(k) for k in nearest)))
    final_embeddings = session.run(normalized_embeddings)
    print("final", final_embeddings.shape, float(np.abs(final_embeddings).mean()))
