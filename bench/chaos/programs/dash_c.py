# run: {python} -c 'import training; print(training.train(), __name__)' one two
