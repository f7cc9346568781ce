"""What is known of the graph of a TF1-style session: which fetches update its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unslow.record.engine.foreign import Foreign

_UPDATES = ("ResourceApply", "ResourceSparseApply", "Apply", "SparseApply", "ResourceKeras")
_VARIABLES = ("VarHandleOp", "Variable", "VariableV2")
_ASSIGNS = ("Assign", "AssignVariableOp")
_MOST_FETCHES = 10_000
# What a target network or an average of weights is computed with.
_MIXING = frozenset(
    (
        "Add",
        "AddV2",
        "Cast",
        "Const",
        "Identity",
        "Mul",
        "Neg",
        "ReadVariableOp",
        "RealDiv",
        "Sub",
        "VarHandleOp",
        "Variable",
        "VariableV2",
    )
)
# What weights are masked, clipped or scaled with: each stays a function of itself.
_PROJECTING = frozenset(
    (
        "Abs",
        "Cast",
        "ClipByValue",
        "Const",
        "Greater",
        "GreaterEqual",
        "Identity",
        "Less",
        "LessEqual",
        "Maximum",
        "Minimum",
        "Mul",
        "Placeholder",
        "ReadVariableOp",
        "RealDiv",
        "Select",
        "SelectV2",
        "Sqrt",
        "Square",
        "Sum",
        "VarHandleOp",
        "Variable",
        "VariableV2",
    )
)


class SessionGraph:
    """One graph, and what the sessions that run it have in common."""

    def __init__(self, graph: Foreign) -> None:
        self.graph = graph
        self.nodes = 0  # at the last update
        self.size = 0.0  # of what was fed to it
        self.looked_at = False
        self.trained = False  # something has updated weights that does not only project them
        self.sessions = 0  # that were opened for it
        # By fetches: nanoseconds of the shortest run, a session's first one left out.
        self.usual: dict[Foreign, int] = {}
        # Cheap where TensorFlow keeps its graphs in C++ (seen on 2.21).
        counted = getattr(graph, "num_operations", None)
        self.count: Callable[[], int] = counted or (lambda: int(graph.version))
        self._fetches: dict[Foreign, bool] = {}
        self._projecting: dict[Foreign, bool] = {}
        self._starting: dict[Foreign, bool] = {}
        self._ops: dict[str, bool] = {}
        self._trainable: tuple[int, dict[str, str]] = (-1, {})

    def updates(self, key: object, fetches: object) -> bool:
        """Whether a run of these fetches trains; `key` is theirs."""
        return _remembered(
            self._fetches,
            key,
            lambda: any(self._leads_to_update(op) for op in self.operations(fetches)),
        )

    def only_projects(self, key: object, fetches: object) -> bool:
        """Whether a run of these fetches, which writes weights, only masks, clips or scales them.

        That belongs to the update before it.
        """

        def projects() -> bool:
            writes: list[Foreign] = []
            for op in self.operations(fetches):
                grouped = [] if op.type in _ASSIGNS else [*_inputs(op), *op.control_inputs]
                writes += [each for each in (op, *grouped) if each.type in _ASSIGNS]
                if any(self._leads_to_update(each) for each in grouped if each not in writes):
                    return False
            return len(writes) > 0 and all(self._is_projection(op) for op in writes)

        return _remembered(self._projecting, key, projects)

    def _is_projection(self, assign: Foreign) -> bool:
        """Whether a weight is given a value that is made of itself; nothing else is run first."""
        variable = assign.inputs[0].op.name
        pending, seen = [assign, assign.inputs[1].op], {assign.name}
        while pending:
            op = pending.pop()
            is_weight = op.type in _VARIABLES
            is_other = op is not assign and op.type not in _PROJECTING
            if is_other or (is_weight and op.name != variable):
                return False
            if any(self._leads_to_update(each) for each in op.control_inputs):
                return False
            if op.name not in seen:
                seen.add(op.name)
                pending.extend(_inputs(op))
        return variable in seen

    def starts(self, key: object, fetches: object) -> bool:
        """Whether a run of these fetches, which does not train, starts a pipeline again."""

        def starts() -> bool:
            asked = self.operations(fetches)
            behind = [op for one in asked for op in one.control_inputs]
            return any(op.type == "MakeIterator" for op in (*asked, *behind))

        return _remembered(self._starting, key, starts)

    def operations(self, fetches: Foreign) -> list[Foreign]:
        if isinstance(fetches, dict):
            return [op for value in fetches.values() for op in self.operations(value)]
        if isinstance(fetches, list | tuple):
            return [op for value in fetches for op in self.operations(value)]
        if isinstance(fetches, str):
            element = self.graph.as_graph_element(fetches)
            return [getattr(element, "op", element)]
        op = getattr(fetches, "op", None)
        if op is None and hasattr(fetches, "control_inputs"):
            op = fetches
        return [] if op is None else [op]

    def _leads_to_update(self, start: Foreign) -> bool:
        """Walk back through inputs; no op is walked twice, so that growth stays cheap."""
        pending, walked = [start], []
        while pending:
            op = pending.pop()
            known = self._ops.get(op.name)
            if known is None:
                self._ops[op.name] = False
                walked.append(op.name)
                known = self._is_update(op)
                pending.extend(tensor.op for tensor in op.inputs)
                pending.extend(op.control_inputs)
            if known:
                for name in walked:
                    del self._ops[name]  # some of them lead here too: unknown again
                self._ops[start.name] = True
                return True
        return False

    def _is_update(self, op: Foreign) -> bool:
        kind = op.type
        if kind.startswith(_UPDATES):
            return True
        if not kind.startswith(("Assign", "ResourceScatter", "Scatter")) or not op.inputs:
            return False
        variable = op.inputs[0].op.name
        if variable not in self._shapes():
            return False
        if not kind.startswith("Assign"):
            return True
        value = op.inputs[1].op
        if kind in ("Assign", "AssignVariableOp") and not _depends_on(value, variable):
            return False  # an initializer or a restore does not read what it writes
        return not self._mixes(value, variable)

    def _mixes(self, op: Foreign, variable: str) -> bool:
        """Whether a value is computed from weights of one shape alone, as a target network's is."""
        shapes = self._shapes()
        seen = set()
        for each in _made_from(op):
            if each.type not in _MIXING:
                return False
            seen.add(each.name)
        return any(shapes.get(name) == shapes[variable] for name in seen - {variable})

    def _shapes(self) -> dict[str, str]:
        """Of all trainable variables, by the names of their ops."""
        variables = self.graph.get_collection("trainable_variables")
        if self._trainable[0] != len(variables):
            shapes = {variable.op.name: str(variable.shape) for variable in variables}
            self._trainable = (len(variables), shapes)
        return self._trainable[1]


def _made_from(op: Foreign) -> Iterator[Foreign]:
    """An op and those that it is computed from, each once."""
    pending, seen = [op], set()
    while pending:
        op = pending.pop()
        if op.name not in seen:
            seen.add(op.name)
            yield op
            pending.extend(tensor.op for tensor in op.inputs)


def _depends_on(op: Foreign, variable: str) -> bool:
    return any(each.name == variable for each in _made_from(op))


def _remembered(known: dict[Foreign, bool], key: Foreign, answer: Callable[[], bool]) -> bool:
    found = known.get(key)
    if found is None:
        if len(known) > _MOST_FETCHES:
            known.clear()
        found = known[key] = answer()
    return found


def _inputs(op: Foreign) -> list[Foreign]:
    return [tensor.op for tensor in op.inputs]


def key_of(fetches: Foreign) -> Foreign:
    """What distinguishes fetches from others of the same graph."""
    if isinstance(fetches, list | tuple):
        return tuple(key_of(value) for value in fetches)
    if isinstance(fetches, dict):
        return tuple(key_of(value) for value in fetches.values())
    return fetches if isinstance(fetches, str) else id(fetches)
