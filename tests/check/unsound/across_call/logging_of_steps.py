# ruff: noqa
# expect: nothing


def show(value):
    print("value", value.numpy())
