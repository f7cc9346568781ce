"""Independent trainings as plain Ray tasks, recorded into one folder: python ray_tasks.py FOLDER"""

import json
import subprocess
import sys

import ray


@ray.remote(num_cpus=1, max_calls=1)
def train(seed, steps):
    import tensorflow as tf

    weights = tf.Variable(tf.random.stateless_normal([64, 64], seed=(seed, 0)))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.ones([32, 64]) @ weights))
        weights.assign_sub(0.001 * tape.gradient(loss, weights))
        return loss

    for _ in range(steps):
        loss = step()
    return float(loss)


def main(folder, steps=60):
    printed = subprocess.run(
        [sys.executable, "-m", "unslow", "env", folder, "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    variables = json.loads(printed.stdout)["variables"]
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": variables})
    print(ray.get([train.remote(seed, steps) for seed in range(2)]))
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
