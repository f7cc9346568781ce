"""Beam search with a recurrent phrase model: 48 prompts, width 6, no training (weights are seeded)."""
import numpy as np
import tensorflow as tf

VOCAB, WIDTH, UNITS, EMBED = 9000, 6, 256, 96
START, STOP, LIMIT = 1, 2, 40


class PhraseModel(tf.Module):
    def __init__(self, seed=31):
        super().__init__()
        rng = tf.random.Generator.from_seed(seed)
        scale = lambda *shape: tf.Variable(rng.normal(shape, stddev=shape[0] ** -0.5))
        self.table = scale(VOCAB, EMBED)
        self.table.assign(self.table * 60.0)
        self.gates_in, self.gates_back = scale(EMBED, 2 * UNITS), scale(UNITS, 2 * UNITS)
        self.new_in, self.new_back = scale(EMBED, UNITS), scale(UNITS, UNITS)
        self.out = scale(UNITS, VOCAB)
        self.out.assign(self.out * 8.0)

    def cell(self, token, state):
        x = tf.gather(self.table, token)
        reset, keep = tf.split(tf.sigmoid(x @ self.gates_in + state @ self.gates_back), 2, axis=-1)
        new = tf.tanh(x @ self.new_in + (reset * state) @ self.new_back)
        return keep * state + (1.0 - keep) * new


class BeamSearch:
    def __init__(self, model, width=WIDTH):
        self.model, self.width = model, width

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), tf.int32),
            tf.TensorSpec((None, None), tf.float32),
            tf.TensorSpec((None, None, UNITS), tf.float32),
        ]
    )
    def advance(self, token, score, state):
        n, width = tf.shape(token)[0], tf.shape(token)[1]
        state = self.model.cell(tf.reshape(token, (-1,)), tf.reshape(state, (-1, UNITS)))
        log_p = tf.nn.log_softmax(state @ self.model.out)
        log_p = tf.reshape(log_p, (n, width, VOCAB))
        closed = tf.one_hot(STOP, VOCAB, on_value=0.0, off_value=-1e9)
        log_p = tf.where((token == STOP)[..., None], closed, log_p)
        total = tf.reshape(score[..., None] + log_p, (n, -1))
        score, place = tf.math.top_k(total, k=self.width)
        parent, token = place // VOCAB, place % VOCAB
        state = tf.gather(tf.reshape(state, (n, width, UNITS)), parent, batch_dims=1)
        return token, score, state, parent

    def run(self, first_state):
        n = first_state.shape[0]
        token = tf.fill((n, 1), START)
        score, state = tf.zeros((n, 1)), first_state[:, None]
        links = []
        for _ in range(LIMIT):
            token, score, state, parent = self.advance(token, score, state)
            links.append((token.numpy(), parent.numpy()))
            if (links[-1][0] == STOP).all():
                break
        return self.unwind(links), score.numpy()

    def unwind(self, links):
        """Follows the best beam of each prompt back through the parents."""
        rows = np.arange(links[0][0].shape[0])
        beam = np.zeros_like(rows)
        phrase = []
        for token, parent in reversed(links):
            phrase.append(token[rows, beam])
            beam = parent[rows, beam]
        return np.stack(phrase[::-1], axis=1)


def main():
    search = BeamSearch(PhraseModel())
    rng = np.random.default_rng(31)
    for part in range(4):
        prompts = tf.constant(np.tanh(rng.normal(0, 1, (48, UNITS))), tf.float32)
        phrases, score = search.run(prompts)
        print(f"part {part}: {phrases.shape[1]} steps, mean score {score[:, 0].mean():.3f}, first {phrases[0, :8].tolist()}")


if __name__ == "__main__":
    main()
