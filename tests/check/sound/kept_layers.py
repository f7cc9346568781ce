# ruff: noqa
# expect: nothing

from tensorflow.keras import Input, Sequential, layers

model = Sequential(
    [
        Input(batch_shape=(16, 10, 3)),
        layers.LSTM(8, stateful=True, return_sequences=True),
        layers.InputLayer(batch_input_shape=(2, 3)),
        layers.Dense(4, input_shape=(8,)),
        layers.Embedding(10, output_dim=4, input_length=3),
        layers.LeakyReLU(alpha=0.1),
        layers.Dropout(rate=0.5),
    ]
)
