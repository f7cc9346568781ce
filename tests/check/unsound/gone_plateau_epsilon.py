# ruff: noqa
# expect: removed-argument 7
# expect: removed-argument 8

import tensorflow.keras.callbacks as cb

calm = cb.ReduceLROnPlateau(monitor="loss", epsilon=1e-3)
log = cb.TensorBoard("logs", write_grads=True)
