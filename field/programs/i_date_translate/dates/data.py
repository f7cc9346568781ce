import datetime

import numpy as np

PAD, BOS, EOS = 0, 1, 2
FORMATS = ["%d %B %Y", "%b %d, %Y", "%A %d %B %Y", "%d/%m/%y", "%B %d %Y"]


class Vocabulary:
    def __init__(self, texts):
        self.chars = sorted(set("".join(texts)))
        self.index = {c: i + 3 for i, c in enumerate(self.chars)}

    def __len__(self):
        return len(self.chars) + 3

    def encode(self, text, length):
        ids = [BOS] + [self.index[c] for c in text] + [EOS]
        return ids + [PAD] * (length - len(ids))

    def decode(self, ids):
        out = []
        for i in ids:
            if i == EOS:
                break
            if i > EOS:
                out.append(self.chars[i - 3])
        return "".join(out)


def pairs(count, seed):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 365 * 60, count)
    kinds = rng.integers(0, len(FORMATS), count)
    base = datetime.date(1965, 1, 1)
    dates = [base + datetime.timedelta(int(d)) for d in days]
    return [d.strftime(FORMATS[k]).lower() for d, k in zip(dates, kinds)], [d.isoformat() for d in dates]


class Corpus:
    src_len, tgt_len = 32, 12

    def __init__(self, count, held_out, seed=0):
        src, tgt = pairs(count + held_out, seed)
        self.src_vocab, self.tgt_vocab = Vocabulary(src), Vocabulary(tgt)
        x = np.array([self.src_vocab.encode(s, self.src_len) for s in src], np.int32)
        y = np.array([self.tgt_vocab.encode(t, self.tgt_len) for t in tgt], np.int32)
        self.train = x[:count], y[:count]
        self.test = x[count:], tgt[count:]
