# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.rendezvous: as a module; the package has the function of this name."""

from facula.distributed._rendezvous import register_rendezvous_handler, rendezvous

__all__ = ["register_rendezvous_handler", "rendezvous"]
