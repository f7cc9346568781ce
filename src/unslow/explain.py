"""What each error means and what to do about it, for `unslow explain` and the generated pages."""

from __future__ import annotations

from collections.abc import Collection

ERRORS: dict[str, tuple[str, str]] = {
    "no-script": (
        "there is no Python script to run",
        "unslow runs the command that you would type without it, from the same directory. Check "
        "the path. A folder needs a `__main__.py`. Use `unslow run -m package.module` for a "
        "module and `unslow run -- command …` for any other program.",
    ),
    "no-command": (
        "the command could not be started",
        "The operating system could not start the program: it is not on the PATH, or it may not "
        "be executed. Type the command without unslow first; once that works, put `unslow run "
        "--` before it.",
    ),
    "attach": (
        "a running process could not be recorded",
        "`unslow attach PID` starts the recorder inside a Python process that has imported "
        "TensorFlow. It needs the "
        "right to trace the process (ptrace): the same user or root, in a container "
        "`--cap-add=SYS_PTRACE`, and a "
        "`kernel.yama.ptrace_scope` of 0 where the process is not a child of the shell. The way in "
        "is "
        "`sys.remote_exec` on Python 3.14 and later, else hypno (`pip install 'unslow[attach]'`) "
        "or gdb. A process "
        "in a long native call answers when it comes back to Python.",
    ),
    "watch": (
        "a run could not be watched",
        "`unslow watch` takes a run folder or part of its name, the number of a process of this "
        "machine, or a folder "
        "that holds runs (`.unslow`). Metrics are served on loopback only; a webhook and an OTLP "
        "endpoint are http "
        "addresses.",
    ),
    "no-tensorflow": (
        "no process of the command imported TensorFlow",
        "Recording starts when a Python process imports TensorFlow. A script that ends before "
        "(a syntax error, a missing package) shows its own traceback above. A training in a "
        "process started with `python -I` or `-E` cannot be seen.",
    ),
    "no-runs": (
        "no recorded run was found",
        "Runs are recorded in `.unslow/` below the directory in which `unslow run` was typed. "
        "Change to that directory, or give the path of a run folder. `unslow runs` lists those "
        "of the current directory.",
    ),
    "ambiguous-run": (
        "several runs match the name",
        "Part of a run's name is enough where only one run has it. Type more of the name, or "
        "the path of the folder. `unslow runs` lists the names.",
    ),
    "bad-settings": (
        "the settings file is wrong",
        "Settings are read from `unslow.toml`, or from `[tool.unslow]` in `pyproject.toml`, of "
        "the current directory or the nearest one above it. The message names the line. `unslow "
        "config` shows what is in force.",
    ),
    "usage": (
        "the command line is wrong",
        "Options of unslow go before the script, those of the script after it. `unslow COMMAND "
        "--help` lists the options.",
    ),
    "no-steps": (
        "no training step was seen",
        "A step is a change of trainable weights: an optimizer's update, a compiled function "
        "that writes weights, a Session.run that leads to such a write, or Keras's own training "
        "loop. A script that only builds a model, predicts, or trains in a process started with "
        "`python -I` or `-E` has none that unslow can see. Is another file the training script?",
    ),
    "bad-run-folder": (
        "the run folder cannot be read",
        "A run folder holds run.json and two logs per process. It may have been moved, emptied, "
        "or written by a later unslow; the message says which. Logs that are merely cut off (a "
        "kill, a full disk) are read up to that point, and the report calls them damaged.",
    ),
    "folder-in-use": (
        "the folder for the recording is not empty",
        "Every run needs a folder of its own, so that no earlier recording is lost. Name "
        "another one with --out, or omit --out. The processes of one job share a folder: those "
        "with the same cluster in TF_CONFIG, the same Slurm, MPI or Ray job, or the same "
        "UNSLOW_JOB.",
    ),
    "comment": (
        "a comment could not be written",
        "`unslow comment FILE` works in jobs of GitHub Actions and GitLab CI that belong to a pull "
        "or merge request. On GitHub the job needs `permissions: pull-requests: write` and the "
        "token in GITHUB_TOKEN; a pull request from a fork has a token that cannot write. On "
        "GitLab UNSLOW_TOKEN is a project access token with the scope `api`.",
    ),
    "bad-cluster": (
        "the workers cannot be started",
        "`unslow run --workers N` starts N processes on this machine and tells each its place "
        "with TF_CONFIG. Inside a job that an engine has started (TF_CONFIG is set), record "
        "each process into one folder instead: `unslow run --out SHARED/job train.py`.",
    ),
    "unknown-name": (
        "there is no such command, cause or error",
        "`unslow --help` lists the commands, `unslow explain` the causes and errors.",
    ),
    "source-changed": (
        "the source has changed since the run",
        "A fix is made for the lines as they were recorded. Record the changed script again: "
        "unslow run …",
    ),
    "no-fix": (
        "nothing can be fixed automatically",
        "The report says what to do for each finding, and why no diff was written.",
    ),
    "missing-extra": (
        "an optional package is needed",
        "Some exports use packages that unslow does not install by itself, because they are "
        "large or would change packages of a training environment. The message names the one to "
        "install.",
    ),
    "cannot-write": (
        "a file could not be written",
        "The message names the path and the reason: no such folder, no permission, or a full "
        "disk. Name another path.",
    ),
    "cannot-prove": (
        "the two scripts could not be compared",
        "Both must train at least a few steps under the same command. The message names the one "
        "that did not, and why.",
    ),
    "unknown-setting": (
        "there is no such setting",
        "`unslow whatif --list` lists all settings and their groups; --only takes either, "
        "separated by commas.",
    ),
    "too-few-steps": (
        "the script ends after too few steps",
        "A trial needs at least five steps, and as many as --steps asks for. Let the script "
        "train longer (its own options go after its name), or ask for fewer steps.",
    ),
    "cannot-measure": (
        "the script fails before any setting is changed",
        "`unslow whatif` first runs the script as it is, in a copy of its directory. The "
        "message ends in the script's own error; paths to files outside the directory must be "
        "absolute.",
    ),
}


def flowing(text: str, headings: Collection[str]) -> str:
    """The text with one line per paragraph, for a terminal that wraps lines itself."""
    lines: list[str] = []
    is_open = False  # whether the next line continues the last one
    for line in text.splitlines():
        is_apart = not line.strip() or line in headings or line[:1] in " -*|>"
        if is_open and not is_apart:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        is_open = not is_apart
    return "\n".join(lines)
