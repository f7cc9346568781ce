# ruff: noqa
# expect: removed-argument 8

from tensorflow.keras import Sequential
from tensorflow.keras.layers import LSTM, Dense

model = Sequential()
model.add(LSTM(8, batch_input_shape=(16, 10, 3), stateful=True))
model.add(Dense(1))
