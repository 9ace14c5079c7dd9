"""A job that takes some turns of the event loop."""
import asyncio


class Job:
    def __init__(self, turns):
        self.turns = turns
        self.done = False

    async def run(self):
        for _ in range(self.turns):
            await asyncio.sleep(0)
        self.done = True
