"""Reads launchers' files in the engines' own classes; started by the Python of `.ci/launchers`.

    python engines.py trainjob k8s.yaml
    python engines.py task sky.yaml
    python engines.py names NAME...

Prints what the engine read, as JSON; it ends with an error where the engine refuses the file.
"""

import json
import sys
from pathlib import Path
from typing import Any


def read_trainjob(path: str) -> Any:
    """Return a TrainJob as Kubeflow's own models write it again; what they do not know is gone."""
    import yaml  # noqa: PLC0415 - of another environment than the tests'
    from kubeflow_trainer_api import models  # type: ignore[import-not-found] # noqa: PLC0415

    data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return models.TrainerV1alpha1TrainJob.from_dict(data).to_dict()


def read_task(path: str) -> Any:
    """Return what SkyPilot's loader made of a task: its resources and its mounts."""
    import sky  # type: ignore[import-not-found] # noqa: PLC0415 - of another environment

    task = sky.Task.from_yaml(path)
    (resources,) = task.resources
    mounts = {where: str(store.source) for where, store in task.storage_mounts.items()}
    return {
        "name": task.name,
        "nodes": task.num_nodes,
        "accelerators": resources.accelerators,
        "spot": resources.use_spot,
        "recovery": resources.job_recovery,
        "image": resources.image_id,
        "files": task.file_mounts,
        "buckets": mounts,
        "run": task.run,
        "setup": task.setup,
    }


def find_names(names: tuple[str, ...]) -> list[str]:
    """Return which of these names stand in SkyPilot's own sources as a whole string."""
    import sky  # noqa: PLC0415 - of another environment

    files = Path(sky.__file__).parent.rglob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    return [name for name in names if f"'{name}'" in text or f'"{name}"' in text]


def main(kind: str, *arguments: str) -> None:
    """Print what was read."""
    if kind == "trainjob":
        found = read_trainjob(arguments[0])
    else:
        found = read_task(arguments[0]) if kind == "task" else find_names(arguments)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
