import tensorflow as tf

BOS, EOS = 1, 2


class BeamSearch:
    def __init__(self, model, beams, max_len):
        self.model = model
        self.beams = beams
        self.max_len = max_len

    def expand(self, hypotheses, log_probs):
        values, ids = tf.math.top_k(log_probs, k=self.beams)
        candidates = []
        for b, (tokens, score) in enumerate(hypotheses):
            for k in range(self.beams):
                candidates.append((tokens + [int(ids[b, k])], score + float(values[b, k])))
        candidates.sort(key=lambda c: c[1], reverse=True)
        return candidates[: self.beams]

    def __call__(self, source):
        memory = self.model.encode(source)
        hypotheses = [([BOS], 0.0)] + [([BOS], -1e9)] * (self.beams - 1)
        for _ in range(self.max_len):
            tokens = tf.constant([h[0] for h in hypotheses])
            log_probs = self.model.next_log_probs(memory, tokens)
            hypotheses = self.expand(hypotheses, log_probs)
            if hypotheses[0][0][-1] == EOS:
                break
        return hypotheses[0]
