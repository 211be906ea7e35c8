"""What the help of FTC120 says of MXFP4 works with the pinned transformers."""

import json
import sys
from pathlib import Path

import pytest

from tests.end_to_end.process import ROOT, run


def test_a_16_bit_copy_of_a_model_in_mxfp4_is_the_same_model(tmp_path: Path) -> None:
    """The copy says nothing of a quantization, and its logits are those of the original."""
    pytest.importorskip("transformers")
    script = Path(__file__).with_name("dequantize_model.py")
    ended = run(sys.executable, script, tmp_path, cwd=ROOT)
    assert ended.code == 0, ended.said
    assert json.loads(ended.out.splitlines()[-1]) == {"quantized": False, "away": 0.0}
