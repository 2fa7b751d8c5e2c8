# SPDX-License-Identifier: Apache-2.0
"""A fuzzer of operators: calls drawn from the registry with one or two hostile arguments, in child processes.

values.py says what an argument is (always a piece of Python text), targets.py what can be called and with which valid
arguments, draw.py makes a call from a seed and a trial number, judge.py runs one and says what is wrong, compare.py
holds two ways of computing against each other, workers.py runs many in child processes, shrink.py makes a finding
short. `make fuzz-operators` runs it; docs/reliability.md says what it promises.
"""
