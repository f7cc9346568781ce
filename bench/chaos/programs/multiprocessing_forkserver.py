import multiprocessing


def work(seed):
    from training import train

    loss = train(10, f"worker{seed}.bin", seed)
    print("worker", seed, flush=True)
    return loss


if __name__ == "__main__":
    multiprocessing.set_start_method("forkserver")
    with multiprocessing.Pool(1) as pool:
        print(pool.map(work, [3, 4]))
    process = multiprocessing.Process(target=work, args=(5,))
    process.start()
    process.join()
    print(process.exitcode)
