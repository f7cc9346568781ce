# ruff: noqa
# expect: nothing


def parse(record):
    return record.numpy()[1:]
