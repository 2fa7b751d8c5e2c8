# SPDX-License-Identifier: Apache-2.0
"""The network model against arithmetic that can be done by hand."""

import math
import time

import pytest
from facula.distributed.schedule import Call, RankSchedule, load, save
from facula.tools.network import ALGORITHMS, Machine, replay, steps
from facula.tools.network._command import main
from facula.tools.network._machine import MachineError, names
from facula.tools.network._replay import ReplayError

pytestmark = pytest.mark.not_sanitized

COUNTS = (2, 3, 4, 7, 8, 16)


def sent(made):
    return sum(size * step.repeat for step in made for _, _, size in step.flows)


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_reduction_moves_what_its_algorithm_needs(n, algorithm):
    made = steps("all_reduce", 1 << 20, n, algorithm)
    power = 1 << (n.bit_length() - 1)
    wanted = {"ring": 2 * (n - 1), "tree": 2 * (n - 1), "halving-doubling": 2 * (power - 1) + 2 * (n - power)}[algorithm]
    assert sent(made) == pytest.approx(wanted * (1 << 20))
    rounds = sum(step.repeat for step in made)
    logarithm = math.ceil(math.log2(n))
    assert rounds == {"ring": 2 * (n - 1), "tree": 2 * logarithm, "halving-doubling": 2 * int(math.log2(power)) + 2 * (n != power)}[algorithm]


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("algorithm", ("tree", "halving-doubling"))
def test_everybody_has_a_part_of_everybody(n, algorithm):
    """Whose elements a rank has heard of, after all steps: everyone's."""
    known = [{i} for i in range(n)]
    for step in steps("all_reduce", 64, n, algorithm):
        before = [set(k) for k in known]
        for source, target, _ in step.flows:
            known[target] |= before[source]
    assert known == [set(range(n))] * n


@pytest.mark.parametrize("root", (0, 2))
def test_a_broadcast_reaches_everybody_once(root):
    have = {root}
    for step in steps("broadcast", 8, 7, "ring", root):
        assert all(s in have and t not in have for s, t, _ in step.flows)
        have |= {t for _, t, _ in step.flows}
    assert have == set(range(7))


def star(**numbers):
    return Machine(**{"ranks": 1, "message_us": 0, "latency_us": 0, "inside_latency_us": 0, "gbytes": 1, **numbers})


def test_times_of_a_star_by_hand():
    ring = steps("all_reduce", 8_000_000, 8, "ring")
    assert star().seconds(ring, range(8)) == pytest.approx(14 * 1e-3)  # 1 MB a step at 1 GB/s
    assert star(latency_us=5).seconds(ring, range(8)) == pytest.approx(14 * (1e-3 + 10e-6))  # two hops
    assert star(message_us=3).seconds(ring, range(8)) == pytest.approx(14 * (1e-3 + 6e-6))  # sent and received
    assert star(combine_gbytes=1).seconds(ring, range(8)) == pytest.approx(21 * 1e-3)
    # Four ranks of a node share its link, of which two nodes' borders use one each way.
    assert star(ranks=4).seconds(ring, range(8)) == pytest.approx(14 * 1e-3)
    direct = steps("all_to_all", 8_000_000, 8, "ring")
    assert star(ranks=4).seconds(direct, range(8)) == pytest.approx((1 + 2 + 3 + 4 + 3 + 2 + 1) * 1e-3)
    # Two cores for four processes: eight messages of 3 us.
    assert star(ranks=4, cores=2, message_us=3).seconds(steps("barrier", 0, 4, "ring"), range(4)) == pytest.approx(2 * 12e-6)


def test_uplinks_and_rings_of_rings():
    shift = steps("all_to_all", 4_000_000, 4, "ring")[1]  # everyone to the one after the next
    tree = star(topology="fat tree", leaf=2, latency_us=1)
    assert tree.seconds([shift], range(4)) == pytest.approx(1e-3 + 4e-6)
    assert star(topology="fat tree", leaf=2, oversubscription=2, latency_us=0).seconds([shift], range(4)) == pytest.approx(2e-3)
    torus = star(topology="torus", dims=(4,), latency_us=1)
    assert torus.seconds([shift], range(4)) == pytest.approx(2e-3 + 2e-6)  # each link carries two
    two = star(topology="torus", dims=(4, 4), latency_us=1)
    assert two.seconds([steps("barrier", 0, 16, "ring")[3]], range(16)) == pytest.approx(2e-6)  # 8 ranks on are two rows on
    assert two.most_ranks() == 16


def call(sequence, called, ended, wait, op="all_reduce", size=1_000_000, ranks=(0, 1), where="t.py:1", detail=""):
    return Call("0", "gloo", list(ranks), sequence, op, "float32", size // 4, size, detail, where, called, called, ended, *wait)


def two_ranks(late=0):
    """Computes 1 ms, reduces 1 MB and waits, computes 2 ms, ends with a barrier; rank 1 computes `late` ns longer."""
    out = []
    for rank in (0, 1):
        at = rank * late
        calls = [call(1, 1_000_000 + at, 5_000_000, (1_000_000 + at, 5_000_000)), call(2, 7_000_000, 8_000_000, (7_000_000, 8_000_000), "barrier", 0)]
        out.append(RankSchedule(rank, 2, "here", 0, 9_000_000, 0, calls))
    return out


def test_a_replay_by_hand():
    machine = star()
    p = replay(two_ranks(), machine, 2)
    assert p.total == pytest.approx(1e-3 + 2e-3) and p.calls["all_reduce"] == pytest.approx(1e-3) and p.waiting == pytest.approx(1e-3)
    late = replay(two_ranks(late=500_000), machine, 2)
    assert late.total == pytest.approx(0.5e-3 + 1e-3 + 2e-3) and late.waiting == pytest.approx((1e-3 + 1.5e-3) / 2)
    assert replay(two_ranks(), machine, 8).calls["all_reduce"] == pytest.approx(14 / 8 * 1e-3)
    one = replay(two_ranks(), machine, 1)
    assert one.total == pytest.approx(2e-3) and one.waiting == 0


def test_work_beside_a_call_hides_it():
    calls = [call(1, 0, 4_000_000, (3_000_000, 4_000_000))]  # 3 ms of work before it is waited for
    ranks = [RankSchedule(r, 2, "here", 0, 4_000_000, 0, list(calls)) for r in (0, 1)]
    assert replay(ranks, star(), 2).waiting == 0 and replay(ranks, star(gbytes=0.25), 2).waiting == pytest.approx(1e-3)


def test_sends_meet_recvs():
    a = RankSchedule(0, 2, "here", 0, 9, 0, [call(0, 0, 5, (0, 5), "send", detail="to 1")])
    b = RankSchedule(1, 2, "here", 0, 9, 0, [call(0, 3, 5, (3, 5), "recv", detail="from 0")])
    assert replay([a, b], star(), 2).total == pytest.approx(1e-3, rel=1e-3)
    b.calls[0].detail = "from -1"
    with pytest.raises(ReplayError, match="any rank"):
        replay([a, b], star(), 2)


def test_ten_thousand_ranks_in_seconds():
    start = time.process_time()
    times = {a: replay(two_ranks(), Machine.read("cluster"), 10_000, a).calls["all_reduce"] for a in ALGORITHMS}
    assert time.process_time() - start < 20
    assert times["halving-doubling"] < times["tree"] < times["ring"]  # a million bytes: messages count


def test_machines_that_come_along():
    assert names() == ["cluster", "office", "torus"]
    for name in names():
        machine = Machine.read(name)
        assert machine.name == name and Machine.parse(machine.text(), name) == machine


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[nodes]\nranks = 0", "x:2: ranks: 0 is out of range"),
        ("[nodes]\nranks = many", "x:2: ranks: invalid literal"),
        ("[nodes]\ncpus = 4", "x:2: 'cpus = 4': expected KEY = VALUE with a key of [nodes]: ranks, cores, memory_gbytes"),
        ("[cache]", "x:1: no section [cache]: there are [nodes], [process], [inside], [network]"),
        ("[network]\nlatency_us = nan", "out of range"),
        ('[network]\ntopology = "ring"', "topology 'ring': expected one of star, fat tree, torus"),
        ('[network]\ndims = "4x4"', "belong to"),
        ('[network]\ntopology = "torus"\ndims = "99999x99999"', "a million nodes at most"),
        ("ranks", "expected KEY = VALUE with a key of the file: name"),
    ],
)
def test_what_is_no_machine(text, complaint):
    with pytest.raises(MachineError) as error:
        Machine.parse(text, "x")
    assert complaint in str(error.value)


def test_files_and_the_command(tmp_path, capsys):
    for schedule in two_ranks():
        save(schedule, tmp_path)
    assert load(tmp_path) == two_ranks()
    assert main(["report", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "all_reduce" in out and "0 -> 1" in out and "1.0 MB" in out
    assert main(["replay", str(tmp_path), "--machine", "office", "--ranks", "2,8,10000", "--algorithm", "all", "--json", str(tmp_path / "p.json")]) == 0
    assert capsys.readouterr().out.count("halving-doubling") == 3 and (tmp_path / "p.json").exists()
    for arguments in (["--ranks", "0"], ["--algorithm", "star"]):
        with pytest.raises(SystemExit):
            main(["replay", str(tmp_path), *arguments])
    assert main(["replay", str(tmp_path), "--machine", "torus", "--ranks", "5000"]) == 2
    assert "room for 1 to 4096" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: "", "it does not begin as one"),
        (lambda text: text.replace('"world_size":2', '"world_size":3'), "of one run"),
        (lambda text: text.replace('"bytes":1000000', '"bytes":-1'), "not negative"),
        (lambda text: text.replace('"ranks":[0,1]', '"ranks":[0,7]'), "ranks [0, 7]"),
        (lambda text: text[:-20], "line 3"),
        (lambda text: text.replace('"op"', '"operator"'), "this is no schedule"),
    ],
)
def test_files_that_are_no_schedule(tmp_path, damage, complaint):
    for schedule in two_ranks():
        save(schedule, tmp_path)
    file = tmp_path / "rank1.jsonl"
    file.write_text(damage(file.read_text()))
    with pytest.raises(ValueError, match="^.*" + complaint.replace("[", r"\[").replace("]", r"\]")):
        load(tmp_path)


def test_a_rank_that_called_less(tmp_path):
    ranks = two_ranks()
    del ranks[1].calls[1]
    with pytest.raises(ReplayError, match=r"rank 0 waits for barrier number 2 of group '0' at t.py:1"):
        replay(ranks, star(), 2)
    ranks = two_ranks()
    ranks[0].lost = 3
    with pytest.raises(ReplayError, match="3 calls were not kept"):
        replay(ranks, star(), 2)
