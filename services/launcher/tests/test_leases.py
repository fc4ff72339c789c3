"""Who lives is judged only by who sees its own Lease renewed: an outage kills nobody."""

from __future__ import annotations

from trainyard.launcher.core.cluster.leases import Leases

LASTS, GAP, RENEW = 15.0, 8.0, 4.0


class Sight:
    """What launcher `a` sees of the others as time passes."""

    def __init__(self) -> None:
        self.leases = Leases("a", LASTS, GAP)
        self.now = 100.0
        self.count = 0

    def renewed(self, *members: str) -> None:
        for member in members:
            self.count += 1
            self.leases.saw(member, str(self.count), f"uid-{member}", self.now)
        self.leases.look(self.now)

    def go_on(self, seconds: float, *members: str) -> None:
        """These renew."""
        for _ in range(int(seconds / RENEW)):
            self.now += RENEW
            self.renewed(*members)

    def wait(self, seconds: float) -> None:
        """Nothing is seen, and every second somebody asks who lives."""
        for _ in range(int(seconds)):
            self.now += 1.0
            self.leases.look(self.now)

    @property
    def living(self) -> str:
        return "".join(sorted(self.leases.living))

    @property
    def forgotten(self) -> list[str]:
        return [member for member, _ in self.leases.forgotten(self.now, 600.0)]


def test_who_stops_renewing_is_dead_after_a_lease_and_forgotten_much_later() -> None:
    sight = Sight()
    sight.renewed("a", "b", "c")
    sight.go_on(40, "a", "b", "c")
    assert sight.living == "abc"
    sight.go_on(12, "a", "b")
    assert sight.living == "abc"
    sight.go_on(4, "a", "b")
    assert (sight.living, sight.forgotten) == ("ab", [])
    sight.go_on(600, "a", "b")
    assert sight.forgotten == ["c"]
    sight.renewed("c")
    assert (sight.living, sight.forgotten) == ("abc", [])


def test_an_outage_kills_nobody_and_forgets_nobody() -> None:
    sight = Sight()
    sight.renewed("a", "b", "c")
    sight.go_on(40, "a", "b", "c")
    sight.wait(1200)
    assert (sight.living, sight.forgotten) == ("abc", [])
    sight.renewed("a")  # the first one back
    assert (sight.living, sight.forgotten) == ("abc", [])
    sight.go_on(8, "a", "b")
    assert sight.living == "abc"
    sight.go_on(8, "a", "b")  # a whole Lease's time, and c is not back
    assert (sight.living, sight.forgotten) == ("ab", ["c"])


def test_who_sees_only_the_others_judges_nobody() -> None:
    """Our own renewals do not arrive: how long theirs took says nothing."""
    sight = Sight()
    sight.renewed("a", "b", "c")
    sight.go_on(40, "a", "b", "c")
    sight.go_on(100, "b")
    assert sight.living == "abc"


def test_who_comes_and_who_leaves_is_known_at_once() -> None:
    sight = Sight()
    sight.renewed("a", "b")
    assert sight.living == "ab"
    sight.leases.gone("b")
    assert sight.leases.look(sight.now)
    assert sight.living == "a"
    assert not sight.leases.look(sight.now)


def test_a_lease_that_is_listed_again_unchanged_is_not_a_renewal() -> None:
    sight = Sight()
    sight.leases.saw("a", "1", "ua", 0.0)
    sight.leases.saw("b", "2", "ub", 0.0)
    for now in range(1, 21):
        sight.leases.saw("a", str(100 + now), "ua", float(now))
        sight.leases.saw("b", "2", "ub", float(now))
        sight.leases.look(float(now))
    assert sight.living == "a"
