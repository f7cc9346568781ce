# env: PYTHONMALLOC=debug PYTHONASYNCIODEBUG=1 MALLOC_PERTURB_=165 PYTHONFAULTHANDLER=1
from training import fit, keras_model, train

print(train(200))
fit(keras_model())
