import logging
import logging.config
import warnings

import tensorflow as tf
from training import fit, keras_model, train

logging.config.dictConfig(
    {
        "version": 1,
        "disable_existing_loggers": True,
        "formatters": {"short": {"format": "%(levelname)s %(name)s %(funcName)s %(message)s"}},
        "handlers": {
            "all": {"class": "logging.FileHandler", "filename": "all.log", "formatter": "short"},
            "out": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"},
        },
        "root": {"level": "INFO", "handlers": ["all", "out"]},
    }
)
logging.captureWarnings(True)
tf.get_logger().setLevel("INFO")
warnings.warn("through the log", stacklevel=1)
logging.info("%s", train(100))
fit(keras_model())
logging.getLogger("mine").exception("no error", exc_info=False)
print(sorted(name for name in logging.root.manager.loggerDict if "unslow" in name))
print(logging.root.handlers, logging.getLevelName(tf.get_logger().level))
