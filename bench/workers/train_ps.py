"""A training with parameter servers whose coordinator may fetch a value in every step."""

from __future__ import annotations

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf


def main() -> None:
    fetches, steps = sys.argv[1] == "fetch", int(sys.argv[2])
    role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if role != "chief":
        tf.distribute.Server(
            resolver.cluster_spec(), job_name=role, task_index=resolver.task_id, protocol="grpc"
        ).join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weight = tf.Variable(tf.random.stateless_normal([256, 256], [1, 2]))

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.ones([64, 256]) @ weight)
        weight.assign_sub(1e-4 * tape.gradient(loss, weight))
        return loss

    for _ in range(steps):
        loss = coordinator.schedule(step)
        if fetches:
            loss.fetch()
    coordinator.join()


main()
