"""Values are followed to the literal that gives them, or to the one thing in the way."""

from __future__ import annotations

import ast

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.eager_flag import flag_off
from unslow.fix.moves.run_less_often import rarer
from unslow.syntax.literals import Literal, Obstacle, find_literal

MODULES = {
    "config.py": "EAGER = True\nSETTINGS = {'eager': True, 'steps': 10}\n",
    "deep/__init__.py": "",
    "deep/values.py": "from config import EAGER as FLAG\n",
}


def found(code: str) -> Literal[Script]:
    script = Script("train.py", code, MODULES)
    call = script.call_at(script.lines.count - 1, "use")
    assert call is not None
    return find_literal(script, call.args[0])


_PARSER = (
    "def parse():\n    p = argparse.ArgumentParser()\n"
    "    p.add_argument('--eager', default=True)\n    return p.parse_args()\n"
)
_BASE = "D = {'eager': True}\n"
SHAPES = {
    "options of a function": (f"{_PARSER}args = parse()\nuse(args.eager)\n", "train.py", 3),
    "returned dictionary": (
        "def config():\n    return {'eager': True}\ncfg = config()\nuse(cfg['eager'])\n",
        "train.py",
        2,
    ),
    "joined dictionary": (f"{_BASE}c = {{**D, 'x': 1}}\nuse(c['eager'])\n", "train.py", 1),
    "later one of a joined dictionary": (
        "D = {'eager': False}\nc = {**D,\n 'eager': True}\nuse(c['eager'])\n",
        "train.py",
        3,
    ),
    "dict of a dictionary": (f"{_BASE}c = dict(D, x=1)\nuse(c['eager'])\n", "train.py", 1),
    "copied dictionary": (f"{_BASE}c = D.copy()\nuse(c['eager'])\n", "train.py", 1),
    "dictionary by |": (f"{_BASE}c = {{'x': 1}} | D\nuse(c['eager'])\n", "train.py", 1),
    "unpacked namespace": (
        f"import types\n{_BASE}c = types.SimpleNamespace(**D)\nuse(c.eager)\n",
        "train.py",
        2,
    ),
    "replaced dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    eager: bool = True\n    n: int = 1\n"
        "c = dataclasses.replace(C(), n=2)\nuse(c.eager)\n",
        "train.py",
        4,
    ),
    "namedtuple": (
        "import collections\nC = collections.namedtuple('C', 'n eager')\nc = C(3, True)\nuse(c.eager)\n",
        "train.py",
        3,
    ),
    "property": (
        "class C:\n    @property\n    def eager(self):\n        return True\nc = C()\nuse(c.eager)\n",
        "train.py",
        4,
    ),
    "flag of absl": (
        "from absl import flags\nFLAGS = flags.FLAGS\nflags.DEFINE_boolean('eager', True, 'x')\n"
        "use(FLAGS.eager)\n",
        "train.py",
        3,
    ),
    "default where nothing is given": (
        "D = True\ndef f(given=None):\n    return D if given is None else given\nuse(f())\n",
        "train.py",
        1,
    ),
    "itself": ("use(True)\n", "train.py", 1),
    "module constant": ("EAGER = True\nuse(EAGER)\n", "train.py", 1),
    "name of a name": ("A = True\nB = A\nuse(B)\n", "train.py", 1),
    "dictionary": ("cfg = {'x': 1, 'eager': True}\nuse(cfg['eager'])\n", "train.py", 1),
    "nested dictionary": ("cfg = {'a': {'b': True}}\nuse(cfg['a']['b'])\n", "train.py", 1),
    "dict()": ("cfg = dict(\n    eager=True\n)\nuse(cfg['eager'])\n", "train.py", 2),
    "get": ("cfg = {'eager': True}\nuse(cfg.get('eager', False))\n", "train.py", 1),
    "default of get": ("cfg = {}\nuse(cfg.get('eager', True))\n", "train.py", 2),
    "converted": ("EAGER = True\nuse(bool(EAGER))\n", "train.py", 1),
    "dataclass default": (
        "@dataclass\nclass Config:\n    eager: bool = True\ncfg = Config()\nuse(cfg.eager)\n",
        "train.py",
        3,
    ),
    "dataclass argument": (
        "@dataclass\nclass Config:\n    eager: bool = False\ncfg = Config(eager=True)\nuse(cfg.eager)\n",
        "train.py",
        4,
    ),
    "dataclass argument by position": (
        "@dataclass\nclass Config:\n    n: int\n    eager: bool\ncfg = Config(3, True)\nuse(cfg.eager)\n",
        "train.py",
        5,
    ),
    "default of a field": (
        "from dataclasses import dataclass, field\n@dataclass\nclass Config:\n    eager: bool = field(default=True)\n"
        "cfg = Config()\nuse(cfg.eager)\n",
        "train.py",
        4,
    ),
    "field that makes an object": (
        "import dataclasses\n@dataclass\nclass Part:\n    eager: bool = True\n@dataclass\nclass Config:\n"
        "    part: Part = dataclasses.field(default_factory=Part)\ncfg = Config()\nuse(cfg.part.eager)\n",
        "train.py",
        4,
    ),
    "field that makes an object by a lambda": (
        "import dataclasses\n@dataclass\nclass Part:\n    eager: bool = False\n@dataclass\nclass Config:\n"
        "    part: Part = dataclasses.field(default_factory=lambda: Part(eager=True))\ncfg = Config()\n"
        "use(cfg.part.eager)\n",
        "train.py",
        7,
    ),
    "class as a namespace": (
        "class Config:\n    eager = True\nuse(Config.eager)\n",
        "train.py",
        2,
    ),
    "namespace": (
        "import types\ncfg = types.SimpleNamespace(eager=True)\nuse(cfg.eager)\n",
        "train.py",
        2,
    ),
    "argparse default": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--run-eagerly', default=True)\n"
        "args = p.parse_args()\nuse(args.run_eagerly)\n",
        "train.py",
        3,
    ),
    "default of a function": ("def f(eager=True):\n    return 1\nf()\n", "train.py", 1),
    "argument of the one call": ("def f(eager):\n    return 1\nf(eager=True)\n", "train.py", 3),
    "import from another file": ("from config import EAGER\nuse(EAGER)\n", "config.py", 1),
    "attribute of another file": ("import config\nuse(config.EAGER)\n", "config.py", 1),
    "item of another file": (
        "from config import SETTINGS\nuse(SETTINGS['eager'])\n",
        "config.py",
        2,
    ),
    "through two files": ("from deep.values import FLAG\nuse(FLAG)\n", "config.py", 1),
    "attribute of self": (
        "class T:\n    def __init__(self):\n        self.eager = True\n    def go(self):\n"
        "        use(self.eager)\n",
        "train.py",
        3,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_literal_is_found(shape: str) -> None:
    code, file, line = SHAPES[shape]
    if "return 1" in code:
        code = code.replace("return 1", "use(eager)")
        script = Script("train.py", code, MODULES)
        call = script.call_at(2, "use")
        assert call is not None
        literal = find_literal(script, call.args[0])
    else:
        literal = found(code)
    assert (literal.source.path, literal.node.lineno, literal.value) == (file, line, True)


OBSTACLES = {
    "in more than one place": ("x = True\nif y:\n    x = False\nuse(x)\n", 3),
    "is set again here": ("c = {'e': True}\nc['e'] = False\nuse(c['e'])\n", 2),
    "comes from the command line ('store_true')": (
        "p.add_argument('--e', action='store_true')\na = p.parse_args()\nuse(a.e)\n",
        1,
    ),
    "computed by `os.getenv('E') == '1'`": ("import os\nE = os.getenv('E') == '1'\nuse(E)\n", 2),
    "changes here": ("for e in flags:\n    use(e)\n", 1),
    "give different values": ("def f(e):\n    use(e)\nf(True)\nf(False)\n", 4),
    "has no 'e'": ("c = {'f': 1}\nuse(c['e'])\n", 1),
    "is not a module of this program": ("from absent import E\nuse(E)\n", 1),
    "gives its value": ("c = load()\nuse(c.e)\n", 1),
}


@pytest.mark.parametrize("reason", OBSTACLES)
def test_the_one_obstacle_is_named_with_its_line(reason: str) -> None:
    code, line = OBSTACLES[reason]
    script = Script("train.py", code, MODULES)
    call = next(each for each in script.every(ast.Call) if ast.unparse(each.func) == "use")
    with pytest.raises(Obstacle) as problem:
        find_literal(script, call.args[0])
    assert reason in problem.value.reason
    assert problem.value.line == line


def test_a_flag_of_a_configuration_is_set_off_where_it_is_written() -> None:
    script = Script("a.py", "cfg = {'eager': True}\nm.compile(run_eagerly=cfg['eager'])\n")
    edited = flag_off(script, 2, "compile")
    assert edited.files == {"a.py": script.text.replace("True", "False")}


def test_a_flag_of_another_file_is_set_off_there() -> None:
    script = Script("a.py", "import config\nm.compile(run_eagerly=config.EAGER)\n", MODULES)
    edited = flag_off(script, 2, "compile")
    assert edited.files == {
        "config.py": MODULES["config.py"].replace("EAGER = True", "EAGER = False")
    }


def test_an_interval_of_a_configuration_is_changed_where_it_is_written() -> None:
    text = (
        "cfg = {'every': 10}\nfor i in range(9):\n    if i % cfg['every'] == 0:\n        save()\n"
    )
    assert "{'every': 500}" in rarer(Script("a.py", text), 4, 50).text


def test_a_refusal_names_the_line_of_the_obstacle() -> None:
    text = "p.add_argument('--d', action='store_true')\na = p.parse_args()\nm.compile(run_eagerly=a.d)\n"
    with pytest.raises(CannotEdit) as problem:
        flag_off(Script("a.py", text), 3, "compile")
    assert problem.value.line == 1


def test_a_flag_that_is_negated_is_switched_the_other_way() -> None:
    text = "FAST = False\nmodel.compile(run_eagerly=not FAST)\n"
    assert flag_off(Script("a.py", text), 2, "compile").text.startswith("FAST = True\n")


def test_what_a_call_unpacks_is_followed() -> None:
    text = (
        "CFG = {'eager': True}\ndef build(eager=False):\n    model.compile(run_eagerly=eager)\n"
        "build(**CFG)\n"
    )
    assert flag_off(Script("a.py", text), 3, "compile").text.startswith("CFG = {'eager': False}\n")
