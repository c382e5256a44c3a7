"""Which code ran, and on what."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from . import __version__

COLUMNS = ".columns"
"""What the name of a folder ends in that holds the columns of a table, ready to be mapped."""


def code_version() -> str:
    """The commit that runs, with a plus sign if files differ from it; the package version without git."""
    where = Path(__file__).parent
    try:
        commit = _git(where, "rev-parse", "--short=12", "HEAD")
        changed = _git(where, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{commit}+" if changed else commit


def file_sha256(path: Path) -> str:
    """Hash of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_sha256(text: str) -> str:
    """Hash of a text as UTF-8, in hexadecimal: that of a file which holds it."""
    return hashlib.sha256(text.encode()).hexdigest()


def content_sha256(*paths: Path) -> str:
    """Hash of a file; of several files and folders that of their files' hashes in order, with names in folders.

    The columns beside a flight table are left out: they are made from it, and may be deleted at any time.
    """
    if len(paths) == 1 and paths[0].is_file():
        return file_sha256(paths[0])
    lines = []
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        files = [file for file in files if file.parent.suffix != COLUMNS]
        lines += [f"{file_sha256(file)} {file.relative_to(path)}" for file in files if not file.is_dir()]
    return text_sha256("\n".join(lines))


def _git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()
