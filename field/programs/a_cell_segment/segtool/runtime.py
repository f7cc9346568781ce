import logging

import tensorflow as tf

logger = logging.getLogger("segtool")


def setup(runtime):
    """Apply the 'runtime' section of the configuration."""
    tf.keras.utils.set_random_seed(runtime.get("seed", 0))
    if runtime.get("debug_numerics"):
        tf.debugging.enable_check_numerics()
    tf.config.run_functions_eagerly(bool(runtime.get("interactive")))
    logging.basicConfig(level=logging.DEBUG if runtime.get("trace_level", 0) > 1 else logging.INFO,
                        format="%(levelname).1s %(message)s")
    logger.info("runtime: %s", runtime)
