"""Images are held against the pinned list, and what was pinned is what the objects name."""

from __future__ import annotations

import pytest

from base.errors import Refused
from catalog.model import Image
from catalog.package.images import images, listed, mirrored, rewritten
from tests.catalog.package.made import Object, obj, resource, workload
from tests.catalog.synthetic import PINNED, version

IMAGE = Image("r.invalid/team/x:1", PINNED)
LOOSE = Image("r.invalid/team/y:1")


def only(made: Object, *known: Image, registry: str = "") -> Object:
    (found,) = rewritten([made], known, registry)
    return found


def container(made: Object) -> object:
    return made["spec"]["template"]["spec"]["containers"][0]["image"]


def test_a_pinned_image_is_run_by_its_digest_and_keeps_its_tag() -> None:
    assert container(only(workload(image=IMAGE.reference), IMAGE)) == f"r.invalid/team/x:1@{PINNED}"
    assert container(only(workload(image=LOOSE.reference), LOOSE)) == "r.invalid/team/y:1"


def test_an_image_is_rewritten_wherever_it_is_named_whole_and_nowhere_else() -> None:
    made = workload(image=IMAGE.reference, args=[f"--solver-image={IMAGE.reference}", f"see {IMAGE.reference}"])
    made["metadata"]["annotations"] = {"image": IMAGE.reference}
    found = only(made, IMAGE)
    assert found["spec"]["template"]["spec"]["args"] == [f"--solver-image={IMAGE.reference}@{PINNED}", f"see {IMAGE.reference}"]
    assert found["metadata"]["annotations"] == {"image": IMAGE.reference}
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE.reference  # the given object is left alone


def test_blocks_that_an_operator_joins_with_a_colon_are_pinned_by_their_tag() -> None:
    block = {"repository": "r.invalid/team", "name": "x", "tag": "1"}
    assert only(resource(image=block), IMAGE)["spec"]["image"] == {**block, "tag": f"1@{PINNED}"}
    other = {"repository": "r.invalid/team", "image": "x", "version": "1"}
    assert only(resource(part=other), IMAGE)["spec"]["part"] == other


def test_schemas_are_left_alone() -> None:
    crd = obj("CustomResourceDefinition", "x", "", "apiextensions.k8s.io/v1", spec={"default": IMAGE.reference})
    assert only(crd, IMAGE) == crd


def test_a_mirror_has_every_image_under_its_own_name() -> None:
    assert mirrored("r.invalid/team/x:1", "m.invalid:5000/all") == "m.invalid:5000/all/team/x:1"
    assert container(only(workload(image=LOOSE.reference), LOOSE, registry="m.invalid")) == "m.invalid/team/y:1"
    assert container(only(workload(image=IMAGE.reference), IMAGE, registry="m.invalid")) == f"m.invalid/team/x:1@{PINNED}"


def test_blocks_of_operators_go_to_the_mirror_too() -> None:
    block = {"repository": "r.invalid/team", "name": "y", "tag": "1"}
    assert only(resource(image=block), LOOSE, registry="m.invalid/a")["spec"]["image"]["repository"] == "m.invalid/a/team"
    part = {"repository": "r.invalid/team", "image": "driver", "version": "580"}
    assert only(resource(part=part), LOOSE, registry="m.invalid/a")["spec"]["part"]["repository"] == "m.invalid/a/team"
    assert only(resource(repository="other.invalid/a"), LOOSE, registry="m.invalid")["spec"]["repository"] == "other.invalid/a"


def test_what_a_chart_took_out_of_the_mirror_itself_is_known_and_pinned() -> None:
    made = version("demo", images=(IMAGE, Image("r.invalid/team/driver:580-linux", operand=True)))
    ours, block = "m.invalid/a/team/x:1", {"repository": "m.invalid/a/team", "name": "x", "tag": "1"}
    assert listed([ours, "m.invalid/a/team/driver:580"], made, "x", "m.invalid/a") == (
        "r.invalid/team/driver:580-linux",
        IMAGE.reference,
    )
    assert container(only(workload(image=ours), IMAGE, registry="m.invalid/a")) == f"{ours}@{PINNED}"
    assert only(resource(image=block), IMAGE, registry="m.invalid/a")["spec"]["image"]["tag"] == f"1@{PINNED}"
    with pytest.raises(Refused, match="does not name"):
        listed([ours], made, "x", "other.invalid")


@pytest.mark.parametrize("image", ["r.invalid/team/z:1", "r.invalid/team/x:2", "r.invalid/team/x", "r.invalid/team/x:latest"])
def test_an_image_outside_of_the_list_is_refused(image: str) -> None:
    with pytest.raises(Refused, match="does not name"):
        listed([image], version("demo", images=(IMAGE,)), "x")


@pytest.mark.parametrize("image", ["r.invalid/team/x", "r.invalid/team/x:latest", "r.invalid:5000/x"])
def test_a_tag_that_moves_is_refused_even_where_it_is_listed(image: str) -> None:
    with pytest.raises(Refused, match="may be another image tomorrow"):
        listed([image], version("demo", images=(Image(image),)), "x")


def test_images_of_the_list_are_taken() -> None:
    assert listed(images([workload(image=IMAGE.reference)]), version("demo", images=(IMAGE, LOOSE)), "x") == (IMAGE.reference,)
