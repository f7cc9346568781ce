"""Output of several processes on one stream."""

from __future__ import annotations

import os
import time

from unslow.proof.relay import Output, Stream


class Pipes:
    """Two streams that lead to one output, all of them pipes."""

    def __init__(self) -> None:
        self.read, write = os.pipe()
        self.output = Output(write)
        self.inputs: list[int] = []
        self.streams: list[Stream] = []
        for number in range(2):
            source, sink = os.pipe()
            os.set_blocking(source, False)
            self.inputs.append(sink)
            self.streams.append(Stream(f"worker {number}", number, source, self.output))

    def send(self, number: int, data: bytes) -> None:
        os.write(self.inputs[number], data)
        self.streams[number].take()

    def seen(self) -> bytes:
        return os.read(self.read, 1 << 20)


def test_each_line_is_prefixed_and_its_bytes_stay_as_they_are() -> None:
    pipes = Pipes()
    pipes.send(1, b"a\xff\x1b[31m\n\nb\r\n")
    assert pipes.seen() == b"[worker 1] a\xff\x1b[31m\n[worker 1] \n[worker 1] b\r\n"


def test_a_line_that_comes_in_parts_is_written_once() -> None:
    pipes = Pipes()
    pipes.send(0, b"one ")
    pipes.send(1, b"two\n")
    pipes.send(0, b"line\n")
    assert pipes.seen() == b"[worker 1] two\n[worker 0] one line\n"


def test_an_unfinished_line_is_shown_after_a_second_and_shared_with_nobody() -> None:
    pipes = Pipes()
    pipes.send(0, b"...")
    pipes.streams[0].release_old(time.monotonic() + 2)
    pipes.send(1, b"two\n")
    pipes.send(0, b"done\n")
    assert pipes.seen() == b"[worker 0] ...\n[worker 1] two\n[worker 0] done\n"


def test_a_line_goes_on_where_nobody_wrote_meanwhile() -> None:
    pipes = Pipes()
    pipes.send(0, b"...")
    pipes.streams[0].release_old(time.monotonic() + 2)
    pipes.send(0, b"done\nnext\n")
    assert pipes.seen() == b"[worker 0] ...done\n[worker 0] next\n"


def test_the_last_line_gets_an_end() -> None:
    pipes = Pipes()
    pipes.send(0, b"end")
    os.close(pipes.inputs[0])
    assert not pipes.streams[0].take()
    assert pipes.seen() == b"[worker 0] end\n"


def test_a_reader_that_is_gone_does_not_stop_the_job() -> None:
    pipes = Pipes()
    os.close(pipes.read)
    pipes.send(0, b"line\n")
