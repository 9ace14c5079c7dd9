"""The yard: a gate, a ramp, lorries and a scale."""
# How far a lorry has come: at the gate, in the yard, loaded.
PLACE = {"gate": "shut", "lorry": "outside", "cargo": None}
SCALE = {}


def open_gate():
    PLACE["gate"] = "open"


def enter():
    if PLACE["gate"] == "open":
        PLACE["lorry"] = "inside"


def load(cargo):
    if PLACE["lorry"] == "inside":
        PLACE["cargo"] = cargo


def dispatched():
    return PLACE["cargo"]


def calibrate(weight):
    SCALE["unit"] = 1
    return weight * SCALE["unit"]


def weigh(weight):
    return weight * SCALE["unit"]
