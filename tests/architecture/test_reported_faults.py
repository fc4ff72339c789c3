"""Which test covers which fault that was reported of other launchers: one row, what went wrong there, the tests here.

Tests are found by name wherever they stand. `BOTH` marks rows that the backend for one machine has too; the others are about
an API server or pods, which it does not have. A row whose test is renamed or goes away fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOTH = frozenset({3, 4, 6, 8, 10, 11, 17, 19, 20, 21, 23, 24, 26, 27, 29, 33, 34, 35, 36})

ROWS: dict[int, tuple[str, tuple[str, ...]]] = {
    1: ("watch loops on 410", ("test_1_an_expired_history_is_read_anew",)),
    2: ("a watch hangs silently", ("test_2_a_watch_that_hangs_is_noticed",)),
    3: (
        "log follow stalls and blocks completion",
        (
            "test_34_a_log_that_cannot_be_had_is_not_asked_for_all_the_time",
            "test_how_a_job_ends_does_not_hang_on_its_logs",
        ),
    ),
    4: (
        "reconnected logs duplicate or truncate",
        ("test_24_and_4_logs_are_kept_once_and_whole", "test_ranks_live_through_the_launchers_death"),
    ),
    5: ("ImagePullBackOff for ever", ("test_5_an_image_that_cannot_be_had_does_not_hold_the_job_for_ever",)),
    6: ("OOM retried without end", ("test_6_out_of_memory_stays_what_it_is", "test_reasons_and_their_words")),
    7: ("OOMKilled with exit 0", ("test_how_it_ended", "test_reasons_and_their_words")),
    8: ("exit 1 leaves the job restarting", ("test_8_a_failure_ends_the_job_with_its_reason", "test_budgets_end")),
    9: ("an evicted pod's made-up exit code", ("test_how_it_ended",)),
    10: ("restart counts in memory", ("test_10_what_was_spent_outlives_the_launcher",)),
    11: (
        "infrastructure eats the user's retries",
        (
            "test_11_each_end_has_its_payer",
            "test_11_a_lost_node_leaves_the_users_retry_to_the_user",
            "test_11_a_lost_supervisor_leaves_the_users_retry_to_the_user",
        ),
    ),
    12: (
        "a lost node hangs the job",
        ("test_12_a_lost_node_starts_another_attempt", "test_12_a_node_that_never_ends_its_pod_is_given_up"),
    ),
    13: (
        "preemption shown as an error",
        ("test_13_preemption_has_a_budget_of_its_own", "test_13_a_preempted_pod_that_is_gone_was_preempted"),
    ),
    14: (
        "not visible yet or deleted",
        ("test_14_a_pod_that_somebody_deletes_is_made_again", "test_14_not_there_yet_is_not_gone"),
    ),
    15: ("already gone wedges deletion", ("test_15_objects_that_are_gone_already_do_not_wedge_a_cancel",)),
    16: ("an old pod blocks or aliases the new one", ("test_16_the_newest_pod_of_a_replica_counts",)),
    17: (
        "deleted by TTL and made again for ever",
        ("test_17_and_33_what_has_ended_is_cleared_away_by_its_own_name", "test_nothing_follows_a_terminal_state"),
    ),
    18: ("owner matched by name", ("test_18_a_new_resource_of_an_old_name_is_another_job",)),
    19: (
        "names that are too long",
        ("test_19_the_longest_names_are_taken", "test_names_fit_whatever_the_job_is_called"),
    ),
    20: (
        "names of pods not ready",
        (
            "test_20_the_service_names_pods_that_are_not_ready",
            "test_20_a_pod_that_never_found_the_others_was_not_the_users_fault",
            "test_20_and_21_ports_and_names_cost_no_retry_of_the_user",
            "test_20_ranks_are_told_an_address_and_no_name",
            "test_pods_wait_for_one_another_and_in_large_jobs_for_the_first",
        ),
    ),
    21: (
        "ports collide",
        (
            "test_20_and_21_ports_and_names_cost_no_retry_of_the_user",
            "test_21_a_port_that_was_taken_costs_no_retry_of_the_user",
            "test_21_a_rule_of_the_job_file_comes_before_what_the_log_suggests",
            "test_21_who_pays_is_decided_when_the_last_lines_are_here",
            "test_21_a_port_is_free_when_nobody_holds_it_on_any_address",
            "test_an_attempt_keeps_its_ports_and_nobody_shares_them",
            "test_jobs_on_the_nodes_network_have_ports_of_their_own",
        ),
    ),
    22: (
        "quota 403 ends the job",
        (
            "test_22_a_namespace_without_room_is_waited_for",
            "test_22_why_no_pods_are_made",
            "test_22_pods_for_which_there_is_no_room_are_waited_for",
            "test_22_pods_that_are_never_let_in_end_the_job",
        ),
    ),
    23: (
        "parameter servers run on",
        ("test_23_parameter_servers_end_with_those_they_serve", "test_they_are_ended_when_the_others_are_done"),
    ),
    24: (
        "clean-up deletes logs",
        (
            "test_24_and_4_logs_are_kept_once_and_whole",
            "test_24_nothing_is_cleared_away_before_its_logs_are_stored",
            "test_ranks_live_through_the_launchers_death",
        ),
    ),
    25: ("a sidecar keeps the pod running", ("test_25_a_sidecar_that_goes_on_keeps_nobody_waiting",)),
    26: (
        "status write conflict",
        (
            "test_26_a_status_that_cannot_be_written_is_written_later",
            "test_26_an_event_that_came_too_late_is_decided_again",
        ),
    ),
    27: (
        "running again after success",
        (
            "test_27_a_pod_that_runs_again_after_its_end_moves_nothing",
            "test_27_a_job_that_has_ended_stays_so_whatever_is_said_later",
        ),
    ),
    28: ("an API outage ends jobs", ("test_28_an_outage_ends_nobody",)),
    29: (
        "survivors hang when one is gone",
        ("test_29_one_of_many_fails_and_the_group_ends_together", "test_one_failing_rank_ends_the_others"),
    ),
    30: (
        "AlreadyExists not recognised",
        ("test_30_and_32_what_is_somebody_elses_is_left_to_them", "test_killed_after_an_effect"),
    ),
    31: ("webhook time-outs fail creates", ("test_31_a_server_that_is_busy_is_asked_again",)),
    32: (
        "what others manage is taken over",
        (
            "test_30_and_32_what_is_somebody_elses_is_left_to_them",
            "test_32_a_resource_that_another_controller_runs_is_left_alone",
        ),
    ),
    33: (
        "jobs delete each other's resources",
        ("test_17_and_33_what_has_ended_is_cleared_away_by_its_own_name", "test_jobs_do_not_touch_each_other"),
    ),
    34: (
        "a tailer that spins",
        (
            "test_34_a_log_that_cannot_be_had_is_not_asked_for_all_the_time",
            "test_a_supervisor_that_never_comes_up_is_given_up",
        ),
    ),
    35: (
        "requests and limits share one dict",
        ("test_35_requests_and_limits_are_both_kept", "test_a_request_is_what_counts_and_not_a_limit"),
    ),
    36: (
        "the launcher holds accelerators",
        (
            "test_only_the_jobs_own_container_holds_accelerators",
            "test_each_rank_sees_its_own_and_a_job_without_sees_none",
        ),
    ),
}


@pytest.fixture(scope="module")
def names(tests_below: Callable[[Path], Iterator[tuple[str, Path]]]) -> dict[str, set[str]]:
    """Every test of the launcher and of the libraries, and the folders below `tests` where it stands."""
    found: dict[str, set[str]] = {}
    for home in (ROOT / "services" / "launcher" / "tests", ROOT / "libs" / "common" / "tests"):
        for name, file in tests_below(home):
            found.setdefault(name, set()).add(str(file.relative_to(home).parent))
    return found


def test_no_row_is_left_out() -> None:
    assert list(ROWS) == list(range(1, 37))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_tests(row: int, names: dict[str, set[str]]) -> None:
    what, tests = ROWS[row]
    missing = [test for test in tests if test not in names]
    assert not missing, f"row {row} ({what}): {', '.join(missing)} is not there"
    if row in BOTH:
        places = {place for test in tests for place in names[test]}
        assert "." in places, f"row {row} ({what}) has no test on one machine"


def test_a_test_that_bears_a_rows_number_is_listed(names: dict[str, set[str]]) -> None:
    listed = {test for _, tests in ROWS.values() for test in tests}
    numbered = {name for name in names if name.split("_")[1].isdigit() and int(name.split("_")[1]) <= len(ROWS)}
    assert numbered <= listed, sorted(numbered - listed)
