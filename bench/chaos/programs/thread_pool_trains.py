from concurrent.futures import ThreadPoolExecutor

from training import Training

trainings = [Training(seed) for seed in range(4)]
with ThreadPoolExecutor(4) as pool:
    for seed, loss in enumerate(pool.map(lambda one: one.train(60), trainings)):
        trainings[seed].keep(f"thread{seed}.bin")
        print(seed, loss)
