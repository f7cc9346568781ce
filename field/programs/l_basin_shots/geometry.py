import numpy as np
import tensorflow as tf


def layered_velocity(nz, nx, seed=0):
    rng = np.random.RandomState(seed)
    vel = np.full((nz, nx), 1600.0)
    z = np.arange(nz)[:, None]
    x = np.arange(nx)[None, :]
    depth = 0
    for v in (1900.0, 2300.0, 2700.0, 3100.0):
        depth += rng.randint(nz // 8, nz // 5)
        horizon = depth + 6 * np.sin(2 * np.pi * x / nx * rng.uniform(0.5, 2) + rng.uniform(0, 6))
        vel = np.where(z > horizon, v, vel)
    return vel


def ricker(nt, dt, f):
    t = np.arange(nt) * dt - 1.2 / f
    a = (np.pi * f * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


def sponge(shape, width):
    d = np.ones(shape)
    ramp = np.exp(-(0.012 * np.arange(width)[::-1]) ** 2)
    d[:, :width] *= ramp
    d[:, -width:] *= ramp[::-1]
    d[-width:, :] *= ramp[::-1][:, None]
    return d


class Recorder:
    """Collects the wavefield of a shot at the receiver stations."""

    def __init__(self, stations):
        self.stations = np.asarray(stations)
        self.samples = []

    def push(self, u):
        self.samples.append(u)

    def seismogram(self):
        return np.stack([tf.gather_nd(u, self.stations).numpy() for u in self.samples])
