from concurrent.futures import ProcessPoolExecutor


def work(seed):
    from training import train

    if seed == 2:
        raise ValueError(f"seed {seed}")
    return train(10, f"worker{seed}.bin", seed)


if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool:
        for future in [pool.submit(work, seed) for seed in (1, 2, 3)]:
            error = future.exception()
            print(repr(error) if error else future.result())
            if error:
                print(type(error.__cause__).__name__)
