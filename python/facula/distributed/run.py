# SPDX-License-Identifier: Apache-2.0
"""torchrun, and python -m torch.distributed.run: starts a program as several processes that find each other.

    torchrun --nproc-per-node=4 train.py --lr 0.1
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-endpoint=host0:29400 --rdzv-id=SECRET train.py

Each process gets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT … and init_process_group() needs nothing more."""

import argparse
import os
import sys
import uuid

from facula.distributed._agent import Agent, Options

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """PyTorch's options, with - and with _."""
    p = argparse.ArgumentParser(prog="torchrun", description=(__doc__ or "").split("\n\n")[0], allow_abbrev=False)

    def add(name: str, **kwargs) -> None:
        names = [f"--{name}"] + ([f"--{name.replace('-', '_')}"] if "-" in name else [])
        p.add_argument(*names, **kwargs)

    add("nnodes", default="1", metavar="N", help="machines; of MIN:MAX, MAX is taken")
    add("nproc-per-node", default="1", metavar="N", help="processes on this machine: a number, or cpu, gpu, auto")
    add("rdzv-backend", default="", help="static (ranks by --node-rank) or c10d (as machines come)")
    add("rdzv-endpoint", default="", metavar="HOST:PORT", help="where the store is: on machine 0")
    add("rdzv-id", default="", help="the run's name; with several machines also what keeps strangers out")
    add("rdzv-conf", default="", metavar="KEY=VALUE,…", help="join_timeout=SECONDS")
    add("standalone", action="store_true", help="this machine alone, on a port that is free")
    add("max-restarts", type=int, default=0, help="how often all processes are started again when one fails")
    add("monitor-interval", type=float, default=0.1, help="seconds between two looks at the processes")
    add("start-method", default="spawn", help="taken, and not needed: processes are programs")
    add("event-log-handler", default="null", help=argparse.SUPPRESS)
    add("role", default="default", help="a name for the processes, shown before lines of --tee")
    p.add_argument("-m", "--module", action="store_true", help="the program is a module's name")
    add("no-python", action="store_true", help="the program is no Python script")
    add("run-path", action="store_true", help="taken: scripts are run as __main__ anyway")
    add("log-dir", default="", help="where --redirects and --tee write")
    p.add_argument("-r", "--redirects", default="0", help="1 stdout, 2 stderr, 3 both into files; or 0:1,1:3 by local rank")
    p.add_argument("-t", "--tee", default="0", help="the same into files and here")
    add("local-ranks-filter", default="", metavar="R,R", help="show the output of these local ranks only")
    add("duplicate-stdout-filters", default="", help=argparse.SUPPRESS)
    add("duplicate-stderr-filters", default="", help=argparse.SUPPRESS)
    add("node-rank", type=int, default=None, help="this machine's number (static)")
    add("master-addr", default="", help="machine 0 (static)")
    add("master-port", type=int, default=None, help="a port there (static)")
    add("local-addr", default="", help=argparse.SUPPRESS)
    add("logs-specs", default="", help=argparse.SUPPRESS)
    add("numa-binding", default="", help=argparse.SUPPRESS)
    add("signals-to-handle", default="", help=argparse.SUPPRESS)
    add("virtual-local-rank", action="store_true", help=argparse.SUPPRESS)
    add("use-env", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("training_script", help="the program")
    p.add_argument("training_script_args", nargs=argparse.REMAINDER, help="handed to it")
    return p


def parse_args(args: list[str] | None = None) -> argparse.Namespace:
    """Reads PyTorch's command line; what is not given comes from PET_… in the environment."""
    parser = get_args_parser()
    for action in parser._actions:
        variable = f"PET_{action.dest.upper()}"
        if action.dest != "help" and variable in os.environ and action.option_strings:
            value = os.environ[variable]
            action.default = value not in ("0", "", "False") if action.const is True else value
    return parser.parse_args(args)


def _by_rank(text: str, name: str) -> dict[int, int]:
    try:
        if ":" not in text:
            return {-1: int(text)}
        return {int(r): int(v) for r, v in (part.split(":") for part in text.split(","))}
    except ValueError:
        raise SystemExit(f"torchrun: {name} {text!r}: expected 0 to 3, or local ranks with such numbers (0:1,1:3)") from None


def _processes(text: str) -> int:
    cores = len(os.sched_getaffinity(0))
    if text in ("cpu", "auto"):
        return cores
    if text == "gpu":
        import facula

        if not (count := facula.cuda.device_count()):
            raise SystemExit("torchrun: --nproc-per-node=gpu: there is no GPU here")
        return count
    if not text.isdigit() or int(text) < 1:
        raise SystemExit(f"torchrun: --nproc-per-node={text}: expected a number from 1, or cpu, gpu, auto")
    return int(text)


def _nodes(text: str) -> int:
    last = text.rsplit(":", 1)[-1]
    if not last.isdigit() or int(last) < 1:
        raise SystemExit(f"torchrun: --nnodes={text}: expected N or MIN:MAX, from 1")
    return int(last)


def _place(args: argparse.Namespace, nodes: int) -> tuple[str, int]:
    if args.standalone or (nodes == 1 and not args.rdzv_endpoint and not args.master_addr and args.master_port is None):
        return "127.0.0.1", 0  # any port that is free
    endpoint = args.rdzv_endpoint or f"{args.master_addr or '127.0.0.1'}:{args.master_port or 29500}"
    host, colon, port = endpoint.rpartition(":") if endpoint.count(":") == 1 else (endpoint, "", "")
    if colon and not port.isdigit():
        raise SystemExit(f"torchrun: --rdzv-endpoint={endpoint}: expected HOST:PORT")
    host = host.strip("[]")
    return "127.0.0.1" if host == "localhost" else host, int(port) if port else 29400


def options(args: argparse.Namespace) -> Options:
    """What the agent is told, from the command line."""
    nodes = _nodes(str(args.nnodes))
    host, port = _place(args, nodes)
    static = args.rdzv_backend == "static" or (not args.rdzv_backend and args.node_rank is not None)
    if static and nodes > 1 and args.node_rank is None:
        raise SystemExit("torchrun: --rdzv-backend=static needs --node-rank")
    if args.rdzv_backend not in ("", "static", "c10d"):
        raise SystemExit(f"torchrun: --rdzv-backend={args.rdzv_backend}: there are static and c10d")
    if args.node_rank is not None and not 0 <= args.node_rank < nodes:
        raise SystemExit(f"torchrun: --node-rank={args.node_rank} is none of {nodes} machines")
    conf = dict(part.split("=", 1) for part in args.rdzv_conf.split(",") if "=" in part)
    if args.no_python:
        if args.module:
            raise SystemExit("torchrun: -m names a Python module, --no-python says that the program is none")
        command = [args.training_script]
    else:
        command = [sys.executable, "-u", "-m", "facula", "run", *(["-m"] if args.module else []), args.training_script]
    shown = {int(r) for r in args.local_ranks_filter.split(",")} if args.local_ranks_filter else None
    return Options(
        command=command + args.training_script_args, processes=_processes(str(args.nproc_per_node)), nodes=nodes,
        node_rank=args.node_rank if static and args.node_rank is not None else -1 if nodes > 1 else 0, host=host, port=port,
        run_id=args.rdzv_id or (uuid.uuid4().hex[:8] if nodes == 1 else "none"), restarts=int(args.max_restarts),
        interval=float(args.monitor_interval), timeout=float(conf.get("join_timeout", conf.get("timeout", 900))),
        role=args.role, log_dir=args.log_dir, redirect=_by_rank(args.redirects, "--redirects"), tee=_by_rank(args.tee, "--tee"),
        shown=shown,
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Starts the processes and waits for them."""
    return Agent(options(args)).run()


def main(args: list[str] | None = None) -> int:
    """The command torchrun."""
    status = run(parse_args(args))
    if status:
        sys.exit(status)
    return 0


if __name__ == "__main__":
    main()
