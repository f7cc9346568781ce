from ranker import settings as s

import tensorflow as tf

from ranker import data, model, report


def main():
    if s.NUMERIC_CHECKS:
        tf.debugging.enable_check_numerics()
    net = model.build()
    net.fit(
        data.batches(),
        steps_per_epoch=s.QUERIES // s.BATCH,
        epochs=s.EPOCHS,
        callbacks=[report.Report(s.REPORT)],
        verbose=2,
    )


if __name__ == "__main__":
    main()
