"""A training that any engine can start: TF_CONFIG says which part of the job a process is."""

import json
import os
import sys

import tensorflow as tf

BATCH, STEPS = 64, int(sys.argv[1]) if len(sys.argv) > 1 else 200

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.random.stateless_normal([256, 64], seed=(1, 2)))


def dataset(context):
    rows = tf.data.Dataset.from_tensors(tf.ones([256])).repeat()
    return rows.batch(context.get_per_replica_batch_size(BATCH)).prefetch(2)


@tf.function
def step(batch):
    def replica(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(rows @ weights))
        gradient = tape.gradient(loss, weights)
        reduced = tf.distribute.get_replica_context().all_reduce("mean", gradient)
        weights.assign_sub(0.01 * reduced)
        return loss

    return strategy.run(replica, args=(batch,))


batches = iter(strategy.distribute_datasets_from_function(dataset))
for _ in range(STEPS):
    loss = step(next(batches))
task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "worker", "index": 0})
print(task["type"], task["index"], "loss", float(strategy.experimental_local_results(loss)[0]))
