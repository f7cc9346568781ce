from pathlib import Path

from training import Training

name = "gr\u00fcn \U0001f40d;$(x)'\"\n.py"
text = "def loop(training):\n    for _ in range(40):\n        loss = training.step()\n    return float(loss)\n"
names = {}
exec(compile(text, name, "exec"), names)
training = Training()
print(names["loop"](training))
training.keep()
bad = b"\xff\xfe.py".decode("utf-8", "surrogateescape")
exec(compile(text, bad, "exec"), names)
print(names["loop"](training))
Path("written \u00e4").write_text("x")
