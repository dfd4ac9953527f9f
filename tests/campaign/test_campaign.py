"""A campaign begins, ends after so many programs or seconds, and knows the settings that lie in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from irfuzz.campaign.campaign import Campaign, CampaignProgress
from irfuzz.campaign.config import SECONDS, STOP_AT, Config
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from tests.campaign.running import planted

pytestmark = [pytest.mark.unit, pytest.mark.timeout(200)]

CONFIG = Config(seed=3, jobs=1, reduce=0.5)


def test_the_settings_of_a_folder(tmp_path: Path) -> None:
    assert Campaign.stored_config(tmp_path / "none") is None
    with Campaign(tmp_path / "out", CONFIG):
        assert Campaign.stored_config(tmp_path / "out") == CONFIG


def test_without_a_seed_nothing_begins(tmp_path: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign, pytest.raises(UsageError, match="no usable seed"):
        campaign.run(0.0, lambda progress: None)


def test_a_seed_is_taken_once(tmp_path: Path, tiny: Path) -> None:
    with Campaign(tmp_path / "out", CONFIG) as campaign:
        for _ in range(2):
            campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        assert campaign.database.corpus_size() == 1
        assert campaign.faults() == []


@pytest.mark.parametrize(("seconds", "stop_at"), [(None, 2), (0.0, None)])
def test_it_ends_after_so_many_programs_or_seconds(
    tmp_path: Path, tiny: Path, root: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None, stop_at: int | None
) -> None:
    monkeypatch.chdir(root)
    config = Config(seed=3, jobs=1, reduce=0.5, targets=("reference", planted("Faithful")))
    seen: list[CampaignProgress] = []
    with Campaign(tmp_path / "out", config) as campaign:
        campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        progress = campaign.run(seconds, seen.append, stop_at=stop_at)
        assert campaign.database.settings()[STOP_AT] == ("" if stop_at is None else "2")
        assert (campaign.database.settings()[SECONDS] == "") == (seconds is None)
        assert (campaign.interrupted, campaign.deaths) == (False, [])
        assert progress.programs == campaign.programs()
        if stop_at is not None:
            assert progress.programs == 2
            assert seen[-1].programs <= 2
        else:
            assert len(seen) == 1
