import math


class KLSchedule:
    """Cosine warm-up of the KL weight."""

    def __init__(self, cfg):
        self.cfg = cfg

    def __call__(self, epoch):
        c = self.cfg
        if epoch >= c.warmup:
            return c.stop
        ramp = 0.5 - 0.5 * math.cos(math.pi * epoch / c.warmup)
        return c.start + (c.stop - c.start) * ramp
