"""The catalogue, a file in the folder `data`."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# As it is called when the depot is started in its own folder.
FILE = pathlib.Path("data", "catalog.txt")


def read(file=FILE):
    lines = pathlib.Path(file).read_text().splitlines()
    return {name: int(count) for name, count in map(str.split, lines)}
