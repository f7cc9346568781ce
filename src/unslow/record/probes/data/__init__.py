"""Input: tf.data pipelines, Python generators, batches fetched in Python."""
