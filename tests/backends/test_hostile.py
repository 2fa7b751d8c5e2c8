# SPDX-License-Identifier: Apache-2.0
"""A backend that fails, lies or computes wrongly: a clear error each time, never a crash."""
import facula as torch
import pytest

pytestmark = pytest.mark.threads


def add(name):
    x = torch.ones(4).to(name)
    return (x + x).cpu().tolist()


@pytest.mark.parametrize(
    "how, kind, message",
    [
        ("alloc_null", RuntimeError, "backend 'hostile_alloc_null', device 0, alloc of 64 bytes: out of memory"),
        ("alloc_error", RuntimeError, "device 0, alloc of 64 bytes: the power is off"),
        ("second_alloc_fails", RuntimeError, "only one block"),
        ("copy_error", RuntimeError, "device 0, copy to the host: bus error"),
        ("long_message", RuntimeError, "copy to the device: yyyy"),
        ("map_error", RuntimeError, "backend 'hostile_map_error', device 0, map add: kernel 7 crashed"),
        ("map_bad_index", IndexError, "map add: index out of range"),
        ("map_strange_status", RuntimeError, "map add: failed with status 99 and no message"),
        ("too_much_workspace", RuntimeError, "map add: no workspace of 1152921504606846976 bytes"),
        ("lies", NotImplementedError, "map add: it claimed this call, but does not do it"),
    ],
)
def test_error(hostile, how, kind, message):
    name = hostile(how)
    with pytest.raises(kind, match=message):
        add(name)
    with pytest.raises(kind, match=message):  # and again: nothing was left in a strange state
        add(name)


def test_synchronise(hostile):
    with pytest.raises(RuntimeError, match="synchronise: a kernel crashed earlier"):
        torch.backends.synchronize(hostile("synchronise_error"))


def test_supports_that_throws_means_no(hostile):
    name = hostile("supports_throws")
    assert add(name) == [2, 2, 2, 2]
    assert torch.backends.fallback_counts()[("aten::add.Tensor", name)] == 1


def test_free_that_fails_warns(hostile):
    name = hostile("free_error")
    add(name)
    with pytest.warns(UserWarning, match="free of 64 bytes: keeps everything"):
        torch.backends.empty_cache(name)


def test_wrong_results_are_found(hostile):
    from facula import conformance

    name = hostile("wrong_results")
    assert add(name) == [3, 3, 3, 3]
    card = conformance.Card(name)
    conformance.check_map(card, {"add"})
    wrong = [c for c in card.cases if c[4] == "failed"]
    assert {c[2] for c in wrong} == {"float32", "float16", "bfloat16"} and "expected" in wrong[0][5]
    assert wrong[0][5].endswith("expected -3.75; inputs -2.25, -0.75"), wrong[0]
    assert {c[4] for c in card.cases if c[2] == "int64"} == {"fallback"}


def test_operators_by_name(hostile):
    with pytest.warns(UserWarning, match="offers the operator 'aten::no_such_operator'"):
        name = hostile("operators")
    about = next(b for b in torch.backends.backends() if b["name"] == name)
    assert about["operators"] == ["aten::relu", "aten::exp"]
    x = torch.tensor([[-1.0, 2.0], [3.0, -4.0]]).to(name)
    assert torch.relu(x).cpu().tolist() == [[0, 7], [7, 0]]  # its own idea of relu
    assert torch.relu(x.t()).cpu().tolist() == [[0, 7], [7, 0]]
    assert torch.backends.fallback_counts() == {}
    assert torch.exp(x * 0).cpu().tolist() == [[1, 1], [1, 1]]  # declined: the CPU did it
    assert torch.backends.fallback_counts()[("aten::exp", name)] == 1


@pytest.mark.parametrize(
    "how, kind, message",
    [
        ("negative", RuntimeError, "negative dimension"),
        ("huge", RuntimeError, "overflow|too large|bytes"),
        ("wrong_number", RuntimeError, "aten::nonzero has no result 7"),
        ("wrong_item", RuntimeError, "result 0 of aten::nonzero is one tensor, and made once"),
        ("bad_type", RuntimeError, "no element type 77"),
        ("no_sizes", RuntimeError, "a result cannot have 2 dimensions"),
        ("many_dimensions", RuntimeError, "a result cannot have 1048576 dimensions"),
        ("fewer_than_none", RuntimeError, "a result cannot have -3 dimensions"),
        ("twice", RuntimeError, "is one tensor, and made once"),
        ("missing", RuntimeError, "it returned success without making result 0"),
        ("strange_status", RuntimeError, "failed with status -77 and no message"),
    ],
)
def test_nonsense_results(hostile, how, kind, message):
    name = hostile(f"result_{how}")
    for _ in range(2):
        with pytest.raises(kind, match=message):
            torch.nonzero(torch.ones(2).to(name))


@pytest.mark.parametrize(
    "how, message",
    [
        ("view_beyond", "the view reaches beyond the memory of argument 0"),
        ("view_before", "not of whole elements forward"),
        ("view_backward", "not of whole elements forward"),
        ("view_between", "not of whole elements forward"),
        ("view_of_nothing", "no argument 5|argument 5 has no tensor"),
        ("view_of_another", "argument 0 has no tensor 3"),
        ("missing", "it returned success without making result 0"),
    ],
)
def test_nonsense_views(hostile, how, message):
    name = hostile(f"result_{how}")
    with pytest.raises(RuntimeError, match=message):
        torch.diagonal(torch.ones(2, 2).to(name))


def test_list_out_of_order(hostile):
    with pytest.raises(RuntimeError, match="its tensors are made in order, next is 0"):
        torch.unbind(torch.ones(2, 2).to(hostile("result_list_out_of_order")))


@pytest.mark.parametrize("how, tag", [("wrong_kind", 4), ("garbage_tag", 1234567), ("missing", 0)])
def test_nonsense_numbers(hostile, how, tag):
    x = torch.ones(2).to(hostile(f"result_{how}"))
    with pytest.raises(RuntimeError, match=f"result 0 is bool by the schema of aten::equal; the backend gave a value with tag {tag}"):
        torch.equal(x, x)


def test_context_that_is_over(hostile):
    x = torch.ones(2).to(hostile("result_context_kept"))
    for _ in range(3):
        assert torch.nonzero(x).shape == (1, 1)


def test_claims_that_change_inside_of_a_call(hostile):
    x = torch.ones(2).to(hostile("result_epoch_inside"))
    for _ in range(3):
        assert torch.nonzero(x).shape == (1, 1)


def test_a_library_of_version_1(tmp_path):
    import shutil
    import subprocess

    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    source = tmp_path / "old.c"
    source.write_text("int facula_backend_v1(const void* host, void* backend) { return 0; }\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "old.so", source], check=True)
    with pytest.raises(RuntimeError, match="it was built for version 1 of the backend contract, this Facula has version 2; rebuild it against this include/facula/backend.h"):
        torch.load_backend(tmp_path / "old.so")
