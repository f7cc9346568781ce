class Registry(dict):
    def register(self, name):
        def add(item):
            self[name] = item
            return item
        return add

    def build(self, spec, *args):
        spec = dict(spec)
        return self[spec.pop("type")](*args, **spec)


MODELS, HOOKS, DATASETS = Registry(), Registry(), Registry()
