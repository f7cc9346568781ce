import numpy as np


def average(updates):
    """FedAvg: each clinic counts by its number of patients."""
    total = sum(size for _, size, _ in updates)
    return [
        sum(w[k] * (size / total) for w, size, _ in updates)
        for k in range(len(updates[0][0]))
    ]


def forward(weights, x):
    *hidden, kernel, bias = weights
    for k in range(0, len(hidden), 4):
        w, b, gamma, beta = hidden[k : k + 4]
        x = np.maximum(x @ w + b, 0.0)
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3) * gamma + beta
    return (x @ kernel + bias)[:, 0]


def report(weights, x, y):
    order = np.argsort(forward(weights, x))
    ranks = np.empty(len(x))
    ranks[order] = np.arange(1, len(x) + 1)
    pos = y > 0.5
    n1, n0 = pos.sum(), (~pos).sum()
    return (ranks[pos].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)
