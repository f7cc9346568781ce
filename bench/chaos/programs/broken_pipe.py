# run: sh -c '{python} broken_pipe.py --many | head -n 2; echo "${PIPESTATUS}"'
# stderr: ignored
from training import train

for number in range(20000):
    print("line", number)
    if number == 10:
        train(20)
