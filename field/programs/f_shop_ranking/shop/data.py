import numpy as np


class Visits:
    def __init__(self, shoppers=110, products=400, seed=2):
        rng = np.random.default_rng(seed)
        self.shoppers, self.products = shoppers, products
        self.taste = rng.normal(0, 1, (shoppers, 6))
        self.trait = rng.normal(0, 1, (products, 6))
        self.rng = rng

    def draw(self, n):
        s = self.rng.integers(0, self.shoppers, n)
        p = self.rng.integers(0, self.products, n)
        score = (self.taste[s] * self.trait[p]).sum(1)
        bought = self.rng.random(n) < 1 / (1 + np.exp(-score))
        return s.astype(np.int32), p.astype(np.int32), bought.astype(np.float32)
