import importlib.abc
import importlib.util
import sys

order = []


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("tensorflow", "keras", "tensorflow.python.eager.polymorphic_function"):
            order.append(name)
        if name == "made_up":
            return importlib.util.spec_from_loader(name, Loader())
        return None


class Loader(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.value = 12


sys.meta_path.insert(0, Finder())
import made_up
import tensorflow as tf
from training import train

print(made_up.value, order, type(tf.__loader__).__name__, tf.__spec__.name, train())
print(type(sys.modules["tensorflow.python.eager.context"].__spec__.loader).__name__)
