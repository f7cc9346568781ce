"""Pipelines in a TensorFlow 1 graph: recorded with their lines, and the graph is what it would be alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.live.conftest import Recorded, bare, unslow
from unslow.analyse.run.assemble import load
from unslow.facts.data import Dataset, IteratorMade

SCRIPT = """
import hashlib
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(7)
data = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0, 4.0]).shuffle(4).repeat()
data = data.map(lambda x: x + tf.random.uniform([])).batch(2).prefetch(1)
x = tf.data.make_one_shot_iterator(data).get_next()
other = tf.data.make_initializable_iterator(tf.data.Dataset.range(2, 100, 3).take(7).batch(2))
either = tf.data.Iterator.from_structure(tf.float32, tf.TensorShape([None]))
choose = either.make_initializer(dataset=data.take(3))
y, z = other.get_next(), either.get_next()
w = tf.get_variable("w", [3], initializer=tf.random_normal_initializer())
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(w)) * tf.reduce_mean(x))
drawn = tf.random.normal([2])
start = [tf.global_variables_initializer(), other.initializer, choose]
graph = tf.get_default_graph()
graph.finalize()
with tf.Session() as session:
    session.run(start)
    for _ in range(5):
        session.run(train)
    print(session.run([drawn, w, y, z]))
print(len(graph.get_operations()))
print(hashlib.sha1(graph.as_graph_def().SerializeToString(deterministic=True)).hexdigest())
"""


def test_the_graph_and_its_random_numbers_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    alone = bare(tmp_path / "train.py")
    assert alone.returncode == 0, alone.stderr
    assert unslow(["run", "train.py"], tmp_path).stdout == alone.stdout


def test_each_way_to_make_an_iterator_is_seen(record: Callable[..., Recorded]) -> None:
    run = load(str(record(SCRIPT).folder))
    made = run.facts(IteratorMade)
    assert [(one.graph, one.stack[0].line) for one in made] == [(True, 9), (True, 10), (True, 12)]
    kinds = [stage.kind for stage in run.facts(Dataset)[0].stages]
    assert kinds == ["Prefetch", "Batch", "Map", "Repeat", "Shuffle", "TensorSlice"]
