# mask: \d+(ms|s|us)(/step)?
import tensorflow as tf
from training import keras_data, keras_model

model = keras_model()
x, y = keras_data()
history = model.fit(x, y, epochs=3, batch_size=16, verbose=2, validation_split=0.25, shuffle=False)
print(history.history, history.epoch)
model.summary()
