# SPDX-License-Identifier: Apache-2.0
"""torch.utils: what lies beside the framework proper."""
