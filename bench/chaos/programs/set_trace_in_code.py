# input: p loss\nc\n
from training import train

loss = train(10)
breakpoint()
print("went on")
