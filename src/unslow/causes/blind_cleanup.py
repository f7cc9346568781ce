"""Broken recipe: deleting a temporary folder by a guessed path."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator

from unslow.cause import Cause, Spot
from unslow.syntax import How, Source, argument
from unslow.syntax.nodes import given_values, method_of

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
# These only ask about a path or print it: the file need not have created what is there.
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
    The script deletes a folder or file below the system's temporary directory by a hard-coded
    path, and nothing in the file creates that path.

    Why it is slow
    The code does not do what it says. TensorFlow keeps no temporary folder of a fixed name:
    checkpoints, event files and profiles are where the script put them. Usually the path does not
    exist and nothing is freed. If it does exist, it belongs to another program or another run,
    which loses its files while it works.

    The fix
    Clean up what you created: `with tempfile.TemporaryDirectory() as folder: …`. Limit what the
    training writes: `tf.train.CheckpointManager(…, max_to_keep=3)`,
    `keras.callbacks.ModelCheckpoint(save_best_only=True)`.

    When we are wrong
    If another program that this script starts writes exactly there, and nobody else does.
    """

    title = "a temporary path is deleted that this file did not make"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        guessed = [(node, path) for node, path in _deleted(source) if _TEMPORARY.match(path)]
        own = _made_paths(source) if guessed else set()
        for node, path in guessed:
            if not any(_is_related(path, made) for made in own):
                yield source.spot(
                    node,
                    f"this deletes {path}, which nothing in this file creates; if it exists, it "
                    "belongs to something else",
                    "with tempfile.TemporaryDirectory() as folder: ...  (or delete only what this "
                    "file created)",
                )


def _deleted(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """The calls that delete something, and its path."""
    for call in source.every(ast.Call):
        path = _deleted_path(source, call)
        if path is not None:
            yield call, posixpath.normpath(path)


def _deleted_path(source: Source, call: ast.Call) -> str | None:
    name = source.name(call.func)
    if name in _DELETERS:
        return _path_of(source, argument(call, "path", 0))
    if name in _SHELLS and call.args:
        return _deleted_by_shell(source, call.args[0])
    match call.func:
        case ast.Attribute(value=path, attr="unlink" | "rmdir") if not name:
            return _path_of(source, path)
    return None


def _deleted_by_shell(source: Source, command: ast.expr) -> str | None:
    words = command.elts if isinstance(command, (ast.List, ast.Tuple)) else [command]
    text = " ".join(source.text_of(word) or "?" for word in words)
    found = _SHELL_DELETE.match(text)
    return found.group(1) if found else None


def _path_of(source: Source, expression: ast.expr | None) -> str | None:
    """A path that is written in the file, or the pattern or folder that a loop takes it from."""
    path = source.text_of(expression)
    if path is not None or expression is None:
        return path
    names = [node for node in ast.walk(expression) if isinstance(node, ast.Name)]
    bindings = [binding for name in names for binding in source.reaching(name)]
    for binding in bindings:
        folder = _listed_folder(source, binding.value) if binding.how is How.LOOP else None
        if folder is not None:
            return source.text_of(folder)
    return None


def _listed_folder(source: Source, iterable: ast.expr | None) -> ast.expr | None:
    """The folder or pattern whose files an expression lists."""
    match iterable:
        case ast.Call(func=function, args=[folder, *_]) if source.name(function) in _LISTERS:
            return folder
        case ast.Call(func=ast.Attribute(value=folder, attr="glob" | "rglob" | "iterdir")):
            return folder
    return None


def _made_paths(source: Source) -> set[str]:
    """Every temporary path that the file passes to something that may write there."""
    texts = [source.text_of(value) for value in _passed_on(source)]
    return {posixpath.normpath(text) for text in texts if text and _TEMPORARY.match(text)}


def _passed_on(source: Source) -> Iterator[ast.expr]:
    """What is given to calls, kept in objects and settings, or returned."""
    for call in source.every(ast.Call):
        yield from _given(source, call)
    for mapping in source.every(ast.Dict):
        yield from mapping.values
    for assign in source.every(ast.Assign):
        if not all(isinstance(target, ast.Name) for target in assign.targets):
            yield assign.value
    for arguments in source.every(ast.arguments):
        yield from filter(None, (*arguments.defaults, *arguments.kw_defaults))
    for leaving in source.every(ast.Return):
        if leaving.value is not None:
            yield leaving.value


def _given(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """What a call may write to: not the paths that it only asks about or deletes."""
    name = source.name(call.func)
    method = "" if name else method_of(call)
    if name in (*_ASKERS, *_DELETERS, *_PATHS) or method in _ASKING_METHODS:
        return
    if name in _SHELLS and call.args and _deleted_by_shell(source, call.args[0]):
        return
    yield from given_values(call)
    if method in _MAKING_METHODS and isinstance(call.func, ast.Attribute):
        yield call.func.value


def _is_related(path: str, made: str) -> bool:
    """Whether a deleted path or pattern is, holds or lies in a path that the file makes."""
    if _ROOT.match(path):
        return False  # the whole temporary directory belongs to nobody
    fixed = re.split(r"[*?\[]", path)[0]
    is_pattern = fixed != path
    if is_pattern and _ROOT.match(fixed):
        return False
    holds = made.startswith(fixed if is_pattern else f"{path}/")
    return holds or path == made or path.startswith(f"{made}/")
