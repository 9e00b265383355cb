"""A variant as FlexAttention takes it, beside the spec that Facet compiles."""
from dataclasses import dataclass
from typing import Callable, Optional

BATCH, HEADS, DIM = 2, 16, 128


@dataclass(frozen=True)
class Variant:
    spec: str  # a file of specs/ without its ending, or a path
    score_mod: Optional[Callable] = None
    mask_mod: Optional[Callable] = None
    extra: tuple = ()  # further arguments of the facet command
    scale: Optional[float] = None
    by_batch: bool = False  # whether the mask differs between batch entries
    by_head: bool = False
    learned: tuple = ()  # the tensors that score_mod captures and a training step learns

    def mask_size(self, n):
        """The arguments of create_block_mask. A mask that is the same for all heads or batch entries is made once."""
        return BATCH if self.by_batch else None, HEADS if self.by_head else None, n, n
