import sys
from pathlib import Path

# The benchmarks are no part of the installed distribution: they are imported from the project's root.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
