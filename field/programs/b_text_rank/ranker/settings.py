import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

QUERIES = 1920
TERMS = 4000
QUERY_LEN = 8
DOC_LEN = 40
BATCH = 64
EPOCHS = 2
NUMERIC_CHECKS = True
REPORT = "out/report.json"
