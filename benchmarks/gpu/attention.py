"""Times PyTorch's attention kernels on a GPU, at the shapes of the speed cases.

    python -m benchmarks.gpu.attention

For each kernel and shape it prints three times of a forward and backward pass, in milliseconds: the
first call, the fastest of three further calls, and the first call with rows that are 8 tokens
shorter. Exits 3 without a GPU.
"""

import argparse
import sys
import time
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

# Rows, heads, tokens, features per head, and whether there is a mask, as packed rows have.
SHAPES = (
    (4, 14, 1024, 64, True),
    (1, 14, 4096, 64, True),
    (4, 24, 1024, 128, True),
    (2, 32, 4096, 128, True),
    (1, 32, 8192, 128, True),
    (2, 32, 4096, 128, False),
)
KERNELS = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.MATH,
)


def run_once(shape: tuple[int, int, int, int, bool], kernel: SDPBackend) -> float:
    """Return the milliseconds of one forward and backward pass."""
    rows, heads, tokens, width, masked = shape
    options: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16, "requires_grad": True}
    query, key, value = (torch.randn(rows, heads, tokens, width, **options) for _ in range(3))
    mask = None
    if masked:
        place = torch.arange(tokens, device="cuda")
        same = (place // 300)[:, None] == (place // 300)[None, :]
        mask = ((place[:, None] >= place[None, :]) & same)[None, None].expand(rows, 1, -1, -1)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    with sdpa_kernel(kernel):
        found = scaled_dot_product_attention(query, key, value, mask, is_causal=not masked)
    found.sum().backward()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begin)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.attention",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    if not torch.cuda.is_available():
        print("no GPU: PyTorch finds none on this machine", file=sys.stderr)
        sys.exit(3)
    for shape in SHAPES:
        rows, heads, tokens, width, masked = shape
        for kernel in KERNELS:
            try:
                first = run_once(shape, kernel)
                again = min(run_once(shape, kernel) for _ in range(3))
                other = run_once((rows, heads, tokens - 8, width, masked), kernel)
                text = f"{first:9.1f} {again:9.2f} {other:9.1f}"
            except RuntimeError as error:
                text = str(error).splitlines()[0][:80]
            print(f"{shape!s:32} {kernel.name:22} {text}", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
