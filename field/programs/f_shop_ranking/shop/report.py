import numpy as np
import tensorflow as tf


def per_shopper_auc(model, shopper, product, bought, rounds=4):
    """Bootstrapped AUC inside each shopper's own list of visits."""
    rng = np.random.default_rng(0)
    result = {}
    for who in np.unique(shopper):
        mine = np.flatnonzero(shopper == who)
        truth = bought[mine]
        scores = model.predict([shopper[mine], product[mine]], verbose=0)[:, 0]
        draws = []
        for _ in range(rounds):
            pick = rng.integers(0, len(mine), len(mine))
            auc = tf.keras.metrics.AUC(num_thresholds=500)
            auc.update_state(truth[pick], scores[pick])
            draws.append(float(auc.result()))
        result[int(who)] = float(np.mean(draws))
    return result
