import numpy as np
import tensorflow as tf
from tensorflow import keras

FOLDS = 4
ROWS = 1200
CHECK_ROWS = 22  # customers the sales team wants to see per fold
AUC_ROWS = 150

np.random.seed(0)
keras.utils.set_random_seed(0)


def customers(rows):
    x = np.random.normal(size=(rows, 18)).astype("float32")
    logit = x[:, 0] * 1.5 - x[:, 3] + 0.5 * x[:, 7] * x[:, 8]
    y = (logit + np.random.normal(size=rows) > 0).astype("float32")
    return x, y


def make_model(width):
    model = keras.Sequential(
        [
            keras.layers.Input((width,)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    return model


def auc(scores, labels):
    scores = tf.convert_to_tensor(scores)
    positive = tf.boolean_mask(scores, labels > 0.5)
    negative = tf.boolean_mask(scores, labels < 0.5)
    wins = tf.constant(0.0)
    for p in positive:
        for n in negative:
            wins += tf.cast(p > n, tf.float32)
    return wins / (len(positive) * len(negative))


x, y = customers(ROWS)
folds = np.array_split(np.random.permutation(ROWS), FOLDS)
results = []
for k, held_out in enumerate(folds):
    rest = np.concatenate([f for i, f in enumerate(folds) if i != k])
    model = make_model(x.shape[1])
    model.fit(x[rest], y[rest], batch_size=50, epochs=3, verbose=0)

    scores = model.predict(x[held_out[:AUC_ROWS]], verbose=0)[:, 0]
    fold_auc = float(auc(scores, y[held_out[:AUC_ROWS]]))

    rank = []
    for row in held_out[:CHECK_ROWS]:
        churn = model.predict(x[row:row + 1], verbose=0)[0, 0]
        rank.append((float(churn), int(row)))
    rank.sort(reverse=True)
    print(f"fold {k}: auc {fold_auc:.3f}, most at risk: {[r for _, r in rank[:4]]}")
    results.append(fold_auc)

print(f"mean auc {np.mean(results):.3f} +- {np.std(results):.3f}")
