"""Images by catalogue, add-on and cluster."""

from __future__ import annotations

from catalog.model import Catalogue, Image
from catalog.supply.images import images_of, versions_of
from tests.catalog.synthetic import PINNED, addon, version

TWO = "registry.invalid/two:1"
CATALOGUE = Catalogue(
    {name: addon(name) for name in ("a", "b")},
    {
        "a": (version("a", images=(Image("registry.invalid/one:1", PINNED), Image(TWO, operand=True))), version("a", "2.0.0")),
        "b": (version("b", images=(Image(TWO),)),),
    },
    {},
)


def test_an_image_stands_there_once_with_all_who_run_it() -> None:
    found = images_of(versions_of(CATALOGUE))
    assert [(i.reference, i.pin, i.used_by) for i in found] == [
        ("registry.invalid/one:1", "pinned", ("a 1.0.0",)),
        (TWO, "unpinned", ("a 1.0.0", "b 1.0.0")),
    ]
    assert found[1].operand is False, "a chart of one of them names it"


def test_the_images_of_one_add_on_are_its_own() -> None:
    assert [i.reference for i in images_of(versions_of(CATALOGUE, addon="b"))] == [TWO]


def test_mirroring_tools_get_the_digest_where_there_is_one() -> None:
    assert [i.mirrored for i in images_of(versions_of(CATALOGUE))] == [f"registry.invalid/one:1@{PINNED}", TWO]


def test_a_tag_with_two_digests_is_two_images() -> None:
    moved = [version("a", images=(Image(TWO, PINNED),)), version("a", "2.0.0", images=(Image(TWO, "sha256:" + "b" * 64),))]
    assert len(images_of(moved)) == 2
