import gc
import weakref

from training import Training


class Node:
    def __init__(self):
        self.me = self


training = Training()
training.train(20)
gc.collect()
gc.set_debug(gc.DEBUG_SAVEALL)
for _ in range(3):
    Node()
training.train(100)
gc.collect()
print(sum(isinstance(one, Node) for one in gc.garbage), gc.get_debug())
gc.set_debug(0)
gc.garbage.clear()
node = weakref.ref(Node())
gc.collect()
print(node(), training.train(20))
training.keep()
