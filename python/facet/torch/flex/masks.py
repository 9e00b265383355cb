"""Masks by block: FlexAttention's BlockMask, which Facet does not need and takes."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional, Tuple, Union

import torch
from torch.nn.attention import flex_attention as pytorch

from ...errors import ArgumentError

_BLOCK = 128


class BlockMask:
    """A mask_mod, and the sizes that it was asked for. Nothing is computed: Facet's kernels find by themselves which tiles a mask
    leaves, for any lengths. What else PyTorch's BlockMask has (kv_num_blocks, sparsity(), to_dense(), ...) is PyTorch's own mask,
    made when it is first asked for."""

    def __init__(self, mask_mod: Callable, B: Optional[int], H: Optional[int], q_len: int, kv_len: int, device: Any, block_size: Tuple[int, int],
                 tensors_on: Any = None):
        """`tensors_on`: the device of what mask_mod captures, where it is another one."""
        self.mask_mod = mask_mod
        self.shape = (B or 1, H or 1, q_len, kv_len)
        self.seq_lengths = (q_len, kv_len)
        self.BLOCK_SIZE = block_size
        self.device = torch.device(device)
        self._tensors_on = self.device if tensors_on is None else tensors_on
        self._pytorch: Optional[pytorch.BlockMask] = None

    def to_pytorch(self) -> pytorch.BlockMask:
        """The same as PyTorch makes it, of all pairs of a query and a key."""
        if self._pytorch is None:
            made = pytorch.create_block_mask(self.mask_mod, *self.shape, device=self._tensors_on, BLOCK_SIZE=self.BLOCK_SIZE)
            self._pytorch = made.to(self.device)
        return self._pytorch

    def to(self, device: Any) -> "BlockMask":
        """The same on another device. What mask_mod captures stays where it is, as it does in PyTorch."""
        return BlockMask(self.mask_mod, *self.shape, device, self.BLOCK_SIZE, self._tensors_on)

    def numel(self) -> int:
        return torch.Size(self.shape).numel()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(pytorch.BlockMask, name) and name not in pytorch.BlockMask.__annotations__:
            raise AttributeError(f"BlockMask has no attribute '{name}'")
        return getattr(self.to_pytorch(), name)

    def __getitem__(self, index: Any) -> pytorch.BlockMask:
        return self.to_pytorch()[index]

    def __repr__(self) -> str:
        return f"<facet.torch.BlockMask of {getattr(self.mask_mod, '__name__', self.mask_mod)}, {list(self.shape)}>"


def create_block_mask(mask_mod: Callable, B: Optional[int], H: Optional[int], Q_LEN: int, KV_LEN: int, device: Any = None,
                      BLOCK_SIZE: Union[int, Tuple[int, int]] = _BLOCK, _compile: bool = False, separate_full_blocks: bool = True,
                      **_: Any) -> BlockMask:
    """A mask for `flex_attention`, as PyTorch's function of this name takes its arguments.

    It costs nothing, and may be used for calls of any batch, heads and lengths. B, H, Q_LEN, KV_LEN, device and BLOCK_SIZE matter
    to what PyTorch's BlockMask would say of it alone; the others are ignored.
    """
    if device is None:
        device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    block_size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else (*BLOCK_SIZE,)
    if pytorch._get_mod_type(mask_mod) != pytorch._ModificationType.MASK_MOD:
        raise ArgumentError(f"create_block_mask takes a mask_mod(b, h, q_idx, kv_idx), not {mask_mod}")
    return BlockMask(mask_mod, B, H, Q_LEN, KV_LEN, device, block_size)


def mask_mod_of(block_mask: Any, device: torch.device, q_len: int, kv_len: int) -> Optional[Callable]:
    """What a BlockMask of either kind keeps in a call of these lengths, as a mask_mod; none: everything."""
    if block_mask is None:
        return None
    if isinstance(block_mask, BlockMask):
        return block_mask.mask_mod
    if isinstance(block_mask, pytorch.BlockMask):
        if block_mask.mask_mod is pytorch._sliced_mask_mod_error:
            raise RuntimeError("Cannot use mask_mod from a sliced BlockMask: set mask_mod on the slice")
        if block_mask.kv_num_blocks.device != device:
            raise ArgumentError(f"block_mask is on {block_mask.kv_num_blocks.device} and query on {device}: move it there")
        if _keeps_all(block_mask):
            return None
        if tuple(block_mask.shape[-2:]) != (q_len, kv_len):
            raise ArgumentError(f"block_mask was created for block_mask.shape={tuple(block_mask.shape)} but got q_len={q_len} and kv_len={kv_len}: "
                                "create it for these lengths, or by facet.torch.create_block_mask, whose masks are for any")
        return _of_layout(block_mask)
    if callable(block_mask):
        raise ArgumentError("block_mask is a function: pass create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN)")
    raise ArgumentError(f"block_mask is a {type(block_mask).__name__}: pass what create_block_mask returns")


_layouts: "weakref.WeakKeyDictionary[Any, Tuple[torch.Tensor, bool]]" = weakref.WeakKeyDictionary()


def _keeps_all(block_mask: pytorch.BlockMask) -> bool:
    """Whether it is what PyTorch takes for no mask, at any lengths."""
    return block_mask.BLOCK_SIZE[0] >= pytorch._LARGE_SPARSE_BLOCK_SIZE and block_mask.mask_mod is pytorch.noop_mask


def _of_layout(block_mask: pytorch.BlockMask) -> Callable:
    """PyTorch's mask as its blocks say: none, some by mask_mod, or all of a block."""
    found = _layouts.get(block_mask)
    if found is None:
        found = _layouts[block_mask] = _layout(block_mask)
    layout, has_full = found
    q_size, kv_size = block_mask.BLOCK_SIZE
    mask_mod = getattr(block_mask.mask_mod, "fn", block_mask.mask_mod)
    by_batch, by_head = layout.shape[0] > 1, layout.shape[1] > 1

    def kept(b, h, q_idx, kv_idx):
        kind = layout[b if by_batch else 0, h if by_head else 0, q_idx // q_size, kv_idx // kv_size]
        if mask_mod is pytorch.noop_mask:
            return kind != 0
        inside = mask_mod(b, h, q_idx, kv_idx)
        return (kind == 2) | ((kind == 1) & inside) if has_full else (kind != 0) & inside

    return kept


def _layout(block_mask: pytorch.BlockMask) -> Tuple[torch.Tensor, bool]:
    """[B, H, q blocks, kv blocks]: 0 nothing, 1 by mask_mod, 2 all; and whether any block is kept as a whole."""

    blocks = -(-block_mask.shape[-1] // block_mask.BLOCK_SIZE[1])  # of kv; a row of indices may have fewer places

    def dense(counts: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        is_listed = torch.arange(indices.shape[-1], device=indices.device) < counts[..., None]
        is_wrong = is_listed & ((indices < 0) | (indices >= blocks))
        if is_wrong.any():
            raise ArgumentError(f"block_mask lists block {int(indices[is_wrong][0])} of the keys, and there are {blocks}")
        marked = torch.zeros((*indices.shape[:-1], blocks + 1), dtype=torch.uint8, device=indices.device)
        marked.scatter_(-1, torch.where(is_listed, indices, blocks).long(), 1)
        return marked[..., :blocks]

    layout = dense(block_mask.kv_num_blocks, block_mask.kv_indices)
    full_counts, full_indices = block_mask.full_kv_num_blocks, block_mask.full_kv_indices
    if full_counts is not None and full_indices is not None:  # PyTorch sees to it that a mask has both or neither
        layout = torch.maximum(layout, 2 * dense(full_counts, full_indices))
    while layout.dim() < 4:
        layout = layout[None]
    return layout.contiguous(), full_counts is not None
