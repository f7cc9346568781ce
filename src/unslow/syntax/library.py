"""Tables of what TensorFlow, Keras and NumPy names make when they are called."""

from __future__ import annotations

import enum

from unslow.syntax.nodes import words


class Kind(enum.Enum):
    """What a value is, as far as a cause needs to know."""

    UNKNOWN = "unknown"
    OTHER = "something else"  # known to be none of these
    NUMBER = "Python number"
    ARRAY = "NumPy array"
    TENSOR = "tensor"
    SYMBOL = "Keras tensor"  # `keras.Input` and what layers make of it: a plan, no values
    PLACEHOLDER = "placeholder"
    VARIABLE = "variable"
    SESSION = "session"
    DATASET = "dataset"
    ITERATOR = "iterator"
    ARRAYS = "iterator of NumPy arrays"
    TAPE = "gradient tape"
    OPTIMIZER = "optimizer"
    MODEL = "model"
    LAYER = "layer"
    LOSS = "loss"
    METRIC = "metric"
    CALLBACK = "callback"
    FUNCTION = "tf.function"
    STRATEGY = "distribution strategy"
    GENERATOR = "random generator"


TENSOR_LIKE = frozenset((Kind.TENSOR, Kind.PLACEHOLDER, Kind.VARIABLE))

_EXACT = {
    "tf.Session": Kind.SESSION,
    "tf.InteractiveSession": Kind.SESSION,
    "tf.get_default_session": Kind.SESSION,
    "tf.train.MonitoredTrainingSession": Kind.SESSION,
    "tf.train.MonitoredSession": Kind.SESSION,
    "tf.train.SingularMonitoredSession": Kind.SESSION,
    "keras.backend.get_session": Kind.SESSION,
    "tf.placeholder": Kind.PLACEHOLDER,
    "tf.placeholder_with_default": Kind.PLACEHOLDER,
    "tf.sparse_placeholder": Kind.PLACEHOLDER,
    "tf.sparse.placeholder": Kind.PLACEHOLDER,
    "tf.Variable": Kind.VARIABLE,
    "tf.get_variable": Kind.VARIABLE,
    "tf.get_local_variable": Kind.VARIABLE,
    "tf.train.get_or_create_global_step": Kind.VARIABLE,
    "tf.train.create_global_step": Kind.VARIABLE,
    "keras.Variable": Kind.VARIABLE,
    "keras.backend.variable": Kind.VARIABLE,
    "tf.GradientTape": Kind.TAPE,
    "tf.function": Kind.FUNCTION,
    "tf.random.Generator.from_seed": Kind.GENERATOR,
    "tf.random.Generator.from_non_deterministic_state": Kind.GENERATOR,
    "tf.random.get_global_generator": Kind.GENERATOR,
    "tf.data.TFRecordDataset": Kind.DATASET,
    "tf.data.TextLineDataset": Kind.DATASET,
    "tf.data.FixedLengthRecordDataset": Kind.DATASET,
    "tf.data.experimental.CsvDataset": Kind.DATASET,
    "tf.data.experimental.SqlDataset": Kind.DATASET,
    "tf.data.experimental.make_csv_dataset": Kind.DATASET,
    "tf.data.experimental.load": Kind.DATASET,
    "keras.utils.image_dataset_from_directory": Kind.DATASET,
    "keras.utils.text_dataset_from_directory": Kind.DATASET,
    "keras.utils.audio_dataset_from_directory": Kind.DATASET,
    "keras.utils.timeseries_dataset_from_array": Kind.DATASET,
    "keras.preprocessing.image_dataset_from_directory": Kind.DATASET,
    "keras.preprocessing.text_dataset_from_directory": Kind.DATASET,
    "keras.preprocessing.timeseries_dataset_from_array": Kind.DATASET,
    "tf.data.make_one_shot_iterator": Kind.ITERATOR,
    "tf.data.make_initializable_iterator": Kind.ITERATOR,
    "tf.data.Iterator.from_structure": Kind.ITERATOR,
    "keras.Input": Kind.SYMBOL,
    "keras.Model": Kind.MODEL,
    "keras.Sequential": Kind.MODEL,
    "keras.models.load_model": Kind.MODEL,
    "keras.models.clone_model": Kind.MODEL,
    "keras.models.model_from_json": Kind.MODEL,
    "keras.optimizers.get": Kind.OPTIMIZER,
    "float": Kind.NUMBER,
    "int": Kind.NUMBER,
    "len": Kind.NUMBER,
    "round": Kind.NUMBER,
    "str": Kind.OTHER,
    "dict": Kind.OTHER,
    "list": Kind.OTHER,
    "set": Kind.OTHER,
    "open": Kind.OTHER,
}
_CLASSES = {
    "keras.optimizers": Kind.OPTIMIZER,
    "keras.optimizers.legacy": Kind.OPTIMIZER,
    "keras.layers": Kind.LAYER,
    "keras.losses": Kind.LOSS,
    "keras.metrics": Kind.METRIC,
    "keras.callbacks": Kind.CALLBACK,
    "tf.distribute": Kind.STRATEGY,
    "tf.distribute.experimental": Kind.STRATEGY,
}
_OP_SPACES = words(
    "tf.audio tf.bitwise tf.dtypes tf.image tf.layers tf.linalg tf.losses tf.math tf.nn "
    "tf.quantization"
    " tf.ragged tf.random tf.signal tf.sparse tf.strings keras.losses keras.activations"
)
_READERS = ("tf.io.decode_", "tf.io.parse_", "tf.io.read_file", "tf.io.serialize_tensor")
# Functions at the top of the tf module, and in the spaces above, that give no tensor.
_NO_TENSOR = words(
    "add_check_numerics_ops add_to_collection add_to_collections all_candidate_sampler "
    "all_variables"
    " as_dtype broadcast_static_shape check_pinned colocate_with container control_dependencies"
    " create_partitioned_variables create_rng_state custom_gradient device dimension_at_index"
    " dimension_value executing_eagerly executing_eagerly_outside_functions function get"
    " global_variables grad_pass_through group import_graph_def init_scope inside_function"
    " is_numeric_tensor is_symbolic_tensor is_tensor load_file_system_library load_library"
    " load_op_library local_variables make_ndarray make_template make_tensor_proto model_variables"
    " moving_average_variables name_scope no_gradient no_op no_regularizer"
    " nondifferentiable_batch_function op_scope print recompute_grad report_uninitialized_variables"
    " reset_default_graph set_random_seed set_seed trainable_variables type_spec_from_value"
    " wrap_function"
)
_NO_TENSOR_STARTS = (
    "assert_",
    "control_flow_",
    "disable_",
    "enable_",
    "get_",
    "initialize_",
    "register_",
    "resource_",
)
_NO_TENSOR_ENDS = ("_initializer", "_partitioner", "_scope")

# Ops and state that a TF1 graph gains although no tensor comes out.
_GRAPH_ADDERS = words(
    "tf.group tf.no_op tf.print tf.gradients tf.train.Saver tf.global_variables_initializer"
    " tf.local_variables_initializer tf.tables_initializer tf.variables_initializer"
    " tf.initialize_all_variables tf.report_uninitialized_variables tf.train.batch"
    " tf.train.shuffle_batch tf.summary.scalar tf.summary.histogram tf.summary.image "
    "tf.summary.merge"
    " tf.summary.merge_all"
)

# Methods of a dataset that give a dataset.
_CHAINED = words(
    "apply assert_cardinality batch bucket_by_sequence_length cache choose_from_datasets "
    "concatenate"
    " enumerate filter flat_map group_by_window ignore_errors interleave map padded_batch prefetch"
    " ragged_batch random rebatch rejection_resample repeat sample_from_datasets scan shard "
    "shuffle skip"
    " snapshot sparse_batch take take_while unbatch unique window with_options"
)

# Methods of a `tf.random.Generator` that draw.
_DRAWN = words("normal truncated_normal uniform uniform_full_int binomial")

METHODS: dict[tuple[Kind, str], Kind] = {
    **{(Kind.GENERATOR, method): Kind.TENSOR for method in _DRAWN},
    **{(Kind.DATASET, method): Kind.DATASET for method in _CHAINED},
    (Kind.DATASET, "make_one_shot_iterator"): Kind.ITERATOR,
    (Kind.DATASET, "make_initializable_iterator"): Kind.ITERATOR,
    (Kind.DATASET, "as_numpy_iterator"): Kind.ARRAYS,
    (Kind.DATASET, "reduce"): Kind.TENSOR,
    (Kind.DATASET, "get_single_element"): Kind.TENSOR,
    (Kind.DATASET, "cardinality"): Kind.TENSOR,
    (Kind.ITERATOR, "get_next"): Kind.TENSOR,
    (Kind.SESSION, "run"): Kind.ARRAY,
    (Kind.SESSION, "__enter__"): Kind.SESSION,
    (Kind.SESSION, "as_default"): Kind.SESSION,
    (Kind.TAPE, "gradient"): Kind.TENSOR,
    (Kind.TAPE, "jacobian"): Kind.TENSOR,
    (Kind.TAPE, "batch_jacobian"): Kind.TENSOR,
    (Kind.VARIABLE, "value"): Kind.TENSOR,
    (Kind.VARIABLE, "read_value"): Kind.TENSOR,
    (Kind.VARIABLE, "initialized_value"): Kind.TENSOR,
    (Kind.VARIABLE, "assign"): Kind.TENSOR,
    (Kind.VARIABLE, "assign_add"): Kind.TENSOR,
    (Kind.VARIABLE, "assign_sub"): Kind.TENSOR,
    (Kind.METRIC, "result"): Kind.TENSOR,
    (Kind.MODEL, "predict"): Kind.ARRAY,
    (Kind.MODEL, "predict_on_batch"): Kind.ARRAY,
    (Kind.MODEL, "train_on_batch"): Kind.ARRAY,
    (Kind.MODEL, "test_on_batch"): Kind.ARRAY,
    (Kind.MODEL, "fit"): Kind.OTHER,
    (Kind.STRATEGY, "experimental_distribute_dataset"): Kind.DATASET,
    (Kind.STRATEGY, "reduce"): Kind.TENSOR,
    **{(kind, method): Kind.ARRAY for kind in TENSOR_LIKE for method in ("numpy", "eval")},
}
ANNOTATIONS = {
    "tf.Tensor": Kind.TENSOR,
    "tf.Variable": Kind.VARIABLE,
    "tf.data.Dataset": Kind.DATASET,
    "tf.data.Iterator": Kind.ITERATOR,
    "tf.Session": Kind.SESSION,
    "tf.GradientTape": Kind.TAPE,
    "keras.Model": Kind.MODEL,
    "keras.Sequential": Kind.MODEL,
    "keras.optimizers.Optimizer": Kind.OPTIMIZER,
    "numpy.ndarray": Kind.ARRAY,
    "float": Kind.NUMBER,
    "int": Kind.NUMBER,
    "str": Kind.OTHER,
}
# What is taken out of something by its kind.
ELEMENTS = {
    Kind.DATASET: Kind.TENSOR,
    Kind.ITERATOR: Kind.TENSOR,
    Kind.TENSOR: Kind.TENSOR,
    Kind.ARRAY: Kind.ARRAY,
    Kind.ARRAYS: Kind.ARRAY,
}
# What Python's own functions give for an argument of some kind.
TAKEN = {
    "iter": {Kind.DATASET: Kind.ITERATOR, Kind.ITERATOR: Kind.ITERATOR},
    "next": {Kind.ITERATOR: Kind.TENSOR, Kind.ARRAYS: Kind.ARRAY},
}
# Attributes by the kind of what they belong to.
ATTRIBUTES = {
    "optimizer": (Kind.MODEL, Kind.OPTIMIZER),
    "model": (Kind.CALLBACK, Kind.MODEL),
    "learning_rate": (Kind.OPTIMIZER, Kind.VARIABLE),
    "iterations": (Kind.OPTIMIZER, Kind.VARIABLE),
}
CLASS_KINDS = {
    "keras.Model": Kind.MODEL,
    "keras.Sequential": Kind.MODEL,
    "keras.layers.Layer": Kind.LAYER,
    "keras.callbacks.Callback": Kind.CALLBACK,
    "keras.losses.Loss": Kind.LOSS,
    "keras.metrics.Metric": Kind.METRIC,
    "keras.optimizers.Optimizer": Kind.OPTIMIZER,
}


def made_by(name: str) -> Kind:
    """What calling something by its canonical name gives."""
    if name in _EXACT:
        return _EXACT[name]
    space, _, last = name.rpartition(".")
    if last[:1].isupper():
        return _instance_of(space, last)
    if space == "tf.data.Dataset":
        return Kind.DATASET
    if space.startswith("numpy"):
        return Kind.ARRAY
    return Kind.TENSOR if is_op(name) else Kind.UNKNOWN


def _instance_of(space: str, name: str) -> Kind:
    """What calling a class gives."""
    if space == "tf.train" and name.endswith("Optimizer"):
        return Kind.OPTIMIZER
    if space.startswith("keras.applications"):
        return Kind.MODEL
    is_strategy = name.endswith("Strategy")
    if space.startswith("tf.distribute") and not is_strategy:
        return Kind.UNKNOWN
    return _CLASSES.get(space, Kind.UNKNOWN)


def is_op(name: str) -> bool:
    """Whether a function of TensorFlow gives a tensor."""
    space, _, last = name.rpartition(".")
    if name.startswith(_READERS):
        return True
    if space != "tf" and space not in _OP_SPACES:
        return False
    no_tensor = (
        last in _NO_TENSOR or last.startswith(_NO_TENSOR_STARTS) or last.endswith(_NO_TENSOR_ENDS)
    )
    return last[:1].islower() and not no_tensor


def adds_to_graph(name: str) -> bool:
    """Whether calling it in a TF1 graph adds nodes to the graph."""
    return made_by(name) in (*TENSOR_LIKE, Kind.DATASET, Kind.ITERATOR) or name in _GRAPH_ADDERS
