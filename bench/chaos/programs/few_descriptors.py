import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

from training import fit, keras_model, train  # noqa: E402

print(train(100))
fit(keras_model(), epochs=3)
