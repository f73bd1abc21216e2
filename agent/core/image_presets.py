"""Owns what the presets of a first boot will make of a unit in an image."""

from __future__ import annotations

from typing import Iterator, Tuple

from agent.core import unitfiles
from agent.core.diagnosis import Diagnosis
from agent.core.image import Image
from agent.core.model import Verdict


def will_enable(
    image: Image, topic: str, name: str, remedy: Tuple[str, ...]
) -> Iterator[Diagnosis]:
    """A note when ``name``, which has no boot link, will be given one; nothing when it will not."""
    wanted, rule = unitfiles.preset_enables(image.files, name)
    if wanted:
        yield Diagnosis(
            topic,
            "enabled-by-preset",
            Verdict.OK,
            f"{name} has no boot link; the first boot will make one"
            f" ({rule or 'no preset says otherwise'})",
            "It depends on the machine id staying unset until then.",
            remedy,
            (unitfiles.find(image.files, name).path,),
        )


def will_disable(image: Image, topic: str, name: str) -> Iterator[Diagnosis]:
    """A warning when the boot link that ``name`` has may be undone."""
    wanted, rule = unitfiles.preset(image.files, name)
    if not wanted and unitfiles.first_boot(image.files):
        presets = "/etc/systemd/system-preset"
        mended = image.outside(f"{presets}/00-{name.partition('.')[0]}.preset")
        yield Diagnosis(
            topic,
            "disabled-by-preset",
            Verdict.WARNING,
            f"{name} is enabled, but the first boot applies presets, and {rule} disables it",
            "A systemd that applies presets in full will undo the boot link.",
            (
                f"mkdir -p {image.outside(presets)}",
                f"echo 'enable {name}' >{mended}",
            ),
            (rule,),
        )
