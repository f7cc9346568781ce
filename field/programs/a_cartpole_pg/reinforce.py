"""REINFORCE with a baseline on a NumPy cart-pole."""
import numpy as np
import tensorflow as tf


class CartPole:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype("float32")

    def step(self, action):
        x, v, th, om = self.s
        force = 10.0 if action == 1 else -10.0
        cos, sin = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * om ** 2 * sin) / 1.1
        acc_th = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        acc_x = tmp - 0.05 * acc_th * cos / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * acc_x, th + 0.02 * om, om + 0.02 * acc_th])
        self.t += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21 or self.t >= 200
        return self.s.astype("float32"), 1.0, done


class Agent:
    def __init__(self, lr=1e-2, gamma=0.99):
        self.gamma = gamma
        self.net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(32, activation="tanh"),
                                        tf.keras.layers.Dense(2)])
        self.opt = tf.keras.optimizers.Adam(lr)
        self.opt.build(self.net.trainable_variables)

    def act(self, state, weights):
        (w1, b1), (w2, b2) = weights
        logits = np.tanh(state @ w1 + b1) @ w2 + b2
        p = np.exp(logits - logits.max())
        return int(np.random.random() < p[1] / p.sum())

    def weights(self):
        return [layer.get_weights() for layer in self.net.layers]

    def returns(self, rewards, ends):
        rewards = tf.constant(rewards, tf.float32)
        ends = tf.constant(ends)
        out = []
        running = tf.constant(0.0)
        for t in reversed(range(len(rewards))):
            if ends[t]:
                running = tf.constant(0.0)
            running = rewards[t] + self.gamma * running
            out.insert(0, running)
        out = tf.stack(out)
        return (out - tf.reduce_mean(out)) / (tf.math.reduce_std(out) + 1e-6)

    @tf.function(reduce_retracing=True)
    def learn(self, states, actions, returns):
        with tf.GradientTape() as tape:
            logp = tf.nn.log_softmax(self.net(states))
            chosen = tf.gather(logp, actions, batch_dims=1)
            loss = -tf.reduce_mean(chosen * returns)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss


def collect(env, agent, min_steps):
    S, A, R, E, lengths = [], [], [], [], []
    weights = agent.weights()
    while len(S) < min_steps:
        s, done, n = env.reset(), False, 0
        while not done:
            a = agent.act(s, weights)
            nxt, r, done = env.step(a)
            S.append(s), A.append(a), R.append(r), E.append(done)
            s, n = nxt, n + 1
        lengths.append(n)
    return np.array(S), np.array(A, "int32"), R, E, lengths


def main():
    np.random.seed(0)
    tf.random.set_seed(0)
    env, agent = CartPole(np.random.RandomState(0)), Agent()
    for it in range(25):
        S, A, R, E, lengths = collect(env, agent, 1000)
        G = agent.returns(R, E)
        loss = agent.learn(tf.constant(S), tf.constant(A), G)
        if it % 5 == 4:
            print("iteration %2d  mean length %.1f  loss %.4f" % (it + 1, np.mean(lengths), float(loss)))


if __name__ == "__main__":
    main()
