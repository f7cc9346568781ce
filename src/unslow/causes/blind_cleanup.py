"""Broken recipe: deleting a temporary folder by a path that was guessed."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from unslow.cause import Cause, Spot
from unslow.syntax import How, argument

if TYPE_CHECKING:
    from unslow.syntax import Source

_DELETERS = (
    "shutil.rmtree",
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    "tf.io.gfile.rmtree",
    "tf.io.gfile.remove",
    "tf.gfile.DeleteRecursively",
    "tf.gfile.Remove",
)
_SHELLS = (
    "os.system",
    "os.popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.Popen",
)
_PATHS = ("pathlib.Path", "pathlib.PosixPath")
_LISTERS = (
    "glob.glob",
    "glob.iglob",
    "os.listdir",
    "os.scandir",
    "tf.io.gfile.glob",
    "tf.io.gfile.listdir",
)
# These ask about a path or speak of it; they are no sign that the file made what lies there.
_ASKERS = (
    *_LISTERS,
    "os.path.exists",
    "os.path.isdir",
    "os.path.isfile",
    "os.path.islink",
    "os.path.getsize",
    "os.walk",
    "os.stat",
    "tf.io.gfile.exists",
    "tf.io.gfile.isdir",
    "shutil.disk_usage",
    "print",
    "len",
    "str",
    "os.path.join",
    "os.path.abspath",
    "os.path.expanduser",
)
_ASKING_METHODS = (
    "exists",
    "is_dir",
    "is_file",
    "iterdir",
    "glob",
    "rglob",
    "info",
    "debug",
    "warning",
    "format",
)
_MAKING_METHODS = ("mkdir", "touch", "write_text", "write_bytes", "open")
_FOLDERS = r"^(?:/tmp|/var/tmp|/dev/shm|/private/tmp|[a-z]:[\\/](?:temp|tmp|windows[\\/]temp))"
_TEMPORARY = re.compile(_FOLDERS + r"(?:[\\/]|$)", re.IGNORECASE)
_ROOT = re.compile(_FOLDERS + r"[\\/]?$", re.IGNORECASE)
_SHELL_DELETE = re.compile(r"^\s*(?:sudo\s+)?rm\s+(?:-\S+\s+)*(\S+)")


class BlindCleanup(Cause):
    """
    What happens

    The script deletes a folder or file under the system's temporary directory by a path that is
    written down in it, and nothing in the file has made that path.

    Why it is slow

    It does not do what it says. TensorFlow keeps no folder of temporary files by a fixed name:
    checkpoints, event files and profiles lie where the script put them. So the path is usually not
    there and nothing is freed; and where it is there, it belongs to another program or another run,
    which loses its files while it works.

    The fix

    Make the folder and clean up what you made: `with tempfile.TemporaryDirectory() as folder: …`.
    Bound what training itself writes where it is written: `tf.train.CheckpointManager(…,
    max_to_keep=3)`, `keras.callbacks.ModelCheckpoint(save_best_only=True)`.

    When we are wrong

    When another program that this script starts writes exactly there, and nobody else does.
    """

    title = "a temporary path is deleted that this file did not make"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        guessed = [(node, path) for node, path in _deleted(source) if _TEMPORARY.match(path)]
        own = _made_paths(source) if guessed else set()
        for node, path in guessed:
            if not any(_related(path, made) for made in own):
                yield source.spot(
                    node,
                    f"this deletes {path}, which nothing in this file makes; if it exists, it is "
                    "someone else's",
                    "with tempfile.TemporaryDirectory() as folder: ...  (or delete only what this "
                    "file created)",
                )


def _deleted(source: Source) -> Iterator[tuple[ast.Call, str]]:
    for call in source.every(ast.Call):
        name = source.name(call.func)
        path: str | None = None
        if name in _DELETERS:
            path = _path_of(source, argument(call, "path", 0))
        elif name in _SHELLS and call.args:
            path = _deleted_by_shell(source, call.args[0])
        elif (
            not name
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("unlink", "rmdir")
        ):
            path = _path_of(source, call.func.value)
        if path is not None:
            yield call, posixpath.normpath(path)


def _deleted_by_shell(source: Source, command: ast.expr) -> str | None:
    if isinstance(command, (ast.List, ast.Tuple)):
        words = [source.text_of(item) for item in command.elts]
        text = " ".join(word or "?" for word in words)
    else:
        text = source.text_of(command) or ""
    found = _SHELL_DELETE.match(text)
    return found.group(1) if found else None


def _path_of(source: Source, expression: ast.expr | None) -> str | None:
    """A path that is written in the file, or the pattern or folder that a loop takes it from."""
    path = source.text_of(expression)
    if path is not None or expression is None:
        return path
    for name in (node for node in ast.walk(expression) if isinstance(node, ast.Name)):
        for binding in source.reaching(name):
            listed = binding.value if binding.how is How.LOOP else None
            if (
                isinstance(listed, ast.Call)
                and listed.args
                and source.name(listed.func) in _LISTERS
            ):
                return source.text_of(listed.args[0])
            method = listed.func if isinstance(listed, ast.Call) else None
            if isinstance(method, ast.Attribute) and method.attr in ("glob", "rglob", "iterdir"):
                return source.text_of(method.value)
    return None


def _made_paths(source: Source) -> set[str]:
    """Every path that the file hands to something which may write there."""
    texts = (source.text_of(value) for value in _handed_on(source))
    return {
        posixpath.normpath(text) for text in texts if text is not None and _TEMPORARY.match(text)
    }


def _handed_on(source: Source) -> Iterator[ast.expr]:
    """What is given to calls, kept in objects and settings, or returned."""
    for call in source.every(ast.Call):
        yield from _given(source, call)
    for mapping in source.every(ast.Dict):
        yield from mapping.values
    for assign in source.every(ast.Assign):
        if not all(isinstance(target, ast.Name) for target in assign.targets):
            yield assign.value
    for arguments in source.every(ast.arguments):
        yield from (
            default
            for default in (*arguments.defaults, *arguments.kw_defaults)
            if default is not None
        )
    yield from (leaving.value for leaving in source.every(ast.Return) if leaving.value is not None)


def _given(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    name = source.name(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) and not name else ""
    if name in (*_ASKERS, *_DELETERS, *_PATHS) or method in _ASKING_METHODS:
        return
    if name in _SHELLS and call.args and _deleted_by_shell(source, call.args[0]):
        return
    yield from (*call.args, *(keyword.value for keyword in call.keywords))
    if method in _MAKING_METHODS and isinstance(call.func, ast.Attribute):
        yield call.func.value


def _related(path: str, made: str) -> bool:
    """Whether a deleted path, which may be a pattern, is one that the file makes, holds it or lies
    in it."""
    if _ROOT.match(path):
        return False  # the whole temporary directory is nobody's own
    fixed = re.split(r"[*?\[]", path)[0]
    if fixed != path:
        return not _ROOT.match(fixed) and (made.startswith(fixed) or path.startswith(made + "/"))
    return path == made or made.startswith(path + "/") or path.startswith(made + "/")
