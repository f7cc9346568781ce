"""Input pipelines: how long steps wait for data, and which stage is responsible."""
