import argparse


def get_config(argv=None):
    p = argparse.ArgumentParser(description="character level CNN, after Zhang et al.")
    p.add_argument("--alphabet_size", type=int, default=40)
    p.add_argument("--length", type=int, default=96)
    p.add_argument("--num_classes", type=int, default=4)
    p.add_argument("--filters", type=int, default=24)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--iterations", type=int, default=150)
    p.add_argument("--base_lr", type=float, default=2e-3)
    p.add_argument("--first_decay_steps", type=int, default=60)
    p.add_argument("--display_every", type=int, default=25)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args(argv)
