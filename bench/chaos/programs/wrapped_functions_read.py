import hashlib
import inspect
import pydoc
import typing

import tensorflow as tf
from training import fit, keras_model, train

train()
fit(keras_model())
for thing in (
    tf.keras.Model.fit,
    tf.keras.Model.train_step,
    tf.keras.Model.evaluate,
    tf.keras.optimizers.Adam.apply_gradients,
    tf.GradientTape.gradient,
    tf.Variable.assign_add,
    tf.data.Dataset.map,
    tf.data.Dataset.batch,
    tf.data.Dataset.__iter__,
    tf.function,
    tf.print,
    tf.compat.v1.Session.run,
    tf.train.Checkpoint.save,
    tf.saved_model.load,
    tf.distribute.MirroredStrategy.run,
):
    source = hashlib.md5(inspect.getsource(thing).encode()).hexdigest()
    shown = hashlib.md5(pydoc.render_doc(thing).encode()).hexdigest()
    print(thing.__qualname__, source, shown, inspect.signature(thing))
    print(inspect.unwrap(thing).__name__, inspect.getsourcelines(thing)[1], thing.__annotations__)
    try:
        print(sorted(typing.get_type_hints(thing)))
    except NameError as error:
        print(error)
