from __future__ import annotations

from pathlib import Path

from strop.config.folders import newest_checkpoint


def test_the_newest_checkpoint_is_the_last_that_holds_a_model(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None
    for step in (3, 12):
        (tmp_path / "checkpoints" / f"step-{step:06d}").mkdir(parents=True)
        (tmp_path / "checkpoints" / f"step-{step:06d}" / "config.json").touch()
    (tmp_path / "checkpoints" / "step-000099").mkdir()
    (tmp_path / "checkpoints" / ".tmp-000100").mkdir()
    (tmp_path / "checkpoints" / ".tmp-000100" / "config.json").touch()
    assert newest_checkpoint(tmp_path) == tmp_path / "checkpoints" / "step-000012"
    (tmp_path / "checkpoints" / "step-000013").mkdir()
    (tmp_path / "checkpoints" / "step-000013" / "adapter_config.json").touch()
    assert newest_checkpoint(tmp_path) == tmp_path / "checkpoints" / "step-000013"
