"""Selectors: what they take, and what they cannot read."""

from __future__ import annotations

import pytest

from trainyard.cluster_double.core.resources import Registry
from trainyard.cluster_double.core.selectors import BadSelector, from_object, parse_fields, parse_labels

LABELS = {"app": "train", "rank": "0", "example.com/team": "vision"}


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("", True),
        ("app=train", True),
        ("app==train,rank=0", True),
        ("app!=train", False),
        ("missing!=x", True),
        ("rank in (0, 1)", True),
        ("rank notin (0,1)", False),
        ("missing notin (a)", True),
        ("example.com/team", True),
        ("!example.com/team", False),
        ("!missing,app in (train)", True),
        ("app=", False),
    ],
)
def test_label_selectors(text: str, takes: bool) -> None:
    assert parse_labels(text).matches(LABELS) is takes


@pytest.mark.parametrize("text", ["app in", "app in (", "=x", "a b=c", "app in (a"])
def test_a_selector_that_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(BadSelector, match="unable to parse"):
        parse_labels(text)


def test_one_exact_label_is_found_for_the_index() -> None:
    assert parse_labels("rank,app=train").exact() == ("app", "train")
    assert parse_labels("app in (a,b)").exact() is None


def test_the_selector_of_an_object() -> None:
    wanted = {
        "matchLabels": {"app": "train"},
        "matchExpressions": [{"key": "rank", "operator": "NotIn", "values": ["1"]}],
    }
    assert from_object(wanted).matches(LABELS)
    assert not from_object(None).matches(LABELS), "no selector selects nothing"
    assert from_object({}).matches(LABELS), "an empty one selects everything"


def test_field_selectors_know_their_kind() -> None:
    pods = Registry().named("pods")
    pod = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"nodeName": "x"}, "status": {"phase": "Running"}}
    assert parse_fields("spec.nodeName=x,status.phase!=Failed", pods).matches(pod)
    assert not parse_fields("metadata.name=b", pods).matches(pod)
    with pytest.raises(BadSelector, match=r"field label not supported: spec\.image"):
        parse_fields("spec.image=x", pods)
