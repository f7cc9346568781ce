"""The stack of another thread, read while that thread runs on."""

from __future__ import annotations

import gc
import sys
import threading

from unslow.record.engine.thread_stacks import lines_of, threads


def test_a_stack_is_read_from_its_innermost_line_outwards() -> None:
    ready, go = threading.Event(), threading.Event()

    def inner() -> None:
        ready.set()
        go.wait(10)

    def outer() -> None:
        inner()

    thread = threading.Thread(target=outer)
    thread.start()
    ready.wait(10)
    names = [code.co_name for code, _ in lines_of(thread.ident or 0)]
    go.set()
    thread.join()
    assert [name for name in names if name in ("inner", "outer")] == ["inner", "outer"]


def test_a_thread_that_is_gone_has_no_lines() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert lines_of(thread.ident or 0) == []


def test_a_thread_that_returns_and_calls_all_the_time_can_be_read() -> None:
    stop = threading.Event()

    def deep(depth: int) -> int:
        return sum(one for one in range(2)) if depth == 0 else deep(depth - 1) + 1

    def work() -> None:
        while not stop.is_set():
            deep(30)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        stacks = [lines_of(thread.ident or 0) for _ in range(3000)]
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(usual)
    assert all(stack[-1][0].co_name == "_bootstrap" for stack in stacks if stack)


def test_the_collector_is_left_as_it_was() -> None:
    gc.disable()
    try:
        threads()
        assert not gc.isenabled()
    finally:
        gc.enable()
    threads()
    assert gc.isenabled()


def test_a_program_that_switches_the_collector_sees_nothing_of_ours() -> None:
    """Before all of it was one call of C, a `gc.disable()` was undone a few times in a second."""
    main, over, usual = threading.get_ident(), threading.Event(), sys.getswitchinterval()
    wrong = 0

    def sample() -> None:
        while not over.is_set():
            lines_of(main)
            threads()

    sampler = threading.Thread(target=sample)
    sys.setswitchinterval(1e-6)
    sampler.start()
    try:
        for number in range(6000):
            (gc.enable if number % 2 else gc.disable)()
            sum(range(50))
            wrong += gc.isenabled() != bool(number % 2)
    finally:
        gc.enable()
        over.set()
        sampler.join()
        sys.setswitchinterval(usual)
    assert not wrong
