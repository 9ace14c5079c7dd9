"""Tells you whether a failing test is flaky, and why. The program is a binary: run `flakewise`."""
