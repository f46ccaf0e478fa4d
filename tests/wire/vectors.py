"""The published vectors, where `core` keeps them."""

import json

from server import ROOT

GCRA = json.loads((ROOT / "crates/core/tests/vectors/gcra.json").read_text())
