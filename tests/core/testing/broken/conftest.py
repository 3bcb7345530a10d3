"""Tests that start processes run for a broken plugin only where they must find its fault."""

from __future__ import annotations

from pathlib import Path

SLOW = (
    "test_the_plan_is_the_same_in_every_process",
    "test_the_files_are_the_same_in_every_process",
    "test_the_schedule_is_the_same_in_every_process",
    "test_a_refused_port_is_never_ready",
    "test_no_secret_is_saved",
    "test_questions_to_a_server_that_cannot_answer_end",
    "test_a_run_folder_is_rendered",
    "test_samples_are_numbers_with_a_source",
    "test_a_dead_target_is_a_warning",
    "test_a_target_that_dies_is_a_warning",
    "test_it_can_be_opened_again_and_leaves_nothing",
    "test_no_secret_is_told",
)


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Leave the others out; the hook is asked about the tests of all folders."""
    items[:] = [item for item in items if item.path.parent != HERE or needed(item)]


def needed(item):
    return item.originalname not in SLOW or not item.cls.breaks or item.originalname in item.cls.breaks
