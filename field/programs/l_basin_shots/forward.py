"""2-D acoustic forward modelling: one gather per shot (finite differences, order 2)."""
import argparse
import time

import numpy as np
import tensorflow as tf

from geometry import Recorder, layered_velocity, ricker, sponge


class Propagator:
    def __init__(self, vel, dx, dt):
        self.c2 = tf.constant((vel * dt / dx) ** 2, tf.float32)
        self.damp = tf.constant(sponge(vel.shape, 30), tf.float32)
        self.shape = vel.shape

    @tf.function
    def step(self, u, u_prev, src, amp):
        p = tf.pad(u, [[1, 1], [1, 1]])
        lap = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u
        nxt = (2.0 * u - u_prev + self.c2 * lap) * self.damp
        nxt = tf.tensor_scatter_nd_add(nxt, src[None], amp[None])
        return nxt, u * self.damp

    def run_shot(self, src, wavelet, recorder):
        u = tf.zeros(self.shape)
        u_prev = tf.zeros(self.shape)
        src = tf.constant(src)
        for amp in tf.unstack(tf.constant(wavelet, tf.float32)):
            u, u_prev = self.step(u, u_prev, src, amp)
            recorder.push(u)
        return recorder


def first_breaks(gather, level=0.05):
    a = np.abs(gather)
    hit = a > level * a.max()
    return np.where(hit.any(0), hit.argmax(0), -1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nz", type=int, default=320)
    ap.add_argument("--nx", type=int, default=400)
    ap.add_argument("--nt", type=int, default=1000)
    ap.add_argument("--shots", type=int, default=5)
    ap.add_argument("--dt", type=float, default=0.001)
    ap.add_argument("--dx", type=float, default=6.0)
    args = ap.parse_args()

    vel = layered_velocity(args.nz, args.nx, seed=2)
    prop = Propagator(vel, args.dx, args.dt)
    wavelet = ricker(args.nt, args.dt, 18.0)
    stations = [(4, x) for x in range(20, args.nx - 20, 6)]
    t0 = time.time()
    survey = []
    for s, x in enumerate(np.linspace(60, args.nx - 60, args.shots).astype(int)):
        rec = prop.run_shot((5, int(x)), wavelet, Recorder(stations))
        survey.append(rec)
        print(f"shot {s} at x={x * args.dx:.0f} m  ({time.time() - t0:.1f}s)")

    for s, rec in enumerate(survey):
        g = rec.seismogram()
        fb = first_breaks(g) * args.dt
        print(f"gather {s}: {g.shape}  rms {np.sqrt((g ** 2).mean()):.3e}  first breaks {fb.min():.3f}..{fb.max():.3f} s")


if __name__ == "__main__":
    main()
