# SPDX-License-Identifier: Apache-2.0
"""Where programs import anomaly detection from."""

from facula.autograd.forward_modes import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
