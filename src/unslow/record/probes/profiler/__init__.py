"""Windows of TensorFlow's profiler, and profilers that the program turned on."""
