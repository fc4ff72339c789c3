"""Node lists change live: what is counted anew after each change, and at what price."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.inventory import Inventory, Node

HARDWARE = shipped().hardware
NODES = st.builds(
    Node,
    name=st.just("n"),
    product=st.sampled_from(["NVIDIA-A100-SXM4-80GB", "Tesla-T4", "Ascend910B3", "a thing of nobody"]),
    count=st.sampled_from([1, 8]),
    driver=st.sampled_from([None, "535.54.03", "580.65.06"]),
)


def counted(inventory: Inventory) -> dict[tuple[str, str, int], int]:
    return {(sort.product.name, str(sort.driver), sort.count): sort.nodes for sort in inventory.classes}


@given(st.lists(NODES), st.lists(NODES), st.data())
def test_a_change_is_the_same_as_counting_anew(before: list[Node], came: list[Node], data: st.DataObject) -> None:
    went = data.draw(st.lists(st.sampled_from(before), unique_by=id) if before else st.just([]))
    stayed = [node for node in before if not any(node is gone for gone in went)]
    changed = Inventory.of(before, HARDWARE).changed(HARDWARE, came=came, went=went)
    anew = Inventory.of([*stayed, *came], HARDWARE)
    assert (counted(changed), changed.nodes, changed.complete) == (counted(anew), anew.nodes, anew.complete)


def test_who_looks_at_the_one_before_is_not_disturbed() -> None:
    before = Inventory.of([Node("a", "Tesla-T4", 4)] * 3, HARDWARE)
    after = before.changed(HARDWARE, went=[Node("a", "Tesla-T4", 4)])
    assert ([sort.nodes for sort in before.classes], [sort.nodes for sort in after.classes]) == ([3], [2])


def test_the_last_of_a_sort_takes_it_away() -> None:
    node = Node("a", "Tesla-T4", 4, "580.65.06")
    assert Inventory.of([node], HARDWARE).changed(HARDWARE, went=[node]).classes == ()


def test_what_is_not_in_the_registry_makes_it_incomplete_as_long_as_it_is_there() -> None:
    known, unknown = Node("a", "Tesla-T4", 4), Node("b", "a thing of nobody", 1)
    assert [Inventory.of(nodes, HARDWARE).complete for nodes in ([], [known], [known, unknown])] == [False, True, False]
    assert Inventory.of([known, unknown], HARDWARE).changed(HARDWARE, went=[unknown]).complete
    assert Inventory.of([Node("c", "", 0)], HARDWARE).complete


def test_a_node_that_changed_is_of_its_new_sort() -> None:
    old, new = Node("a", "Tesla-T4", 4, "535.54.03"), Node("a", "Tesla-T4", 4, "580.65.06")
    changed = Inventory.of([old], HARDWARE).changed(HARDWARE, went=[old], came=[new])
    assert counted(changed) == {("t4", "580.65.06", 4): 1}
