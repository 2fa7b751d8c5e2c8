# SPDX-License-Identifier: Apache-2.0
"""Recorded schedules of distributed runs: who waited for whom, which bytes went over which link, and how long the same run
would take on a machine of thousands of ranks (docs/network.md). `facula network` is the command."""

from facula.tools.network._algorithms import ALGORITHMS, Step, steps
from facula.tools.network._machine import Machine
from facula.tools.network._replay import Prediction, replay

__all__ = ["ALGORITHMS", "Machine", "Prediction", "Step", "replay", "steps"]
