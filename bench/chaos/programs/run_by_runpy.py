import runpy
import sys

if __name__ == "__main__":
    found = runpy.run_path(__file__, {"given": 3}, run_name="inner")
    print(found["loss"], found["__name__"], found["given"])
    sys.argv = ["training", "x"]
    again = runpy.run_module("training", run_name="elsewhere", alter_sys=True)
    print(again["train"](), again["__name__"], sys.argv)
else:
    from training import train

    loss = train(25, "inner.bin")
    print(__name__, given)  # noqa: F821 - handed over by run_path
