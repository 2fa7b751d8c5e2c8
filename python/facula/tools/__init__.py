# SPDX-License-Identifier: Apache-2.0
"""What is not torch's: programs about programs, behind the subcommands of `facula`."""
