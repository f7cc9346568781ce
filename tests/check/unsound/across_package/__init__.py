# ruff: noqa
# expect: nothing
