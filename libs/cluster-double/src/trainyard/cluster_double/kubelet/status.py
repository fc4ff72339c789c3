"""The status that a kubelet writes of a pod: what it waits for, that it runs, how it ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.cluster_double.core.objects import Json, meta, spec_of, stamp
from trainyard.cluster_double.kubelet.script import KILLED, Script


@dataclass(frozen=True, slots=True)
class Life:
    """What is known of a pod's containers so far."""

    address: str
    began: float
    """Unix seconds: when the kubelet took the pod."""
    started: float = 0.0
    restarts: int = 0
    last: Json | None = None
    """The `terminated` state of the run before."""


def waiting(pod: Json, life: Life, reason: str) -> Json:
    message = f'Back-off pulling image "{_image(pod)}"' if reason in {"ImagePullBackOff", "ErrImagePull"} else ""
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return _status(pod, life, "Running" if life.restarts else "Pending", state, ready=False)


def running(pod: Json, life: Life) -> Json:
    return _status(pod, life, "Running", {"running": {"startedAt": stamp(life.started)}}, ready=True)


def ended(pod: Json, life: Life, script: Script, code: int, now: float) -> Json:
    """For good: the pod succeeded or failed."""
    state = {"terminated": terminated(life, script, code, now)}
    status = _status(pod, life, "Failed" if code or script.evicted else "Succeeded", state, ready=False, now=now)
    if script.evicted:
        status |= {"reason": "Evicted", "message": script.evicted}
        told = {"reason": "TerminationByKubelet", "message": script.evicted}
        status["conditions"].append(_condition("DisruptionTarget", True, now, **told))
    return status


def terminated(life: Life, script: Script, code: int, now: float) -> Json:
    usual = "Error" if code else "Completed"
    return {
        "exitCode": code,
        "reason": script.reason if script.reason and code in {script.exit_code, KILLED} else usual,
        "startedAt": stamp(life.started or now),
        "finishedAt": stamp(now),
        "containerID": "scripted://ended",
        **({"message": script.message} if script.message else {}),
    }


def restarts_after(pod: Json, code: int) -> bool:
    policy = spec_of(pod).get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _status(pod: Json, life: Life, phase: str, state: Json, *, ready: bool, now: float | None = None) -> Json:
    at = now if now is not None else (life.started or life.began)
    over = phase in {"Succeeded", "Failed"}
    why = {"reason": "PodCompleted"} if phase == "Succeeded" else ({} if ready else {"reason": "ContainersNotReady"})
    containers = [_container(one, life, state, ready=ready) for one in spec_of(pod).get("containers") or ()]
    done = {
        "terminated": {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": stamp(life.began),
            "finishedAt": stamp(life.began),
        }
    }
    first = [_container(one, life, done, ready=True) for one in spec_of(pod).get("initContainers") or ()]
    status: Json = {
        "phase": phase,
        "startTime": stamp(life.began),
        "hostIP": life.address,
        "observedGeneration": meta(pod).get("generation"),
        "containerStatuses": containers,
        "conditions": [
            _condition("Initialized", True, life.began),
            _condition("PodReadyToStartContainers", not over, at),
            _condition("ContainersReady", ready, at, **why),
            _condition("Ready", ready, at, **why),
        ],
    }
    if first:
        status["initContainerStatuses"] = first
    if ready:
        status |= {"podIP": life.address, "podIPs": [{"ip": life.address}]}
    return status


def _container(spec: Json, life: Life, state: Json, *, ready: bool) -> Json:
    return {
        "name": spec["name"],
        "image": spec.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": life.restarts,
        "state": state,
        "lastState": {"terminated": life.last} if life.last else {},
    }


def _condition(kind: str, holds: bool, at: float, **more: str) -> Json:
    return {"type": kind, "status": "True" if holds else "False", "lastTransitionTime": stamp(at), **more}


def _image(pod: Json) -> str:
    return str((spec_of(pod).get("containers") or [{}])[0].get("image", ""))
