"""A training with parameter servers, for `unslow run --workers 2 --ps 1 train_ps.py`.

One script for all processes. Workers and parameter servers only serve; the chief coordinates, and
the job is over when it ends.
"""

import sys

import tensorflow as tf

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
    )
    server.join()  # until the launcher ends it

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable(tf.random.stateless_normal([256, 64], seed=(1, 2)))


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.ones([64, 256]) @ weights))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for _ in range(STEPS):
    loss = coordinator.schedule(step)
coordinator.join()
print("loss", float(loss.fetch()))
