"""Policy gradient with 256 simulated drones in parallel; keeps the statistics of every iteration."""
import numpy as np
import tensorflow as tf

DRONES, HORIZON, ITERS = 256, 40, 40
rng = np.random.default_rng(0)
tf.random.set_seed(0)


class Drones:
    def reset(self):
        self.pos = rng.normal(0, 1, (DRONES, 2)).astype(np.float32)
        self.vel = np.zeros((DRONES, 2), np.float32)
        return np.concatenate([self.pos, self.vel], 1)

    def step(self, a):
        push = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], np.float32)[a]
        self.vel = 0.9 * self.vel + 0.1 * push
        self.pos = self.pos + self.vel
        return np.concatenate([self.pos, self.vel], 1), -np.linalg.norm(self.pos, axis=1)


policy = tf.keras.Sequential([tf.keras.Input((4,)),
                              tf.keras.layers.Dense(128, activation="tanh"),
                              tf.keras.layers.Dense(128, activation="tanh"),
                              tf.keras.layers.Dense(5)])
opt = tf.keras.optimizers.Adam(3e-3)


@tf.function
def act(obs):
    return tf.random.categorical(policy(obs), 1)[:, 0]


@tf.function
def improve(obs, actions, adv):
    with tf.GradientTape() as tape:
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=policy(obs))
        loss = tf.reduce_mean(nll * adv)
    opt.apply_gradients(zip(tape.gradient(loss, policy.trainable_variables), policy.trainable_variables))
    return loss


env = Drones()
stats = []
for it in range(ITERS):
    obs, O, A, R = env.reset(), [], [], []
    for t in range(HORIZON):
        a = act(obs).numpy()
        O.append(obs)
        A.append(a)
        obs, r = env.step(a)
        R.append(r)
    returns = np.cumsum(np.array(R)[::-1], axis=0)[::-1]
    adv = (returns - returns.mean(1, keepdims=True)) / (returns.std(1, keepdims=True) + 1e-6)
    loss = improve(np.concatenate(O), np.concatenate(A), adv.reshape(-1).astype(np.float32))
    stats.append({"iteration": it, "loss": float(loss), "return": float(returns[0].mean())})
    if it % 10 == 0:
        print(stats[-1])
print("best return", max(s["return"] for s in stats))
