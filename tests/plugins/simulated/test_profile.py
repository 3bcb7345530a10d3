"""Profiles: every number has a story, and no story claims more than there is."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ixbench_plugins.engines.simulated.profile import find_profile, profiles

ALL = [pytest.param(profile, id=f"{profile.model} {profile.sku} {profile.engine}") for profile in profiles()]


@pytest.mark.parametrize("profile", ALL)
def test_every_number_says_where_it_comes_from(profile):
    numbers = profile.numbers()
    assert len(numbers) == 21
    assert all(len(number.source) > 10 or number.source == "ATOM's own" for number in numbers.values())


def test_two_numbers_are_fitted_and_only_where_there_are_figures():
    fitted = {
        profile.engine: sorted(path for path, number in profile.numbers().items() if number.status == "fitted") for profile in profiles()
    }
    assert fitted == {"vllm": ["calibration.compute_efficiency", "calibration.step_s"], "atom": []}


@pytest.mark.parametrize("profile", ALL)
def test_a_profile_without_public_figures_says_so(profile):
    assert profile.public_figures is (profile.engine == "vllm")
    assert ("no public figures" in profile.summary) is not profile.public_figures
    assert any("time to first token" in note for note in profile.notes)
    assert any("no public figures" in note for note in profile.notes) is not profile.public_figures


def test_what_is_not_the_engine_is_equal_in_both():
    vllm, atom = (find_profile(model="moonshotai/Kimi-K3", sku="mi355x", engine=engine) for engine in ("vllm", "atom"))
    assert vllm.model_facts == atom.model_facts
    assert vllm.hardware_facts == atom.hardware_facts


def test_profiles_are_found_by_model_hardware_and_engine():
    assert find_profile(model="Moonshotai/KIMI-K3", sku="MI355X", engine="vllm").engine == "vllm"
    assert find_profile(model="moonshotai/Kimi-K3", sku="h100", engine="vllm") is None
    assert find_profile(model="moonshotai/Kimi-K3", sku=None, engine="vllm") is None
    assert find_profile(model="moonshotai/Kimi-K3", sku="mi355x", engine="endpoint") is None


@pytest.mark.parametrize("profile", ALL)
def test_a_profile_is_named_after_what_it_is_for(profile):
    name = f"{profile.model.split('/')[1].lower()}-{profile.sku}-{profile.engine}.toml"
    assert files("ixbench_plugins.engines.simulated").joinpath("profiles", name).is_file()
