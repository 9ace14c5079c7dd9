import asyncio

from shop.worker import Job
from zoohelp import nth


def test_job_is_done_in_time():
    # transient: the job takes 50 turns of the event loop the first time and 1
    # after, and the test waits for 10. No clock is involved.
    async def wait():
        job = Job(turns=50 if nth("async-wait") == 1 else 1)
        task = asyncio.ensure_future(job.run())
        for _ in range(10):
            await asyncio.sleep(0)
        done = job.done
        await task
        return done

    assert asyncio.run(wait()), "the job was not done after ten turns of the loop"


def test_job_is_done_when_awaited():
    # passes: waits for the job itself.
    job = Job(turns=50)
    asyncio.run(job.run())
    assert job.done
