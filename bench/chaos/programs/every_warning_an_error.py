# run: {python} -W error -u -B every_warning_an_error.py
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # TensorFlow's own import warns
    from training import train

print(train(60), warnings.filters[0][0])
