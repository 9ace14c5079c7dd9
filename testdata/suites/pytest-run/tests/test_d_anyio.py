"""Coroutines by anyio's own plug-in."""

import pytest

anyio = pytest.importorskip("anyio")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_anyio_passes():
    await anyio.sleep(0)


@pytest.mark.anyio
async def test_anyio_fails_once(first_time):
    await anyio.sleep(0)
    assert not first_time
