# needs: joblib
# unordered: stderr
from joblib import Parallel, delayed


def work(seed):
    from training import train

    return train(10, f"worker{seed}.bin", seed)


if __name__ == "__main__":
    print(Parallel(n_jobs=1)(delayed(work)(seed) for seed in (1,)))
    print(Parallel(n_jobs=2, backend="loky")(delayed(work)(seed) for seed in (2, 3)))
    print(Parallel(n_jobs=2, backend="threading")(delayed(work)(seed) for seed in (4, 5)))
