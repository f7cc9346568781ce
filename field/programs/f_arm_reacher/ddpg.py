import collections
import random

import numpy as np
import tensorflow as tf

from env import Arm

Step = collections.namedtuple("Step", "state action reward next_state done")

SEED = 21
random.seed(SEED)
np.random.seed(SEED)
tf.random.set_seed(SEED)

GAMMA, TAU, BATCH, TOTAL, WARMUP = 0.98, 0.005, 128, 650, 150


def mlp(n_in, n_out, out_act):
    return tf.keras.Sequential([
        tf.keras.layers.Input((n_in,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(n_out, activation=out_act),
    ])


class Memory:
    def __init__(self, maxlen=20000):
        self.steps = collections.deque(maxlen=maxlen)

    def push(self, *what):
        self.steps.append(Step(*what))

    def __len__(self):
        return len(self.steps)

    def sample(self, n):
        chosen = Step(*zip(*random.sample(self.steps, n)))
        return (
            tf.convert_to_tensor(chosen.state, tf.float32),
            tf.convert_to_tensor(chosen.action, tf.float32),
            tf.convert_to_tensor(chosen.reward, tf.float32),
            tf.convert_to_tensor(chosen.next_state, tf.float32),
            tf.convert_to_tensor(chosen.done, tf.float32),
        )


class Agent:
    def __init__(self, n_obs, n_act):
        self.actor, self.actor_target = mlp(n_obs, n_act, "tanh"), mlp(n_obs, n_act, "tanh")
        self.critic, self.critic_target = mlp(n_obs + n_act, 1, None), mlp(n_obs + n_act, 1, None)
        self.actor_target.set_weights(self.actor.get_weights())
        self.critic_target.set_weights(self.critic.get_weights())
        self.actor_opt = tf.keras.optimizers.Adam(3e-4)
        self.critic_opt = tf.keras.optimizers.Adam(1e-3)
        self.actor_opt.build(self.actor.trainable_variables)
        self.critic_opt.build(self.critic.trainable_variables)
        self.noise = np.random.RandomState(SEED)

    @tf.function(reduce_retracing=True)
    def policy(self, obs):
        return self.actor(obs)

    def act(self, obs):
        a = self.policy(obs[None])[0].numpy()
        return np.clip(a + self.noise.normal(0, 0.2, a.shape), -1, 1).astype(np.float32)

    @tf.function
    def learn(self, s, a, r, s2, done):
        a2 = self.actor_target(s2)
        y = r + GAMMA * (1 - done) * tf.squeeze(self.critic_target(tf.concat([s2, a2], 1)), 1)
        with tf.GradientTape() as tape:
            q = tf.squeeze(self.critic(tf.concat([s, a], 1)), 1)
            critic_loss = tf.reduce_mean((y - q) ** 2)
        grads = tape.gradient(critic_loss, self.critic.trainable_variables)
        self.critic_opt.apply_gradients(zip(grads, self.critic.trainable_variables))
        with tf.GradientTape() as tape:
            actor_loss = -tf.reduce_mean(self.critic(tf.concat([s, self.actor(s)], 1)))
        grads = tape.gradient(actor_loss, self.actor.trainable_variables)
        self.actor_opt.apply_gradients(zip(grads, self.actor.trainable_variables))
        return critic_loss

    def track(self, target, source):
        for t, s in zip(target.variables, source.variables):
            t.assign(TAU * s + (1 - TAU) * t)


if __name__ == "__main__":
    env = Arm(SEED)
    state = env.reset()
    agent = Agent(state.size, 2)
    memory = Memory()
    returns, total = [], 0.0
    for n in range(TOTAL + WARMUP):
        action = agent.act(state)
        next_state, reward, done = env.step(action)
        memory.push(state, action, reward, next_state, done)
        total += reward
        state = next_state
        if done:
            returns.append(total)
            state, total = env.reset(), 0.0
        if n >= WARMUP:
            loss = agent.learn(*memory.sample(BATCH))
            agent.track(agent.actor_target, agent.actor)
            agent.track(agent.critic_target, agent.critic)
            if n % 100 == 0:
                print(f"step {n:5d}  critic {float(loss):.4f}  return {np.mean(returns[-5:]):.2f}")
    print("episodes", len(returns), "last returns", np.round(returns[-3:], 2))
