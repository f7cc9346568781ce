import tensorflow as tf

from moco.gallery import Gallery
from moco.learner import MomentumContrast
from moco.settings import SETTINGS as S
from moco.views import two_view_dataset


def main():
    tf.keras.utils.set_random_seed(S["data"]["seed"])
    learner = MomentumContrast(S["data"]["side"], S["encoder"], lr=S["train"]["lr"], **S["moco"])
    gallery = Gallery()
    batches = two_view_dataset(S["data"], S["augment"]).take(S["train"]["steps"])
    for step, (a, b) in enumerate(batches, 1):
        out = learner.learn(a, b)
        gallery.add(b, out["keys"])
        if step % S["train"]["report"] == 0:
            print("step %d loss %.3f hit@1 %.2f neighbour gap %.3f" % (
                step, out["loss"], out["hit"], gallery.neighbours()))


if __name__ == "__main__":
    main()
