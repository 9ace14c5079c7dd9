"""Manifests, which lie beside the tests."""
import os
import pathlib


class TestManifest:
    def test_manifest_beside_the_test(self):
        # A polluter, far from its victim.
        os.chdir(pathlib.Path(__file__).parent)
        assert os.path.exists("test_manifest.py")

    def test_manifest_by_its_path(self):
        assert pathlib.Path(__file__).name == "test_manifest.py"
