"""Where a base model lies on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .checkpoint import check
from .errors import StarlabError

MEND = "restore it with `git checkout -- models`, or rebuild it with `snakemake --cores all base_models`"


def base_folder(model: Mapping[str, Any]) -> Path:
    """The folder of a base model of the ladder (`folder`, or `hub` and `revision`), whole and ready to load.

    A hub model is downloaded on first use. StarlabError says how to mend a folder that is missing or damaged.
    """
    if model["folder"] is not None:
        folder = Path(model["folder"])
        check(folder, MEND)
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model["hub"], revision=model["revision"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise StarlabError(f"policy.ladder: cannot get {model['hub']!r} from the hub: {reason}") from error
