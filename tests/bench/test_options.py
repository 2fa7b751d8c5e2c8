# SPDX-License-Identifier: Apache-2.0
"""The runner's command line against what PyTorch's own parser said (parser_facts.json), the plan, and the gates."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import pytest

from facula.tools.bench import _check, _options, _plan

pytestmark = pytest.mark.not_sanitized

HERE = pathlib.Path(__file__).parent
FACTS = json.loads((HERE / "parser_facts.json").read_text())


@pytest.fixture(scope="module")
def parser():
    return _options.parser("bench")


@pytest.mark.parametrize("fact", FACTS["options"], ids=lambda f: f["names"][0])
def test_every_option_of_pytorch(parser, fact):
    for name in fact["names"]:
        action = parser._option_string_actions[name]
        assert action.dest == fact["dest"]
        assert action.option_strings == fact["names"]
        assert (action.nargs != 0) == fact["takes"]
        assert isinstance(action, argparse._AppendAction) == fact["repeats"]
        assert action.default == fact["default"]
        if fact["choices"]:
            assert list(action.choices) == fact["choices"]
        if fact["type"] in ("int", "float"):
            assert action.type.__name__ == fact["type"]


def test_no_option_but_theirs_and_ours():
    assert {o.dest for o in _options.OPTIONS} == {f["dest"] for f in FACTS["options"]}
    assert not {o.dest for o in _options.OURS} & {f["dest"] for f in FACTS["options"]}
    assert all(o.why for o in _options.OPTIONS if o.does != _options.ACTS)


def test_every_abbreviation(parser):
    """Also those that are ambiguous: options of our own change nothing."""
    for prefix, dest in FACTS["prefixes"].items():
        exact, found = parser._option_string_actions.get(prefix), parser._get_option_tuples(prefix)
        got = exact.dest if exact else found[0][0].dest if len(found) == 1 else None
        assert got == dest, prefix


def test_groups(parser):
    ours = sorted(sorted(a.dest for a in g._group_actions) for g in parser._mutually_exclusive_groups)
    assert ours == sorted(FACTS["groups"])


@pytest.mark.parametrize("line", FACTS["lines"])
def test_a_line_is_taken_as_by_pytorch(line):
    expected = FACTS["lines"][line]
    if expected is None:
        with pytest.raises(_options.Refused) as refused:
            _options.parse(line.split())
        assert "\n" not in str(refused.value)
        return
    got = vars(_options.parse(line.split()))
    defaults = {f["dest"]: f["default"] for f in FACTS["options"]}
    assert {name: got[name] for name in defaults if got[name] != defaults[name]} == expected


@pytest.mark.parametrize(("line", "word"), [
    ("--xla", "XLA"), ("--quantization int8dynamic", "quantised"), ("--fsdp", "FullySharded"), ("--ddp", "--training"), ("--export", "torch.export"),
    ("-n0", "--repeat"), ("-n-3", "--repeat"), ("--timeout 0", "--timeout"), ("--batch-size 0", "--batch-size"), ("-t0", "--threads"),
    ("--total-partitions 4 --partition-id 4", "--partition-id"), ("--partition-id -1", "--partition-id"), ("--backend nosuch", "module:function"),
    ("--backend torch", "--oracle"), ("--amp-dtype float16", "--amp"), ("--disable-output --output x.csv", "--disable-output"),
    ("--per_process_memory_fraction 0", "share"), ("--budget nan", "--budget"), ("--minify", "minifier"),
])  # fmt: skip
def test_refused_in_one_sentence(line, word):
    options = _options.parse(["--performance", "--inference", *line.split()])
    with pytest.raises(_options.Refused, match=re.escape(word)) as refused:
        _options.check(options)
    assert "\n" not in str(refused.value)


def options_of(line):
    options = _options.parse(["--performance", "--inference", *line.split()])
    _options.check(options)
    return options


@pytest.mark.parametrize(("line", "name"), [
    ("--inductor", "inductor.csv"), ("--backend=inductor", "speedup_inductor.csv"), ("--nothing", "speedup_nothing.csv"), ("", "speedup_eager.csv"),
    ("--overhead", "overheads.csv"), ("--backend my.module:fast", "speedup_my.module_fast.csv"), ("--output x.csv", "x.csv"),
    ("--output x.csv --output-directory d", "d/x.csv"), ("--disable-output", None),
])  # fmt: skip
def test_where_rows_go(line, name):
    assert _options.output_path(options_of(line)) == name


def test_where_rows_of_accuracy_go():
    assert _options.output_path(_options.parse(["--acc", "--inf", "--inductor"])) == "accuracy_inductor.csv"
    assert _options.output_path(_options.parse(["--tol", "--inf"])) == "tolerance_eager.csv"


def test_help_names_every_option(parser):
    text = parser.format_help()
    assert all(o.names.split()[0] in text for o in (*_options.OPTIONS, *_options.OURS) if o.help != argparse.SUPPRESS)


# --- the plan


def test_names_and_filters():
    def names(suite, line):
        return [p.name for p in _plan.plan(suite, options_of(line))]

    assert names("timm_models", "-k vit -x siglip") == ["mobilevit_s", "vit_base_patch14_dinov2.lvd142m"]
    assert names("timm_models", "-k VIT -k swin --exclude-exact mobilevit_s") == [
        n for n in _plan.names_of("timm_models") if re.search("vit|swin", n) and n != "mobilevit_s"
    ]
    assert len(names("huggingface", "")) == 55


def test_partitions_cover_everything_once():
    for parts in (1, 4, 7, 15):
        slices = [_plan.partition(47, parts, i) for i in range(parts)]
        assert [i for a, b in slices for i in range(a, b)] == list(range(47))
    whole = [p.name for p in _plan.plan("timm_models", options_of(""))]
    cut = [p.name for i in range(4) for p in _plan.plan("timm_models", options_of(f"--total-partitions 4 --partition-id {i}"))]
    assert cut == whole


@pytest.mark.parametrize(("suite", "line", "word"), [
    ("timm_models", "--only inception_v4", "inception_v3"), ("huggingface", "--only BertForMaskLM", "BertForMaskedLM"),
    ("timm_models", "-k nosuchmodel", "no model is left"), ("timm_models", "-k [", "regular expression"),
    ("timm_models", "--only path:/nosuch.py,class:M", "/nosuch.py"), ("timm_models", "--only path:/nosuch.py", "class:NAME"),
    ("timm_models", "--batch-size-file /nosuch", "/nosuch"),
])  # fmt: skip
def test_plans_that_are_refused(suite, line, word):
    with pytest.raises(_options.Refused, match=re.escape(word)):
        _plan.plan(suite, options_of(line))


def test_batch_sizes(tmp_path):
    file = tmp_path / "sizes"
    file.write_text("inception_v3,3\n\nghostnet_100 5\n")
    by_name = {p.name: p.batch_size for p in _plan.plan("timm_models", options_of(f"--batch-size-file {file}"))}
    assert (by_name["inception_v3"], by_name["ghostnet_100"], by_name["mobilevit_s"]) == (3, 5, None)
    assert {p.batch_size for p in _plan.plan("timm_models", options_of(f"--batch-size-file {file} --batch_size 2"))} == {2}
    file.write_text("a,b\n")
    with pytest.raises(_options.Refused, match="line 1"):
        _plan.plan("timm_models", options_of(f"--batch-size-file {file}"))


# --- the gates

ROWS = """dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem,status
cpu,fast,4,1.50,10.0,2.0,1.2,1.1,0.9,measured
cpu,slow,4,0.86,20.0,2.0,1.0,1.0,1.0,measured
"""


def perf(tmp_path, *arguments, rows=ROWS):
    (tmp_path / "x.csv").write_text(rows)
    return _check.perf(["-f", str(tmp_path / "x.csv"), *arguments])


def test_the_gate_of_times(tmp_path, capsys):
    assert perf(tmp_path, "-t", "0.95", "-s", "0.9") == 0
    assert perf(tmp_path, "-t", "0.95") == 1
    assert "slow: speedup=0.860x" in capsys.readouterr().out
    assert perf(tmp_path, "-t", "0.9", "-s", "0.9", "--fail-on-improvement") == 1
    assert "Improvement: 1" in capsys.readouterr().out
    assert perf(tmp_path, "-t", "20", "--metric", "abs_latency") == 0
    assert perf(tmp_path, "-t", "15", "--metric", "abs_latency") == 1
    assert perf(tmp_path, "-t", "0.9", rows=ROWS + "cpu,broken,0,0.0,0.0,0,0,0,0,timeout\n") == 1
    assert "timeout" in capsys.readouterr().out
    assert _check.perf(["-f", str(tmp_path / "nosuch.csv"), "-t", "1"]) == 1


def test_the_gate_of_accuracy(tmp_path, capsys):
    def check(actual, expected):
        (tmp_path / "a").write_text("dev,name,batch_size,accuracy\n" + "".join(f"cpu,{n},4,{s}\n" for n, s in actual))
        (tmp_path / "e").write_text("name,accuracy\n" + "".join(f"{n},{s}\n" for n, s in expected))
        return _check.accuracy(["--actual", str(tmp_path / "a"), "--expected", str(tmp_path / "e")])

    assert check([("a", "pass"), ("b", "timeout")], [("a", "pass"), ("b", "timeout")]) == 0
    assert "XFAIL" in capsys.readouterr().out
    assert check([("a", "fail_accuracy")], [("a", "pass")]) == 1
    assert check([("a", "pass")], [("a", "fail_accuracy")]) == 1
    assert "IMPROVED" in capsys.readouterr().out
    assert check([("a", "pass")], []) == 1
    assert check([("yolov3", "fail_accuracy")], [("yolov3", "pass")]) == 0


@pytest.mark.parametrize("script", ["check_perf_csv.py", "check_accuracy.py"])
def test_the_scripts_run_as_programs(script):
    folder = HERE.parents[1] / "benchmarks" / "dynamo"
    done = subprocess.run([sys.executable, folder / script, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "--" in done.stdout
