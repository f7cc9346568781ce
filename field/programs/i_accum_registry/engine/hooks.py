import os

import tensorflow as tf

from .registry import HOOKS


class Hook:
    every = 1

    def due(self, step):
        return step % self.every == 0

    def before_run(self, trainer):
        pass

    def after_update(self, trainer):
        pass

    def after_run(self, trainer):
        pass


@HOOKS.register("print")
class PrintHook(Hook):
    def __init__(self, every):
        self.every = every

    def after_update(self, trainer):
        if self.due(trainer.updates):
            print("update %d loss %.4f" % (trainer.updates, trainer.loss.result()))
            trainer.loss.reset_state()


@HOOKS.register("snapshot")
class SnapshotHook(Hook):
    def __init__(self, folder, keep=3):
        self.folder, self.keep = folder, keep

    def before_run(self, trainer):
        state = tf.train.Checkpoint(model=trainer.model, optimizer=trainer.optimizer)
        self.manager = tf.train.CheckpointManager(
            state, os.path.join(trainer.workdir, self.folder), max_to_keep=self.keep)

    def after_update(self, trainer):
        if self.due(trainer.updates):
            self.manager.save(trainer.updates)


@HOOKS.register("board")
class BoardHook(Hook):
    def __init__(self, folder):
        self.folder = folder

    def before_run(self, trainer):
        self.writer = tf.summary.create_file_writer(os.path.join(trainer.workdir, self.folder))

    def after_update(self, trainer):
        if not self.due(trainer.updates):
            return
        with self.writer.as_default(step=trainer.updates):
            tf.summary.scalar("loss", trainer.loss.result())
            for weight, total in zip(trainer.model.trainable_variables, trainer.sums):
                tf.summary.histogram("weights/" + weight.path, weight)
                tf.summary.histogram("gradients/" + weight.path, total)

    def after_run(self, trainer):
        self.writer.close()
