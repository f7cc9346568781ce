import builtins

VALUE = 41
builtins.from_site = "chained"
print("in sitecustomize")
