import asyncio

from training import Training


async def work(seed):
    training = Training(seed)
    for _ in range(20):
        loss = training.step()
        await asyncio.sleep(0)
    training.keep(f"task{seed}.bin")
    return float(loss)


async def main():
    print(await asyncio.gather(*(work(seed) for seed in range(3))))
    print(await asyncio.to_thread(Training(9).train, 10))


asyncio.run(main(), debug=False)
