"""Compares what transformers' classes keep for the backward pass with the plan.

    python -m benchmarks.trace [ARCHITECTURE ...]

The trace itself is a script of the package, which `ftc plan --trace` runs too.
"""

from ftc.compiler.rehearse.scripts.trace_backbone import main

if __name__ == "__main__":
    main()
