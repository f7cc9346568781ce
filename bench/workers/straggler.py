"""Two workers, one of which keeps a log of statistics in Python in every step."""

import json
import os
import socket
import subprocess
import sys


def start_workers(count):
    """Starts this very script once for each worker, as a cluster's scheduler would."""
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    workers = []
    for index in range(count):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
        workers.append(subprocess.Popen([sys.executable, __file__], env=environment))
    return max(abs(worker.wait()) for worker in workers)


if "TF_CONFIG" not in os.environ:
    sys.exit(start_workers(2))

import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = [tf.Variable(tf.random.stateless_normal([256, 256], [1, n])) for n in range(2)]


def replica(batch):
    with tf.GradientTape() as tape:
        hidden = batch
        for weight in weights:
            hidden = tf.nn.tanh(hidden @ weight)
        loss = tf.reduce_mean(hidden**2)
    gradients = tape.gradient(loss, weights)
    reduced = tf.distribute.get_replica_context().all_reduce("mean", gradients)
    for weight, gradient in zip(weights, reduced, strict=True):
        weight.assign_sub(0.001 * gradient)
    return loss


@tf.function
def train(batch):
    return strategy.run(replica, args=(batch,))


def statistics(step):
    return sum(hash((step, n)) % 7 for n in range(150_000))  # <-- straggler


data = iter(
    strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensors(tf.ones([64, 256])).repeat()
    )
)
history = []
for step in range(200):
    loss = train(next(data))
    if index == 1:
        history.append(statistics(step))
