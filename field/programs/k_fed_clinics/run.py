"""Federated averaging over eight simulated clinics."""
import numpy as np
import keras

from fed.client import Clinic
from fed.server import average, report
from fed.settings import CLINICS, ROUNDS, SEED


def cohort(rng, shift, n):
    """Vital signs and laboratory values of one clinic; each has its own case mix."""
    x = rng.normal(shift, 1.0, (n, 30)).astype("float32")
    risk = x[:, :6].sum(axis=1) * 0.6 - x[:, 6:9].prod(axis=1) * 0.3 - shift * 3
    y = (risk + rng.normal(0, 0.7, n) > 0).astype("float32")
    return x, y


def main():
    keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    shifts = rng.normal(0, 0.3, CLINICS)
    clinics = [Clinic(f"clinic-{i}", *cohort(rng, s, 640)) for i, s in enumerate(shifts)]
    x_test, y_test = cohort(rng, 0.0, 2000)

    weights = clinics[0].initial_weights()
    for round_ in range(1, ROUNDS + 1):
        updates = []
        for clinic in clinics:
            new, loss = clinic.train(weights)
            updates.append((new, clinic.size, loss))
        weights = average(updates)
        auc = report(weights, x_test, y_test)
        mean = np.average([u[2] for u in updates], weights=[u[1] for u in updates])
        print(f"round {round_:2d}  mean client loss {mean:.4f}  test auc {auc:.4f}")


if __name__ == "__main__":
    main()
