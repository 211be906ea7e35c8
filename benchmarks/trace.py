"""What transformers' own classes keep for their backward pass, beside what the plan says.

    python -m benchmarks.trace [ARCHITECTURE ...]

The trace itself is a script of the package, which `ftc plan --trace` runs as well.
"""

from ftc.compiler.rehearse.scripts.trace_backbone import main

if __name__ == "__main__":
    main()
