import logging

import numpy as np

log = logging.getLogger(__name__)


def extract(base, photos, report=100):
    """Bottleneck features of all photos, in order."""
    features = []
    for i, photo in enumerate(photos):
        x = np.expand_dims(photo.astype("float32"), axis=0)
        features.append(base(x, training=False)[0].numpy())
        if (i + 1) % report == 0:
            log.info("%d / %d photos", i + 1, len(photos))
    return np.stack(features)
