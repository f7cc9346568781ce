import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras

from gallery.faces import synthetic_people
from gallery.index import Gallery
from gallery.network import embedding_network


def main(config_path="config.json"):
    with open(config_path) as f:
        cfg = json.load(f)
    keras.utils.set_random_seed(cfg["seed"])
    network = embedding_network(cfg["image_size"], cfg["embedding_dim"])
    gallery = Gallery(network, cfg["threshold"])

    for name, picture in synthetic_people(
        cfg["people"], cfg["shots"], cfg["image_size"], cfg["seed"]
    ):
        gallery.add(name, picture)
    print(f"enrolled {len(gallery.names)} pictures")

    matrix = gallery.distance_matrix()
    tar, far = gallery.matches(matrix)
    print(f"TAR {tar:.3f}  FAR {far:.3f}  mean distance {matrix.mean():.4f}")


if __name__ == "__main__":
    main()
