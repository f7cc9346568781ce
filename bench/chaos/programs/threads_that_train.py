import threading

from training import Training

before = threading.active_count()
results = {}


def work(seed):
    training = Training(seed)
    results[seed] = training.train(50)
    training.keep(f"thread{seed}.bin")


threads = [threading.Thread(target=work, args=(seed,), name=f"trainer {seed}") for seed in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()), threading.active_count() - before)
print([thread.name for thread in threading.enumerate()])
