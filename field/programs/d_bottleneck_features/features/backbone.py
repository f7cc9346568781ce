from keras import Model, layers
from keras import Input


def _separable(x, filters, stride):
    x = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(6.0)(x)
    x = layers.Conv2D(filters, 1, use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU(6.0)(x)


def mobile_backbone(size, alpha, blocks):
    """Truncated MobileNet; weights come from the shared store when it is mounted."""
    inputs = Input((size, size, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.Conv2D(int(32 * alpha), 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(6.0)(x)
    filters = 64
    for i in range(blocks):
        x = _separable(x, int(filters * alpha), 2 if i % 2 else 1)
        filters = min(512, filters * (2 if i % 2 else 1))
    base = Model(inputs, layers.GlobalAveragePooling2D()(x), name="backbone")
    base.trainable = False
    return base
