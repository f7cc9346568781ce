raise RuntimeError("a sitecustomize that fails")
