"""What each error means and what to do about it, for `unslow explain` and the generated pages."""

from __future__ import annotations

ERRORS: dict[str, tuple[str, str]] = {
    "no-script": (
        "the script to run does not exist",
        "unslow runs the very command that you would type without it, from the same directory. Check the path, or "
        "use `unslow run -m package.module` for a module and `unslow run -- command …` for any other program.",
    ),
    "no-command": (
        "the command could not be started",
        "The operating system could not start the program: it is not on the PATH, or it may not be executed. "
        "Type the command without unslow first; once that works, put `unslow run --` before it.",
    ),
    "attach": (
        "a running process could not be recorded",
        "`unslow attach PID` starts the recorder inside a Python process that has imported TensorFlow. It needs the "
        "right to trace the process (ptrace): the same user or root, in a container `--cap-add=SYS_PTRACE`, and a "
        "`kernel.yama.ptrace_scope` of 0 where the process is not a child of the shell. The way in is "
        "`sys.remote_exec` on Python 3.14 and later, else hypno (`pip install 'unslow[attach]'`) or gdb. A process "
        "in a long native call answers when it comes back to Python.",
    ),
    "no-runs": (
        "no recorded run was found",
        "Runs are recorded in `.unslow/` below the directory in which `unslow run` was typed. Change to that "
        "directory, or give the path of a run folder. `unslow runs` lists those of the current directory.",
    ),
    "no-steps": (
        "no training step was seen",
        "A step is a change of trainable weights: an optimizer's update, a compiled function that writes weights, a "
        "Session.run that leads to such a write, or Keras's own training loop. A script that only builds a model, "
        "predicts, or trains in a process started with `python -I` or `-E` has none that unslow can see. Is another "
        "file the training script?",
    ),
    "bad-run-folder": (
        "the run folder cannot be read",
        "A run folder holds run.json and two logs per process. It may have been moved, emptied, or written by a "
        "later unslow; the message says which. Logs that are merely cut off (a kill, a full disk) are read as far "
        "as they go.",
    ),
    "folder-in-use": (
        "the folder for the recording is not empty",
        "Every run needs a folder of its own, so that no earlier recording is lost. Name another one with --out, or "
        "leave --out away.",
    ),
    "unknown-name": (
        "there is no such cause or error",
        "`unslow explain` without a name lists all of them.",
    ),
    "source-changed": (
        "the source has changed since the run",
        "A fix is made for the lines as they were recorded. Record the changed script again: unslow run …",
    ),
    "no-fix": (
        "nothing can be fixed automatically",
        "The report says for each finding what to do in words, and why no diff was written.",
    ),
    "missing-extra": (
        "an optional package is needed",
        "Some exports use packages that unslow does not install by itself, because they are large or because they "
        "would change packages of a training environment. The message names the one to install.",
    ),
    "cannot-write": (
        "a file could not be written",
        "The message names the path and the reason: no such folder, no permission, or a full disk. Name another place "
        "with -o.",
    ),
    "cannot-prove": (
        "the two scripts could not be compared",
        "Both must train at least a few steps under the same command. The message names the one that did not, and why.",
    ),
    "unknown-setting": (
        "there is no such setting",
        "`unslow whatif --list` names all settings and their groups; --only takes either, with commas between them.",
    ),
    "too-few-steps": (
        "the script ends before enough steps were made",
        "A trial needs at least five steps, and as many as --steps asks for. Let the script train longer (its own "
        "options go after its name), or ask for fewer steps.",
    ),
    "cannot-measure": (
        "the script fails before any setting is changed",
        "`unslow whatif` first runs the script as it is, in a copy of its directory. The message ends in the script's "
        "own error; paths that lead out of the directory must be absolute.",
    ),
}
