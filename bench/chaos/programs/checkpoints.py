# ignore: kept
import tensorflow as tf
from training import Training

training = Training()
manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=training.w), "kept", max_to_keep=2)
for _ in range(4):
    training.train(5)
    print(manager.save())
training.train(5)
manager.checkpoint.restore(manager.latest_checkpoint).assert_consumed()
training.keep()
print(training.w.numpy().tolist())
