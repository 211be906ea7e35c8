"""Run stages of bundles in one process: python -m tests.end_to_end.run_stages BUNDLE/STAGE...

The argument of a stage stands behind a colon: `bundle/ask.py:where is it?`.
"""

import sys
from pathlib import Path

from tests.end_to_end.stages import run_stage

for asked in sys.argv[1:]:
    stage, _, argument = asked.partition(":")
    path = Path(stage)
    run_stage(path.parent, path.name, *([argument] if argument else []))
