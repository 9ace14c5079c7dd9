"""Coroutines by pytest-asyncio."""

import asyncio

import pytest

pytest.importorskip("pytest_asyncio")


@pytest.mark.asyncio
async def test_asyncio_passes():
    await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_asyncio_fails_once(first_time):
    await asyncio.sleep(0)
    assert not first_time
