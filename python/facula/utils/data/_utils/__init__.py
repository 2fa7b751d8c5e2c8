# SPDX-License-Identifier: Apache-2.0
"""What the DataLoader is made of: batches from samples (collate) and worker processes (worker)."""
