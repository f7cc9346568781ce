"""Double DQN for restocking a small depot, written for sessions.

A truck driver decides every morning how many crates to order (0..4). Orders arrive with a delay of two days; demand is
seasonal and noisy. The reward is sales minus storage minus lost customers.
"""
import collections
import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

DAYS = 40
EPISODES = 15
EVERY = 4
WARMUP = 96
BATCH = 48
GAMMA = 0.97
TAU = 0.02
ACTIONS = 5

random.seed(4)
np.random.seed(4)
tf.set_random_seed(4)


class Depot:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.day, self.stock, self.coming = 0, 6.0, [0.0, 0.0]
        return self.view()

    def view(self):
        phase = 2 * np.pi * self.day / 20
        return np.array([self.stock / 10, self.coming[0] / 4, self.coming[1] / 4, np.sin(phase), np.cos(phase)], np.float32)

    def step(self, order):
        self.stock += self.coming.pop(0)
        self.coming.append(float(order))
        wanted = max(0.0, 2 + 1.5 * np.sin(2 * np.pi * self.day / 20) + self.rng.normal(0, 0.7))
        sold = min(wanted, self.stock)
        self.stock = min(self.stock - sold, 20.0)
        self.day += 1
        reward = sold - 0.1 * self.stock - 0.5 * (wanted - sold)
        return self.view(), np.float32(reward), self.day >= DAYS


def tower(x, scope):
    with tf.variable_scope(scope):
        sizes = [5, 96, 96, 64, ACTIONS]
        for k, (a, b) in enumerate(zip(sizes, sizes[1:])):
            w = tf.get_variable(f"w{k}", [a, b], initializer=tf.glorot_uniform_initializer(seed=k))
            c = tf.get_variable(f"b{k}", [b], initializer=tf.zeros_initializer())
            x = tf.matmul(x, w) + c
            if k < len(sizes) - 2:
                x = tf.nn.elu(x)
    return x


class Net:
    """The online and the lagging network in one graph."""

    def __init__(self):
        self.state = tf.placeholder(tf.float32, [None, 5])
        self.after = tf.placeholder(tf.float32, [None, 5])
        self.action = tf.placeholder(tf.int32, [None])
        self.target = tf.placeholder(tf.float32, [None])
        self.q = tower(self.state, "live")
        with tf.variable_scope("", reuse=True):
            self.q_after = tower(self.after, "live")
        self.lag_after = tower(self.after, "lag")
        chosen = tf.reduce_sum(self.q * tf.one_hot(self.action, ACTIONS), axis=1)
        self.loss = tf.losses.huber_loss(self.target, chosen)
        live = tf.trainable_variables("live")
        self.train = tf.train.AdamOptimizer(5e-4).minimize(self.loss, var_list=live)
        self.pairs = list(zip(tf.trainable_variables("lag"), live))

    def follow(self, session, rate):
        moves = [old.assign(rate * new + (1 - rate) * old) for old, new in self.pairs]
        session.run(moves)


class Planner:
    def __init__(self, session):
        self.session = session
        self.net = Net()
        self.past = collections.deque(maxlen=5000)
        self.days = 0
        session.run(tf.global_variables_initializer())
        self.net.follow(session, 1.0)

    def order(self, view, epsilon):
        if random.random() < epsilon:
            return random.randrange(ACTIONS)
        return int(self.session.run(self.net.q, {self.net.state: view[None]})[0].argmax())

    def remember(self, *what):
        self.past.append(what)
        self.days += 1
        if len(self.past) >= WARMUP and self.days % EVERY == 0:
            return self.improve()

    def improve(self):
        net = self.net
        s, a, r, n, d = map(np.array, zip(*random.sample(self.past, BATCH)))
        best, lag = self.session.run([net.q_after, net.lag_after], {net.after: n})
        goal = r + GAMMA * (1 - d.astype(np.float32)) * lag[np.arange(BATCH), best.argmax(1)]
        _, loss = self.session.run([net.train, net.loss], {net.state: s, net.action: a, net.target: goal})
        net.follow(self.session, TAU)
        return loss


def main():
    depot = Depot(np.random.default_rng(11))
    with tf.Session() as session:
        planner = Planner(session)
        for episode in range(EPISODES):
            view, total, losses, done = depot.reset(), 0.0, [], False
            epsilon = max(0.05, 1.0 - episode / 10)
            while not done:
                action = planner.order(view, epsilon)
                following, reward, done = depot.step(action)
                loss = planner.remember(view, action, reward, following, done)
                view, total = following, total + reward
                if loss is not None:
                    losses.append(loss)
            print(f"episode {episode:2d}  return {total:7.2f}  loss {np.mean(losses) if losses else 0.0:.4f}")


if __name__ == "__main__":
    main()
