import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def dense(x, units, name, act=None, scale=None):
    n_in = int(x.shape[-1])
    init = tf.random_uniform_initializer(-scale, scale) if scale else tf.glorot_uniform_initializer()
    with tf.variable_scope(name):
        w = tf.get_variable("w", [n_in, units], initializer=init)
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
    y = tf.matmul(x, w) + b
    return act(y) if act is not None else y


class DDPGAgent(object):
    def __init__(self, sess, n_obs, n_act, hidden=(256, 192), gamma=0.98, tau=0.02,
                 actor_lr=1e-4, critic_lr=1e-3):
        self.sess = sess
        self.n_obs, self.n_act = n_obs, n_act
        self.hidden, self.gamma, self.tau = hidden, gamma, tau

        self.obs = tf.placeholder(tf.float32, [None, n_obs], "obs")
        self.obs2 = tf.placeholder(tf.float32, [None, n_obs], "obs2")
        self.act_in = tf.placeholder(tf.float32, [None, n_act], "act")
        self.rew = tf.placeholder(tf.float32, [None], "rew")
        self.done = tf.placeholder(tf.float32, [None], "done")

        self.pi = self._actor(self.obs, "main/actor")
        q = self._critic(self.obs, self.act_in, "main/critic")
        q_pi = self._critic(self.obs, self.pi, "main/critic", reuse=True)
        pi_t = self._actor(self.obs2, "target/actor")
        q_t = self._critic(self.obs2, pi_t, "target/critic")

        backup = tf.stop_gradient(self.rew + self.gamma * (1.0 - self.done) * q_t)
        self.critic_loss = tf.reduce_mean(tf.square(q - backup))
        self.actor_loss = -tf.reduce_mean(q_pi)
        self.main_vars = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "main")
        self.target_vars = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "target")
        critic_vars = [v for v in self.main_vars if "critic" in v.name]
        actor_vars = [v for v in self.main_vars if "actor" in v.name]
        self.critic_op = tf.train.AdamOptimizer(critic_lr).minimize(self.critic_loss, var_list=critic_vars)
        with tf.control_dependencies([self.critic_op]):
            self.actor_op = tf.train.AdamOptimizer(actor_lr).minimize(self.actor_loss, var_list=actor_vars)

        self.sess.run(tf.global_variables_initializer())
        self.update_targets(1.0)

    def _actor(self, x, scope, reuse=False):
        with tf.variable_scope(scope, reuse=reuse):
            for i, h in enumerate(self.hidden):
                x = dense(x, h, "fc%d" % i, tf.nn.relu)
            return dense(x, self.n_act, "mu", tf.tanh, scale=3e-3)

    def _critic(self, x, a, scope, reuse=False):
        with tf.variable_scope(scope, reuse=reuse):
            x = tf.concat([x, a], -1)
            for i, h in enumerate(self.hidden):
                x = dense(x, h, "fc%d" % i, tf.nn.relu)
            return tf.squeeze(dense(x, 1, "q", scale=3e-3), -1)

    def act(self, obs, noise=0.0, rng=np.random):
        a = self.sess.run(self.pi, {self.obs: obs[None]})[0]
        return np.clip(a + noise * rng.randn(self.n_act), -1, 1)

    def update_targets(self, tau=None):
        tau = self.tau if tau is None else tau
        self.sess.run([t.assign(tau * m + (1.0 - tau) * t) for m, t in zip(self.main_vars, self.target_vars)])

    def train_step(self, batch):
        o, a, r, o2, d = batch
        feed = {self.obs: o, self.act_in: a, self.rew: r, self.obs2: o2, self.done: d}
        c, p, _ = self.sess.run([self.critic_loss, self.actor_loss, self.actor_op], feed)
        return c, p
