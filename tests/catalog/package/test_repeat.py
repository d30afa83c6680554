"""A chart that renders something else each time is refused; a declared secret is made once, kept, and never in the cache."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput, Refused
from catalog.model import Generated
from catalog.package.kept import Kept
from catalog.package.packager import Packager
from catalog.package.repeat import MADE_ONCE, Made, settled, with_made
from tests.catalog.package.made import obj
from tests.catalog.package.test_packager import Shop, no_module
from tests.catalog.synthetic import DEPLOYMENT

SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: password}
data: {password: {{ randAlphaNum 16 | b64enc }}, user: YQ==}
"""
DECLARED = (Generated("Secret", "password", "the database's own"),)


def shop(root: Path, **fields: Any) -> Shop:
    return Shop(root, {"deployment.yaml": DEPLOYMENT, "secret.yaml": SECRET}, **fields)


def packager(made: Shop, *, kept: Path | None, cache: str = "cache") -> Packager:
    return Packager(made.catalogue, made.root / cache, fetch_module=no_module, renderer=made.helm, kept=kept)


def secret(made: Shop, **place: Any) -> dict[str, str]:
    objects = packager(made, **place).render(made.item()).objects
    return next(one["data"] for one in objects if one["kind"] == "Secret")


def test_a_chart_that_makes_something_up_is_refused_with_object_and_path(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"something else each time: Secret password at data\.password"):
        packager(shop(tmp_path), kept=None).render(shop(tmp_path).item())


def test_what_is_declared_is_made_once_and_kept_even_when_the_cache_is_gone(tmp_path: Path) -> None:
    made, kept = shop(tmp_path, generated=DECLARED), tmp_path / "kept"
    first = secret(made, kept=kept)
    assert first["password"] not in ("", MADE_ONCE)
    assert secret(made, kept=kept) == first
    assert made.helm.asked == 2  # the second time nothing was rendered
    assert secret(made, kept=kept, cache="another") == first
    assert secret(made, kept=tmp_path / "elsewhere", cache="third")["password"] != first["password"]


def test_a_cache_without_the_kept_values_makes_new_ones(tmp_path: Path) -> None:
    made = shop(tmp_path, generated=DECLARED)
    first = secret(made, kept=tmp_path / "one")
    second = secret(made, kept=tmp_path / "two")
    assert second["password"] not in (first["password"], MADE_ONCE)


def test_no_secret_is_in_the_cache_or_the_digest_and_the_kept_file_is_private(tmp_path: Path) -> None:
    made, kept = shop(tmp_path, generated=DECLARED), tmp_path / "kept"
    value = secret(made, kept=kept)["password"].encode()
    cached = [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert cached
    assert not any(value in data for data in cached)
    digests = {packager(made, kept=place).render(made.item()).digest for place in (kept, None, tmp_path / "other")}
    assert len(digests) == 1
    assert stat.S_IMODE((kept / "demo.json").stat().st_mode) == 0o600


def test_without_a_cluster_there_is_only_the_place_for_it(tmp_path: Path) -> None:
    assert secret(shop(tmp_path, generated=DECLARED), kept=None) == {"password": MADE_ONCE, "user": "YQ=="}


def test_another_number_of_objects_each_time_is_refused() -> None:
    with pytest.raises(Refused, match="renders other objects each time"):
        settled([obj("Secret")], [obj("Secret"), obj("Secret", "y")], (), "x")


def test_equal_renderings_come_back_as_they_are() -> None:
    assert settled([obj("Secret", data={"a": 1})], [obj("Secret", data={"a": 1})], (), "x") == (
        (obj("Secret", data={"a": 1}),),
        (),
    )


def test_differences_are_found_in_lists_and_where_a_part_is_missing() -> None:
    known = (Generated("Secret", "x", "made up"),)
    one = obj("Secret", list=[1, {"a": 1}], part={"a": 1})
    other = obj("Secret", list=[1, {"a": 2}], part={"b": 1})
    objects, made = settled([one], [other], known, "x")
    assert [(m.path, m.value) for m in made] == [(("list", 1, "a"), 1), (("part",), {"a": 1})]
    assert objects[0]["list"][1]["a"] == objects[0]["part"] == MADE_ONCE
    assert with_made(objects, made, "demo") == (one,)


def test_a_value_goes_into_its_own_object_only() -> None:
    made = (Made("Secret", "", "x", ("data",), "v"),)
    objects = (obj("Secret", "x", "demo", data="?"), obj("Secret", "x", "other", data="?"))
    assert [one["data"] for one in with_made(objects, made, "demo")] == ["v", "?"]


def test_the_first_value_stays_whoever_comes_later(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    first, later = (Made("Secret", "", "x", ("data",), value) for value in ("1", "2"))
    assert kept.settle("demo", [first]) == (first,)
    other = Made("Secret", "", "y", ("data",), "3")
    assert kept.settle("demo", [later, other]) == (first, other)
    assert kept.of("demo") == (first, other)
    assert kept.of("nobody") == ()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"made": [{}]}', '{"made": 5}', "\0"])
def test_a_damaged_record_is_told_and_never_replaced_in_silence(tmp_path: Path, text: str) -> None:
    (tmp_path / "demo.json").write_text(text)
    with pytest.raises(InvalidInput, match="cannot be read"):
        Kept(tmp_path).settle("demo", [Made("Secret", "", "x", ("data",), "1")])
    assert (tmp_path / "demo.json").read_text() == text
