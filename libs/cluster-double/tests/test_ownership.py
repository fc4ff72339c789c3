"""Field sets: what is owned, how it is written down, and that writing and reading agree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.patches.apply import apply
from trainyard.cluster_double.core.patches.fieldsets import from_wire, leaves, printed, to_wire
from trainyard.cluster_double.core.resources import Registry
from trainyard.cluster_double.core.schema.builtin import shape_of

POD = shape_of(Registry().named("pods"))
CONFIG = shape_of(Registry().named("configmaps"))


def a_pod(**container: object) -> Json:
    spec = {"containers": [{"name": "main", **container}], "tolerations": [{"key": "a"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec}


def test_items_of_keyed_lists_are_owned_one_by_one() -> None:
    owned = leaves(a_pod(image="x"), POD)
    item = ("f:spec", "f:containers", 'k:{"name":"main"}')
    assert set(owned) == {
        ("f:metadata", "f:labels", "f:a"),
        item,
        (*item, "f:name"),
        (*item, "f:image"),
        ("f:spec", "f:tolerations"),
    }
    assert printed((*item, "f:image")) == '.spec.containers[name="main"].image'


def test_keys_have_defaults() -> None:
    owned = leaves(a_pod(ports=[{"containerPort": 80}]), POD)
    assert any('k:{"containerPort":80,"protocol":"TCP"}' in path for path in owned)


def test_written_and_read_again() -> None:
    owned = frozenset(leaves(a_pod(image="x", ports=[{"containerPort": 80}]), POD))
    assert frozenset(from_wire(to_wire(owned))) == owned


data = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("123"))


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), data), max_size=8))
def test_after_forced_applies_every_manager_has_its_last_word_or_lost_it(
    steps: list[tuple[str, dict[str, str]]],
) -> None:
    """The object holds exactly what somebody still owns, and whoever owns a field sees the value that he last wanted."""
    live: Json | None = None
    said: dict[str, dict[str, str]] = {}
    for who, wanted in steps:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c"},
            **({"data": wanted} if wanted else {}),
        }
        live = apply(live, body, CONFIG, who, force=True, now=0.0)
        said[who] = wanted
        held = live.get("data") or {}
        owners = {
            entry["manager"]: frozenset(from_wire(entry["fieldsV1"]))
            for entry in live["metadata"].get("managedFields", ())
        }
        assert wanted.items() <= held.items()
        assert set(held) == {
            path[1].removeprefix("f:") for paths in owners.values() for path in paths if len(path) == 2
        }
        for owner, paths in owners.items():
            for path in paths:
                if len(path) == 2:
                    name = path[1].removeprefix("f:")
                    assert held[name] == said[owner][name]
