# Builds a feature index of a photo directory (one vector per photo) for similarity search.
import glob
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

PHOTOS = 150
SIDE = 64


def demo_directory():
    folder = tempfile.mkdtemp(prefix="photos_")
    rng = np.random.RandomState(2)
    with tf.Graph().as_default(), tf.Session() as sess:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        encode = tf.image.encode_jpeg(pixels)
        blobs = [sess.run(encode, {pixels: rng.randint(0, 255, (80, 90, 3)).astype(np.uint8)}) for _ in range(10)]
    for i in range(PHOTOS):
        with open(os.path.join(folder, "img%05d.jpg" % i), "wb") as f:
            f.write(blobs[i % 10])
    return folder


def read_photo(sess, path):
    data = tf.read_file(path)
    photo = tf.image.decode_jpeg(data, channels=3)
    photo = tf.image.convert_image_dtype(photo, tf.float32)
    photo = tf.image.resize_images(photo, [SIDE, SIDE])
    photo = tf.image.per_image_standardization(photo)
    return sess.run(photo)


def network(images):
    x = images
    channels = 3
    for n, width in enumerate([8, 16, 32]):
        with tf.variable_scope("conv%d" % n):
            w = tf.get_variable("w", [3, 3, channels, width], initializer=tf.glorot_uniform_initializer(seed=n))
            x = tf.nn.relu(tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"))
            channels = width
    x = tf.reduce_mean(x, [1, 2])
    return tf.nn.l2_normalize(x, 1)


def main():
    folder = demo_directory()
    images = tf.placeholder(tf.float32, [None, SIDE, SIDE, 3], name="images")
    features = network(images)
    index = {}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for path in sorted(glob.glob(os.path.join(folder, "*.jpg"))):
            photo = read_photo(sess, path)
            index[os.path.basename(path)] = sess.run(features, {images: photo[None]})[0]
    np.savez(os.path.join(folder, "index.npz"), **index)
    print("%d vectors of width %d" % (len(index), len(next(iter(index.values())))))


if __name__ == "__main__":
    main()
