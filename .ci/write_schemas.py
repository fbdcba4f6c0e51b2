"""Write the JSON schemas of configs, cards and records into docs/reference/schemas: `python .ci/write_schemas.py`."""

import json
from pathlib import Path

from segbench.records.schema import schemas

FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "schemas"

for name, schema in schemas().items():
    (FOLDER / f"{name}.json").write_text(json.dumps(schema, indent=1, sort_keys=True) + "\n", encoding="utf-8")
