"""Two workers that Ray starts, each recorded into one folder that all of them can reach.

    python ray_train.py /shared/runs/ray-1      # then: unslow why /shared/runs/ray-1

Ray starts the processes, so they get what `unslow env` prints as variables of their own.
"""

import json
import os
import subprocess
import sys

import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.tensorflow import TensorflowTrainer


def train(config):
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones([64, 64]))

    @tf.function
    def step():
        def replica():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.ones([32, 64]) @ weights))
            gradient = tape.gradient(loss, weights)
            reduced = tf.distribute.get_replica_context().all_reduce("mean", gradient)
            weights.assign_sub(0.001 * reduced)
            return loss

        return strategy.run(replica)

    for _ in range(config["steps"]):
        step()


def main(folder, steps=60):
    printed = subprocess.run(
        [sys.executable, "-m", "unslow", "env", folder, "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    variables = json.loads(printed.stdout)["variables"]
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": variables})
    trainer = TensorflowTrainer(
        train,
        train_loop_config={"steps": steps},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(storage_path=os.path.abspath(folder + "-ray")),
    )
    trainer.fit()
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
