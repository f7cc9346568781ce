import builtins
import os

from training import Training

opened, printed, imported = [], [], []
real_open, real_print, real_import = builtins.open, builtins.print, builtins.__import__


def counted_open(file, *rest, **options):
    opened.append(file)
    return real_open(file, *rest, **options)


def counted_import(name, *rest, **options):
    imported.append(name)
    return real_import(name, *rest, **options)


training = Training()
training.train(20)
builtins.open, builtins.__import__ = counted_open, counted_import
builtins.print = lambda *words, **options: printed.append(words)
real_write, written = os.write, []
os.write = lambda file, data: written.append(file) or real_write(file, data)
loss = training.train(300)
builtins.open, builtins.print, builtins.__import__ = real_open, real_print, real_import
os.write = real_write
print(loss, opened, printed, written)
training.keep()
