# SPDX-License-Identifier: Apache-2.0
"""The command line of PyTorch's benchmark runner, each option with what becomes of it here.

An option acts; or it is taken and has nothing to act on (NOTHING, with the reason); or it asks for what does not exist
(ABSENT): one sentence, status 2, before any model runs. Abbreviations stand for what they stand for in PyTorch's parser:
options of our own never make one of those ambiguous. tests/bench/parser_facts.json, recorded from that parser, is the judge.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence

ACTS, NOTHING, ABSENT = "acts", "nothing to act on", "absent"
COMPILER = "a knob of the compiler, which does not exist yet"
INDUCTOR = "a knob of PyTorch's Triton code, of which there is none here"
EXPORTER = "torch.export does not exist here yet"
DIFF_BRANCH = "DIFF-BRANCH-DEFAULT"
BACKENDS = ("eager", "nothing", "inductor", "jit", "torch")


@dataclasses.dataclass(frozen=True)
class Option:
    names: str
    help: str
    does: str = ACTS  # ACTS, NOTHING or ABSENT
    why: str = ""  # of the latter two
    takes: dict | None = None  # argparse's keywords; None: a switch
    group: str = ""  # of options that exclude each other
    ours: bool = False

    @property
    def dest(self) -> str:
        return self.names.split()[0].lstrip("-").replace("-", "_") if not self.names.startswith("--_") else "_print_latency_ms"


def many(**more):
    return {"action": "append", **more}


def whole(default=None, **more):
    return {"type": int, "default": default, **more}


OPTIONS = (
    # --- which models
    Option("--only", "one model by name, or path:/abs/file.py,class:NAME, whose module has get_example_inputs()", takes={"metavar": "NAME"}),
    Option("--filter -k", "models whose name matches this expression; may be repeated", takes=many(metavar="REGEX")),
    Option("--exclude -x", "without models whose name matches; may be repeated", takes=many(metavar="REGEX")),
    Option("--exclude-exact", "without the model of this name; may be repeated", takes=many(metavar="NAME")),
    Option("--total-partitions", "parts that the sorted list is cut into (1 to 15)", takes=whole(1, choices=range(1, 16), metavar="N")),
    Option("--partition-id", "which part, from 0", takes=whole(0, metavar="I")),
    Option("--no-skip", "models that are skipped otherwise, too"),
    Option("--fast -f", "without slow models"),
    Option("--part", "a part of the model to run", NOTHING, "no model here has parts", {"metavar": "PART"}),
    Option("--batch-size --batch_size", "batch size, for all models", takes=whole(metavar="N")),
    Option("--batch-size-file", "a file of lines NAME,SIZE or NAME SIZE", takes={"metavar": "FILE"}),
    # --- where and in what
    Option("--devices --device -d", "the device (cpu); may be repeated", takes=many(metavar="DEVICE")),
    Option("--device-index", "which of several devices of that name", takes={"metavar": "I"}),
    Option("--threads -t", "threads of each process; as many as the machine has cores, unless told", takes=whole(metavar="N")),
    Option("--per_process_memory_fraction", "of the machine's memory, a process may have (1: what is free, and some)", takes={"type": float, "default": 1, "metavar": "SHARE"}),
    Option("--float16", "the model and its inputs in float16", group="precision"),
    Option("--bfloat16", "the model and its inputs in bfloat16", group="precision"),
    Option("--float32", "the model and its inputs in float32", group="precision"),
    Option("--amp", "autocast", group="precision"),
    Option("--amp-dtype", "autocast's type (bfloat16 on the CPU)", takes={"choices": ("bfloat16", "float16")}),
    Option("--channels-last", "memory format of pictures"),
    Option("--use-eval-mode", "model.eval(), in training too"),
    Option("--randomize-input", "new values of the same shapes in every run"),
    Option("--enable-activation-checkpointing", "activations computed again in backward, where the model offers it"),
    # --- what it is compared with
    Option("--inductor", "torch.compile; until there is a compiler eager is measured, speedup 0.0, status no_compiler", group="backend"),
    Option("--backend", f"one of {', '.join(BACKENDS)}, or module:function of (model, example inputs)", takes={"metavar": "NAME"}, group="backend"),
    Option("--nothing", "eager against itself, unchanged", group="backend"),
    Option("--overhead", "the same, into overheads.csv", group="backend"),
    Option("--torchscript-jit-trace", "torch.jit.trace", group="backend"),
    Option("--print-fx", "print the graph that torch.fx finds, measure eager", group="backend"),
    Option("--print-aten-ops", "print the operators of a step and how often each ran, measure eager", group="backend"),
    Option("--log-conv-args", "write what convolutions are called with to conv_args.json, measure eager", group="backend"),
    Option("--find-batch-sizes", "the largest batch size that fits, from 1024 down by halves", group="backend"),
    Option("--coverage", "share of a model that was compiled", ABSENT, "there is no compiler whose graphs it could count", group="backend"),
    Option("--speedup-dynamo-ts", "", ABSENT, "there is no graph capture to hand to TorchScript", group="backend"),
    Option("--speedup-fx2trt", "", ABSENT, "there is no TensorRT here", group="backend"),
    Option("--speedup-fx2trt-fp16", "", ABSENT, "there is no TensorRT here", group="backend"),
    Option("--optimus", "", ABSENT, "it is a set of passes of PyTorch's compiler", takes={"choices": ["vertical_opt", "horizontal_opt", "all"]}, group="backend"),
    Option("--quantization", "", ABSENT, "quantised types do not exist here",
           takes={"choices": ["int8dynamic", "int8weightonly", "int4weightonly", "noquant"]}, group="backend"),
    Option("--export", "", ABSENT, EXPORTER, group="backend"),
    Option("--export-aot-inductor", "", ABSENT, EXPORTER, group="backend"),
    Option("--aot-precompile", "", ABSENT, "there is no compiler yet", group="backend"),
    Option("--export-nativert", "", ABSENT, EXPORTER, group="backend"),
    Option("--xla", "", ABSENT, "there is no XLA here", group="backend"),
    Option("--recompile-profiler --recompile_profiler", "", ABSENT, "there is no compiler that compiles again", group="backend"),
    # --- knobs of compilers
    Option("--inductor-compile-mode", "mode= of torch.compile", takes={"metavar": "MODE"}),
    Option("--inductor-config -c", "KEY=VALUE of torch.compile's options; may be repeated", takes=many(metavar="KEY=VALUE")),
    Option("--nopython", "fullgraph=True of torch.compile"),
    Option("--dynamic-shapes", "dynamic=True of torch.compile"),
    Option("--dynamic-batch-only", "the same, for the first dimension alone"),
    Option("--unbacked-batch-only", "", NOTHING, COMPILER),
    Option("--compare-backed-unbacked", "", ABSENT, "it compares two ways of compiling, and there is no compiler yet"),
    Option("--propagate-real-tensors", "", NOTHING, COMPILER),
    Option("--specialize-int", "", NOTHING, COMPILER),
    Option("--compiled-autograd", "", NOTHING, COMPILER),
    Option("--caching-precompile", "", NOTHING, COMPILER),
    Option("--suppress-errors", "", NOTHING, "it is about errors of PyTorch's compiler; a model's failure is a row, and the next model runs"),
    Option("--freezing", "weights as constants, for inference", NOTHING, COMPILER),
    Option("--inductor-settings", "", NOTHING, "eager runs with the same settings already"),
    Option("--disable-cudagraphs", "", NOTHING, "there are no CUDA graphs here"),
    Option("--disable-split-reductions", "", NOTHING, INDUCTOR),
    Option("--disable-persistent-reductions", "", NOTHING, INDUCTOR),
    Option("--disable-divisible-by-16", "", NOTHING, INDUCTOR),
    Option("--no-translation-validation", "", NOTHING, COMPILER),
    Option("--prims-nvfuser", "", NOTHING, "there is no nvFuser here"),
    Option("--nvfuser", "", NOTHING, "PyTorch ignores it, too", group="fuser"),
    Option("--nnc", "", NOTHING, "there is no NNC here", group="fuser"),
    Option("--trace-on-xla", "", ABSENT, "there is no XLA here"),
    Option("--xla-tolerance", "", NOTHING, "there is no XLA here", takes={"type": float, "default": 1e-2}),
    Option("--cold-start-latency --cold_start_latency", "compile with an empty cache, in a process of its own", group="latency"),
    Option("--warm-start-latency --warm_start_latency", "compile with the cache that an earlier process filled", group="latency"),
    # --- how it is timed
    Option("--repeat -n", "pairs of runs at most (30)", takes=whole(30, metavar="N")),
    Option("--iterations-per-run", "steps of one run (1)", takes=whole(1, metavar="N")),
    Option("--iterations", "steps before results are compared, for --accuracy (2)", takes=whole(2, metavar="N")),
    Option("--collect-outputs", "a training run keeps outputs and gradients until it ends"),
    Option("--timeout", "seconds that one model may take (2000)", takes=whole(2000, metavar="SECONDS")),
    # --- accuracy
    Option("--cosine", "judge by the cosine instead of distances"),
    Option("--skip-fp64-check", "without the float64 run that tells who is nearer to the truth"),
    Option("--deterministic", "torch.use_deterministic_algorithms"),
    Option("--batch-invariant", "results of N, N/2, … 1 samples must be equal bit by bit; with --accuracy"),
    Option("--skip-accuracy-check", "a model that fails does not change the exit status"),
    Option("--minify", "", ABSENT, "there is no minifier; the row of a failure names the first operator that diverges"),
    Option("--save-model-outputs-to", "write a model's outputs to this file", takes={"default": "", "metavar": "FILE"}),
    Option("--compare-model-outputs-with", "compare a model's outputs with such a file, bit by bit", takes={"default": "", "metavar": "FILE"}),
    # --- what is printed and written
    Option("--output", "the CSV file (FILE.json holds all times, beside it)", takes={"metavar": "FILE"}),
    Option("--output-directory", "the folder of what is written", takes={"metavar": "FOLDER"}),
    Option("--disable-output", "write nothing"),
    Option("--retain-output", "go on where an earlier run stopped: models with a row are not run again"),
    Option("--baseline", "an earlier CSV: prints and writes both speedups and their ratio", takes={"metavar": "FILE"}),
    Option("--tag", "a word in a column of its own", takes={"metavar": "TAG"}),
    Option("--diff-branch", "measure this commit and that branch, each built once, and compare (facula bench diff)", takes={"default": DIFF_BRANCH, "metavar": "BRANCH"}),
    Option("--dump-raw-metrics", "all times as .npy beside the CSV"),
    Option("--export-profiler-trace", "a trace of one more, untimed step of each model"),
    Option("--profiler-trace-name --profiler_trace_name", "its name", takes={"metavar": "NAME"}),
    Option("--profile-details", "shapes, stacks and memory in it"),
    Option("--snapshot-memory --snapshot_memory", "what is allocated in one more, untimed step, as a file for each model"),
    Option("--use-warm-peak-memory --use_warm_peak_memory", "peak memory of a step after the warm-up"),
    Option("--print-memory", "print peak memory"),
    Option("--print-compilation-time", "print compile time"),
    Option("--print-dataframe-summary", "print the rows as a table at the end"),
    Option("--explain", "print what a step counts: operators, kernels, bytes"),
    Option("--stats", "the same"),
    Option("--timing", "print where the time of a model's run went: load, warm-up, measurement"),
    Option("--progress", "print n/k before each model"),
    Option("--verbose -v", "print what models print", group="printout"),
    Option("--quiet -q", "print rows only", group="printout"),
    Option("--print-graph-breaks", "", NOTHING, "nothing captures graphs that could break"),
    Option("--log-graph-breaks", "", NOTHING, "nothing captures graphs that could break"),
    Option("--log-operator-inputs", "write every operator's argument types and shapes to a file for each model"),
    Option("--generate-aot-autograd-stats", "", NOTHING, "there is no ahead-of-time autograd"),
    Option("--profile_dynamo_cache_lookup --profile-dynamo-cache-lookup", "", NOTHING, "there is no cache of compiled frames to look up"),
    Option("--export-perfdoctor", "", ABSENT, "it uploads to a service of PyTorch's makers"),
    Option("--_print-latency-ms", argparse.SUPPRESS),
    Option("--ci", "", NOTHING, "a run is the same in CI"),
    Option("--dashboard", "--use-warm-peak-memory, where performance is measured"),
    # --- several processes
    Option("--multiprocess", "", NOTHING, "it is a process for each device, and a run here has one device"),
    Option("--ddp", "the model in DistributedDataParallel, with one process; for training"),
    Option("--fsdp", "", ABSENT, "FullyShardedDataParallel does not exist here"),
    Option("--optimize-ddp-mode", "", NOTHING, COMPILER, {"default": "ddp_optimizer"}),
    Option("--distributed-master-port", "", NOTHING, "the one process of --ddp meets itself without a port", {"default": "6789"}),
    # --- what is asked
    Option("--accuracy", "compare results", group="mode!"),
    Option("--performance", "compare times", group="mode!"),
    Option("--tolerance", "how far results are apart", group="mode!"),
    Option("--training", "training steps", group="run!"),
    Option("--inference", "inference", group="run!"),
)  # fmt: skip

OURS = (
    Option("--oracle", "a Python that has PyTorch: measured beside Facula, in processes of its own", takes={"metavar": "PYTHON"}, ours=True),
    Option("--budget", "seconds that one model's measurement may take (120)", takes={"type": float, "default": 120.0, "metavar": "SECONDS"}, ours=True),
    Option("--half-width", "stop when the speedup is known to this share (0.01)", takes={"type": float, "default": 0.01, "metavar": "SHARE"}, ours=True),
    Option("--passes", "times that fresh processes are started (3)", takes=whole(3, metavar="N"), ours=True),
    Option("--compat", "PyTorch's step: mean of the outputs as the loss, no optimiser on the CPU", ours=True),
    Option("--hf-inference-mode", "of huggingface's language models: prefill (one forward of the prompt) or generate (16 tokens more)", ours=True,
           takes={"choices": ("prefill", "generate")}),
    Option("--prompt-length", "tokens of that prompt (128)", takes=whole(128, metavar="N"), ours=True),
    Option("--tiny", "models at a size for tests", ours=True),
    Option("--peer", "beside it, by name: onnxruntime, openvino (inference; the oracle's Python has them)", takes={"metavar": "NAMES"}, ours=True),
    Option("--html", "a page of the results", takes={"metavar": "FILE"}, ours=True),
)  # fmt: skip


class Refused(Exception):
    """One sentence: why nothing is run. Status 2."""


class _Parser(argparse.ArgumentParser):
    """Raises Refused instead of leaving; abbreviations are PyTorch's before they are ours."""

    def error(self, message):
        raise Refused(message)

    def _get_option_tuples(self, option_string):
        found = super()._get_option_tuples(option_string)
        theirs = [f for f in found if f[0].dest not in _OUR_DESTS]
        return theirs or found


_OUR_DESTS = {o.dest for o in OURS}


def parser(prog: str) -> argparse.ArgumentParser:
    made = _Parser(prog=prog, description="Benchmarks with PyTorch's command line (docs/bench.md)", allow_abbrev=True)
    groups: dict = {}
    for option in (*OPTIONS, *OURS):
        where = made
        if option.group:
            name = option.group.rstrip("!")
            where = groups.get(name) or groups.setdefault(name, made.add_mutually_exclusive_group(required=option.group.endswith("!")))
        text = option.help
        if option.does != ACTS:
            text = f"{option.help + '; ' if option.help else ''}{'taken, and nothing to act on' if option.does == NOTHING else 'refused'}: {option.why}"
        where.add_argument(*option.names.split(), help=text.replace("%", "%%"), **(option.takes or {"action": "store_true"}))
    return made


def _set(value, option):
    default = (option.takes or {}).get("default", False if option.takes is None else None)
    return value != default


def parse(arguments: Sequence[str], prog: str = "facula bench") -> argparse.Namespace:
    """The namespace, or Refused with one sentence."""
    options = parser(prog).parse_args(list(arguments))
    if options.batch_invariant and not options.accuracy:
        raise Refused("--batch-invariant requires --accuracy")
    if options.dashboard and options.performance:
        options.use_warm_peak_memory = True
    return options


def check(options: argparse.Namespace) -> None:
    """Refuses what does not exist, and what makes no sense, before any model runs."""
    for option in OPTIONS:
        if option.does == ABSENT and _set(getattr(options, option.dest), option):
            raise Refused(f"{option.names.split()[0]}: {option.why}")
    for name in ("repeat", "iterations", "iterations_per_run", "timeout", "passes", "prompt_length", "budget", "half_width"):
        if not getattr(options, name) > 0:
            raise Refused(f"--{name.replace('_', '-')}: expected a positive number, got {getattr(options, name)}")
    if options.hf_inference_mode and options.training:
        raise Refused("--hf-inference-mode: it is for --inference")
    for name in ("batch_size", "threads"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise Refused(f"--{name.replace('_', '-')}: expected a positive number, got {getattr(options, name)}")
    if not 0 < options.per_process_memory_fraction <= 1:
        raise Refused(f"--per_process_memory_fraction: expected a share above 0 and up to 1, got {options.per_process_memory_fraction}")
    if not 0 <= options.partition_id < options.total_partitions:
        raise Refused(f"--partition-id: expected 0 to {options.total_partitions - 1} with --total-partitions {options.total_partitions}, got {options.partition_id}")
    backend = backend_of(options)
    if backend not in BACKENDS and ":" not in backend:
        raise Refused(f"--backend: expected one of {', '.join(BACKENDS)}, or module:function; got {backend!r}")
    if backend == "torch" and not options.oracle:
        raise Refused("--backend torch: --oracle names the Python that has PyTorch")
    if options.peer and (options.training or not options.performance):
        raise Refused("--peer: those engines are for inference; ask for --performance --inference")
    if options.ddp and not options.training:
        raise Refused("--ddp: it is for training, ask for --training")
    if options.amp_dtype and not options.amp:
        raise Refused("--amp-dtype: it is autocast's, ask for --amp")
    if options.disable_output and (options.output or options.retain_output):
        raise Refused("--disable-output: nothing is written, so --output and --retain-output have no file")


def backend_of(options: argparse.Namespace) -> str:
    """eager where nothing is asked for."""
    if options.inductor:
        return "inductor"
    if options.torchscript_jit_trace:
        return "jit"
    return "nothing" if options.nothing else options.backend or "eager"


def output_path(options: argparse.Namespace) -> str | None:
    """Where the rows go: PyTorch's names."""
    if options.disable_output:
        return None
    name, backend = options.output, backend_of(options).replace(":", "_").replace(os.sep, "_")
    if not name:
        mode = "accuracy" if options.accuracy else "tolerance" if options.tolerance else "speedup"
        name = f"{mode}_{backend}.csv"
        if options.performance:
            name = "inductor.csv" if options.inductor else "overheads.csv" if options.overhead else name
    return os.path.join(options.output_directory, name) if options.output_directory else name


def table() -> str:
    """Markdown for docs/bench.md: the options that do not act, and why."""
    lines = ["| option | | why |", "|---|---|---|"]
    for option in OPTIONS:
        if option.does != ACTS:
            lines.append(f"| `{'`, `'.join(option.names.split())}` | {'taken' if option.does == NOTHING else 'refused'} | {option.why} |")
    return "\n".join(lines)
