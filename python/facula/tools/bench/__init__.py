# SPDX-License-Identifier: Apache-2.0
"""Benchmarks with PyTorch's command lines (docs/bench.md): `facula bench`, benchmarks/dynamo/*.py.

A run has a parent, which imports no model, writes every row and outlives whatever a model does, and workers: one process
for each side of a comparison, told turn by turn what to do. Workers load this package by its path, so that the same text
serves Facula and, under an oracle's Python, PyTorch; what it imports at its top has to exist in both.

    _options     the command line               _load       a model by its name, and where it came from
    _plan        which models, in which order   _step       what a step of it is
    _parent      one model after the other      _backends   what a candidate is
    _side        a worker, as the parent has it _worker     the same, in its own process
    _measure     rounds and when to stop        _accuracy   results compared, the first operator that diverges
    _statistics  what times say                 _counts     what does not depend on the machine
    _rows        the CSV, the JSON, the summary _diff _page _table _list _gate _peer _check    further subcommands
"""
