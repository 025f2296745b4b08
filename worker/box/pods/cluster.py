"""The cluster's API, as far as a run needs it: one job made and removed, its pod looked at, its output read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from worker.box_terms import Cluster

_SECONDS = 30.0
_TEXT = 500


class ClusterFailed(Exception):
    """The API did not do what was asked; the text says what it answered."""


class Talk:
    """An open line to the API."""

    def __init__(self, client: httpx.Client, namespace: str) -> None:
        self._client = client
        self._jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"

    def make(self, job: Mapping[str, Any]) -> None:
        """The job is there. Raises ClusterFailed."""
        self._asked("POST", self._jobs, json=job)

    def remove(self, name: str) -> None:
        """The job and its pod are going. Raises ClusterFailed."""
        asked = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        self._asked("DELETE", f"{self._jobs}/{name}", json=asked, missing_is_well=True)

    def pod(self, job: str) -> Mapping[str, Any] | None:
        """The job's pod as the API shows it; None while there is none. Raises ClusterFailed."""
        found = self._asked("GET", self._pods, params={"labelSelector": f"job-name={job}"}).get("items") or []
        return found[0] if found else None

    def output(self, pod: str, most: int) -> bytes:
        """What the pod's container said, at most that many bytes. Raises ClusterFailed."""
        params = {"container": "box", "limitBytes": str(most)}
        try:
            answer = self._client.get(f"{self._pods}/{pod}/log", params=params)
        except httpx.HTTPError as error:
            raise ClusterFailed(f"the cluster does not answer: {error}") from error
        if answer.is_error:
            raise ClusterFailed(_told(answer))
        return answer.content[:most]

    def _asked(self, method: str, path: str, *, missing_is_well: bool = False, **more: Any) -> Mapping[str, Any]:
        try:
            answer = self._client.request(method, path, **more)
        except httpx.HTTPError as error:
            raise ClusterFailed(f"the cluster does not answer: {error}") from error
        if answer.is_error and not (missing_is_well and answer.status_code == httpx.codes.NOT_FOUND):
            raise ClusterFailed(_told(answer))
        try:
            said = answer.json()
        except ValueError as error:
            raise ClusterFailed("the cluster answers without JSON") from error
        return said if isinstance(said, dict) else {}


@contextmanager
def talking(cluster: Cluster) -> Iterator[Talk]:
    """A line that is closed with the block. Raises ClusterFailed where its token cannot be read."""
    try:
        token = cluster.token.read_text().strip() if cluster.token else ""
    except OSError as error:
        raise ClusterFailed(f"{cluster.token} cannot be read: {error.strerror}") from error
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    verify = str(cluster.authority) if cluster.authority else True
    with httpx.Client(base_url=cluster.api, headers=headers, verify=verify, timeout=_SECONDS, trust_env=False) as one:
        yield Talk(one, cluster.namespace)


def _told(answer: httpx.Response) -> str:
    try:
        words = str(answer.json().get("message", ""))
    except (ValueError, AttributeError):
        words = answer.text
    return f"the cluster answers {answer.status_code}: {' '.join(words.split())[:_TEXT]}"
