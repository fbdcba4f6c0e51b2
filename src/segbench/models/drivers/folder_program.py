"""Run a program that works on folders as if it worked on one image: standard library only.

    folder_program.py --image ct.nii.gz --output labels.nii.gz --input-name case_0000.nii.gz
        --output-name case.nii.gz -- nnUNetv2_predict_from_modelfolder -i {input} -o {output} -m MODEL

The image is put into a fresh input folder under the given name; `{input}` and `{output}` stand for the two folders.
What the program leaves at the output name (a pattern may be used) is moved to its place, unless it is a link.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Read the arguments, prepare the folders, run, collect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--input-name", required=True)
    parser.add_argument("--output-name", required=True)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    program = given.program[1:] if given.program[:1] == ["--"] else given.program
    folders = {"{input}": given.output.parent / "input", "{output}": given.output.parent / "output"}
    for folder in folders.values():
        folder.mkdir(parents=True)
    target = folders["{input}"] / given.input_name
    target.parent.mkdir(parents=True, exist_ok=True)
    # A copy: containers cannot follow a link out of what is mounted.
    shutil.copyfile(given.image, target)
    code = subprocess.run([_filled(word, folders) for word in program], check=False).returncode  # noqa: S603
    if code:
        return code if code > 0 else 1
    return _collect(folders["{output}"], given.output_name, given.output)


def _filled(word: str, folders: dict[str, Path]) -> str:
    for mark, folder in folders.items():
        word = word.replace(mark, str(folder))
    return word


def _collect(folder: Path, name: str, output: Path) -> int:
    """Move the one file of that name to its place; say what is there instead if it is not."""
    found = sorted(folder.glob(name))
    if len(found) != 1:
        there = ", ".join(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())[:10])
        sys.stderr.write(
            f"expected one output {name}, found {len(found)}; the output folder holds: {there or 'nothing'}\n"
        )
        return 3
    # The program may come from anyone and see nothing but its input: a link would show it what we see.
    if found[0].is_symlink() or not found[0].resolve().is_relative_to(folder.resolve()):
        sys.stderr.write(f"expected a file {name}, found a link: {found[0].relative_to(folder)}\n")
        return 3
    shutil.move(found[0], output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
