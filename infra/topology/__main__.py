"""`python -m infra.topology`: the files for Compose, Kubernetes and the images are what the belt table calls for."""

from pathlib import Path
from typing import Any

import yaml

from infra.topology.compose import box_profile_text, compose
from infra.topology.kubernetes import files, scaling
from infra.topology.packages import SETS, lock_of

ROOT = Path(__file__).resolve().parents[2]
_HEAD = "# Written by `python -m infra.topology` from the belt table; change that, not this.\n"


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(*documents: Any) -> str:
    said = yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
    return _HEAD + said


def written() -> dict[str, str]:
    """The text of each file by its path from the top of the repository."""
    found = {"infra/compose/compose.yaml": _yaml(compose()), "infra/compose/box-seccomp.json": box_profile_text()}
    manifests = files()
    for name, objects in manifests.items():
        found[f"infra/kubernetes/base/{name}.yaml"] = _yaml(*objects)
    base = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    listed = [f"{name}.yaml" for name in manifests]
    found["infra/kubernetes/base/kustomization.yaml"] = _yaml(base | {"resources": listed})
    found["infra/kubernetes/keda/scaling.yaml"] = _yaml(*scaling())
    found["infra/kubernetes/keda/kustomization.yaml"] = _yaml(base | {"resources": ["scaling.yaml"]})
    return found | {f"infra/images/locks/{name}.lock": lock_of(name) for name in SETS}


def main() -> None:
    """Every file stands as it is to be."""
    for name, text in written().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
