import numpy as np

TOPICS = {
    "garden": "soil seed water tomato compost shade prune frost".split(),
    "bikes": "chain brake gear saddle spoke tyre pedal frame".split(),
    "bread": "flour yeast crust oven knead starter proof loaf".split(),
    "radio": "antenna band noise tuner coil signal relay mast".split(),
}
FILLER = "the a my is on with and why how does it keep too very some after before again".split()


def write_posts(count, seed=1):
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    posts, tags = [], []
    for _ in range(count):
        tag = int(rng.integers(len(names)))
        size = int(rng.integers(18, 44))
        words = [str(rng.choice(TOPICS[names[tag]] if rng.random() < 0.2 else FILLER)) for _ in range(size)]
        posts.append(" ".join(words).capitalize() + "?!")
        tags.append(tag)
    return posts, tags
