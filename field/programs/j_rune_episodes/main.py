import keras

from runes import Pool, Prototypes
from runes.episodes import strokes

SETTINGS = {"kinds": 24, "each": 120, "side": 24, "ways": 12, "shots": 2, "asked": 20, "episodes": 120, "rate": 2e-3}


def main(s):
    keras.utils.set_random_seed(6)
    pool = Pool(strokes(s["kinds"], s["each"], s["side"], 6), s["ways"], s["shots"], s["asked"], 6)
    learner = Prototypes(s["side"], s["rate"])
    total = hits = 0.0
    for number in range(1, s["episodes"] + 1):
        loss, right = learner.learn(*pool.episode())
        total += loss
        hits += right
        if number % 20 == 0:
            print(f"{number:4d} loss {float(total) / 20:.4f} right {float(hits) / 20:.3f}")
            total = hits = 0.0


if __name__ == "__main__":
    main(SETTINGS)
